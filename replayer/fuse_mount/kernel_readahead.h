// KernelReadahead: how far ahead of a sequential reader the kernel asks us. Its 128 KiB are
// eight round trips where one would do; a mount's own value can be set (by root) only after libfuse and the kernel have
// agreed on theirs.
#pragma once

#include <mutex>
#include <string>

namespace iotape::fuse_mount {

class KernelReadahead {
 public:
  // directory: just mounted; nothing is asked of the mount yet, since nobody answers.
  void mounted_on(const std::string& directory);
  // When a file is opened: the first time it is set. Without the right to, it stays as it is.
  void widen();

 private:
  std::string setting_;  // the file in /sys
  std::once_flag once_;
};

}  // namespace iotape::fuse_mount
