#include "replayer/fuse_mount/commands.h"

#include <array>

#include "replayer/fuse_mount/mount_command.h"

namespace iotape {
namespace {

constexpr std::array<Command, 1> kCommands{
    {{"mount", "mount an ext2 or ext3 image with the built-in ext3", &fuse_mount::run_mount}}};

}  // namespace

std::span<const Command> fuse_mount_commands() { return kCommands; }

}  // namespace iotape
