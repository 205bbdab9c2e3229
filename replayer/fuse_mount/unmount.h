// Taking a mounted directory off the tree.
#pragma once

#include <string>

#include "format/base/result.h"

namespace iotape::fuse_mount {

// Unmounts; without root's rights through fusermount3. False: it is in use, or not ours to unmount.
bool detach(const std::string& directory);

// `iotape mount -u`: unmounts and waits until the image is clean and free. kNotFound: no mount of ours is there.
// kCorrupt: it is unmounted, and something that was written is lost; kIo likewise when its program was killed.
Result<void> unmount_and_wait(const std::string& directory);

}  // namespace iotape::fuse_mount
