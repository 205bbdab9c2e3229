// The built-in ext3 behind the system call layer that replays use, as one of two sides.
#pragma once

#include <memory>

#include "replayer/ext3/calls/call_issuer.h"
#include "replayer/ext3/device/block_device.h"
#include "replayer/ext3/mount.h"
#include "replayer/ext3/thread_host.h"
#include "tests/ext3/support/side_by_side/step.h"
#include "tests/ext3/support/side_by_side/tree_picture.h"

namespace iotape::ext3::test {

class OurSide {
 public:
  // A mount that fails fails the running test; valid() says so.
  OurSide(BlockDevice& device, const MountOptions& options);
  OurSide(const OurSide&) = delete;
  OurSide& operator=(const OurSide&) = delete;
  ~OurSide();

  [[nodiscard]] bool valid() const { return volume_ != nullptr; }
  [[nodiscard]] Volume& volume() { return *volume_; }
  StepOutcome issue(const Step& step);
  // Leaves no trace of having looked.
  TreePicture picture();
  void unmount();

 private:
  void draw(Inode& inode, const std::string& path, FirstNames& names, TreePicture& tree);
  FilePicture picture_of(Inode& inode, const std::string& path, FirstNames& names);
  std::string contents_of(Inode& inode);

  ThreadHost host_;
  std::unique_ptr<Volume> volume_;
  CallThread thread_;
};

}  // namespace iotape::ext3::test
