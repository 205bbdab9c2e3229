#include "format/commands.h"

#include <array>

#include "format/command/trace_commands.h"

namespace iotape {
namespace {

constexpr std::array<Command, 6> kCommands{
    {{"info", "say what a trace holds, whether it is whole, what was lost", run_info},
     {"dump", "print the events of a trace as text, JSON or CSV", run_dump},
     {"convert", "convert from blktrace, from and to JSON, to CSV and text", run_convert},
     {"cut", "write a part of a trace to a trace of its own", run_cut},
     {"merge", "join several traces in the order of time", run_merge},
     {"recover", "save what can be read of a damaged trace", run_recover}}};

}  // namespace

std::span<const Command> format_commands() { return kCommands; }

}  // namespace iotape
