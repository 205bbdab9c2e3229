// An image that the built program mounts, as a child process that can be told to end, or killed; and its judges.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/support/test_support.h"

namespace iotape::fuse_mount::test {

class MountedImage {
 public:
  // A fresh ext3 by mke2fs: size and words as it takes them.
  explicit MountedImage(const std::string& size, const std::string& words = "-t ext3");
  ~MountedImage();
  MountedImage(const MountedImage&) = delete;
  MountedImage& operator=(const MountedImage&) = delete;

  // Through FUSE; `options` are those of -o, `words` further ones of iotape mount. False: it did not come up, and
  // complaint() says why.
  bool mount(const std::string& options = "commit=1", const std::vector<std::string>& words = {});
  // By the kernel's own driver.
  bool mount_by_kernel(const std::string& options = "");
  // Cleanly, by `iotape mount -u` or umount(8), whichever it takes. False: complaint() says why.
  bool unmount();
  bool end_by_signal(int signal);  // true: the program ended with status 0
  void kill();                     // SIGKILL, and the dead mount taken away
  void kill_only();                // SIGKILL; the dead mount stays

  [[nodiscard]] pid_t server() const { return child_; }
  [[nodiscard]] const std::string& image() const { return image_; }
  [[nodiscard]] const std::string& path() const { return directory_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return directory_ + "/" + name; }
  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  // The journal replayed by e2fsck when it needs to be, then e2fsck -fn: what it complains of, or nothing.
  std::string judge();

 private:
  int wait_for_end();
  iotape::test::ScratchDirectory scratch_;
  std::string image_;
  std::string directory_;
  std::string complaint_;
  pid_t child_ = 0;
  bool by_kernel_ = false;
};

// Every name below a directory with its type, mode, owner, size, times, links, target, checksum and attributes, sorted.
std::string describe_tree(const std::string& directory);

bool can_mount();

}  // namespace iotape::fuse_mount::test

#define IOTAPE_NEEDS_FUSE()                                                            \
  do {                                                                                 \
    if (!::iotape::fuse_mount::test::can_mount()) {                                    \
      if (std::getenv("CI") != nullptr) FAIL() << "CI machines must be able to mount"; \
      GTEST_SKIP() << "needs root and /dev/fuse";                                      \
    }                                                                                  \
  } while (false)
