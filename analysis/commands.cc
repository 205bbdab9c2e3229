#include "analysis/commands.h"

#include <array>

#include "analysis/command/analysis_commands.h"

namespace iotape {
namespace {

constexpr std::array<Command, 3> kCommands{{
    {"seeks", "seek distances of traces: tables and histogram", &run_seeks},
    {"compare", "what differs between runs, and whether it may be chance", &run_compare},
    {"plot", "draw head movement, histograms or latencies", &run_plot},
}};

}  // namespace

std::span<const Command> analysis_commands() { return kCommands; }

}  // namespace iotape
