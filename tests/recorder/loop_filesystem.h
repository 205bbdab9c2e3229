// A filesystem on a loop device of its own, in a scratch image; unmounted and detached when the test ends.
#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <chrono>
#include <string>
#include <thread>

#include "format/base/strong_id.h"
#include "tests/support/test_support.h"

namespace iotape::test {

class LoopFilesystem {
 public:
  explicit LoopFilesystem(const std::string& kind, const std::string& size = "1G") {
    const std::string image = scratch_ / "image";
    mount_point_ = scratch_ / "mnt";
    // Another test may take the free loop device between the look and the use, hence the second try.
    const std::string line = "mkdir -p " + mount_point_ + " && truncate -s " + size + " " + image + " && mkfs." + kind +
                             (kind.starts_with("ext") ? " -q -F " : " -q -f ") + image +
                             " >/dev/null 2>&1 && { losetup -f --show " + image +
                             " 2>/dev/null || { sleep 1; losetup -f --show " + image + "; }; }";
    device_ = run_shell(line).out;
    while (!device_.empty() && device_.back() == '\n') device_.pop_back();
    mounted_ = !device_.empty() && run_shell("mount " + device_ + " " + mount_point_ + " && sync").status == 0;
  }
  ~LoopFilesystem() {
    if (mounted_) run_shell("umount " + mount_point_);
    if (!device_.empty()) run_shell("losetup -d " + device_);
  }
  LoopFilesystem(const LoopFilesystem&) = delete;
  LoopFilesystem& operator=(const LoopFilesystem&) = delete;

  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] const std::string& mount_point() const { return mount_point_; }
  [[nodiscard]] const std::string& device() const { return device_; }
  [[nodiscard]] DeviceId id() const {
    struct stat facts {};
    ::stat(device_.c_str(), &facts);
    return DeviceId::of(major(facts.st_rdev), minor(facts.st_rdev));
  }
  void remount() { run_shell("umount " + mount_point_ + " && mount " + device_ + " " + mount_point_); }

 private:
  ScratchDirectory scratch_;
  std::string mount_point_;
  std::string device_;
  bool mounted_ = false;
};

}  // namespace iotape::test
