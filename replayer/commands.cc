#include "replayer/commands.h"

#include <array>

namespace iotape {
namespace {

constexpr std::array<Command, 0> kCommands{};

}  // namespace

std::span<const Command> replayer_commands() { return kCommands; }

}  // namespace iotape
