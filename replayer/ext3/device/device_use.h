// Who else has an image or a block device in use. Two writers of one filesystem destroy it, and the kernel takes none
// of our locks.
#pragma once

#include <string>

namespace iotape::ext3 {

// A file: the loop device that shows it, such as "/dev/loop0". A block device: "a mounted filesystem or a volume" when
// the kernel holds it. Empty: nobody that can be known of.
std::string other_user_of(const std::string& path);

// A block device that takes no writes, whoever asks.
bool is_read_only_device(const std::string& path);

}  // namespace iotape::ext3
