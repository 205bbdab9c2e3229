// The kernel's ext3, an image mounted through a loop device, as the other side. Needs root.
//
// The whole process lives in the mounted filesystem (chroot) while a KernelSide is mounted, so that absolute paths and
// ".." mean the same as on the other side: no file outside can be opened meanwhile. One thread only.
#pragma once

#include <string>
#include <vector>

#include "tests/ext3/support/side_by_side/step.h"
#include "tests/ext3/support/side_by_side/tree_picture.h"

namespace iotape::ext3::test {

class KernelSide {
 public:
  // A mount that fails fails the running test; valid() says so. options: as mount -o takes them.
  KernelSide(std::string image, std::string mount_point, const std::string& options);
  KernelSide(const KernelSide&) = delete;
  KernelSide& operator=(const KernelSide&) = delete;
  ~KernelSide();

  [[nodiscard]] bool valid() const { return mounted_; }
  StepOutcome issue(const Step& step);
  TreePicture picture();
  // Whether something open, or the working directory, has been removed. Its entry in the kernel's cache of names keeps
  // the directories above it in use, removed ones too; ours keep those above a directory, not those above a file.
  [[nodiscard]] bool holds_removed() const;
  void unmount();

 private:
  friend struct KernelCall;
  void draw(int directory, const std::string& name, const std::string& path, FirstNames& names, TreePicture& tree);
  [[nodiscard]] int real(std::int32_t slot) const;
  int keep(int descriptor);
  void enter();
  void leave();

  std::string image_;
  std::string mount_point_;
  bool mounted_ = false;
  int outside_ = -1;        // the root directory that the process had
  std::vector<int> slots_;  // -1: free
};

}  // namespace iotape::ext3::test
