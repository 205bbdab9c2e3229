#include "replayer/commands.h"

#include <array>

#include "replayer/command/filesystem_commands.h"

namespace iotape {
namespace {

constexpr std::array<Command, 2> kCommands{{
    {"mkfs", "make an ext3 filesystem in an image", &run_mkfs},
    {"check", "check an ext3 image", &run_check},
}};

}  // namespace

std::span<const Command> replayer_commands() { return kCommands; }

}  // namespace iotape
