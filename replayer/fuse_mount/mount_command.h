// iotape mount: the command line of the built-in ext3's mounts.
#pragma once

#include "format/base/command.h"

namespace iotape::fuse_mount {

int run_mount(CommandCall& call);

}  // namespace iotape::fuse_mount
