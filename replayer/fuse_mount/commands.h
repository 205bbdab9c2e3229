// The subcommand this part brings to iotape. It stands apart from the replayer's, whose users need no libfuse.
#pragma once

#include <span>

#include "format/base/command.h"

namespace iotape {

[[nodiscard]] std::span<const Command> fuse_mount_commands();

}  // namespace iotape
