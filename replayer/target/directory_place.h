// A directory of a mounted filesystem.
#pragma once

#include <memory>

#include "replayer/target/make_target.h"
#include "replayer/target/target_place.h"

namespace iotape {

// Makes the directory when only its last component is missing. Refuses one that is not empty unless the tree is said to
// exist (lost+found does not count).
Result<std::unique_ptr<TargetPlace>> make_directory_place(const TargetSpec& spec, const TargetOptions& options);

// The block device below a filesystem, in the kernel's numbering, when there is one: also for filesystems such as btrfs
// whose st_dev is made up.
std::optional<DeviceId> block_device_of(int descriptor);
// "ext4", "btrfs", ... of what a descriptor lies on.
std::string filesystem_name(int descriptor);
// As root all caches of the machine are dropped, else the file's own pages where possible; returns what to tell.
Result<std::string> drop_caches(int descriptor);

}  // namespace iotape
