// The subcommands this room brings to iotape.
#pragma once

#include <span>

#include "format/base/command.h"

namespace iotape {

[[nodiscard]] std::span<const Command> recorder_commands();

}  // namespace iotape
