// Disks with a fresh filesystem, and the judges of e2fsprogs over them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "replayer/ext3/check/check_filesystem.h"
#include "replayer/ext3/device/memory_device.h"
#include "replayer/ext3/make_filesystem.h"
#include "tests/support/test_support.h"

namespace iotape::ext3::test {

// A disk in memory with a fresh filesystem.
class TestVolumeImage {
 public:
  // Options that cannot be met fail the running test.
  explicit TestVolumeImage(std::uint64_t bytes, const FilesystemOptions& options = {});

  [[nodiscard]] MemoryDevice& device() { return *device_; }
  [[nodiscard]] const MadeFilesystem& made() const { return made_; }
  // Its bytes, saved as a sparse file, for programs to look at.
  void save(const std::string& path) { save_device(*device_, path); }
  // e2fsck -fn: status 0 only when it had no complaint at all.
  [[nodiscard]] iotape::test::CommandOutput e2fsck() { return e2fsck(*device_); }

  static void save_device(MemoryDevice& device, const std::string& path);
  [[nodiscard]] static iotape::test::CommandOutput e2fsck(MemoryDevice& device);

 private:
  std::unique_ptr<MemoryDevice> device_;
  MadeFilesystem made_;
};

// As TestVolumeImage::e2fsck, of an image in a file.
iotape::test::CommandOutput e2fsck_file(const std::string& path);
// A disk in memory with a file's bytes.
std::unique_ptr<MemoryDevice> load_device(const std::string& path);

// `mke2fs -t ext3` and friends: true when the image was made. words: everything but the program's name and the image.
bool run_mke2fs(const std::string& path, std::uint64_t bytes, const std::string& words);
// debugfs -w -R of each line; its output.
std::string run_debugfs(const std::string& path, const std::vector<std::string>& requests);

// What our own checker says, a line for each problem; nothing when the volume is sound.
std::string check_text(BlockDevice& device);

}  // namespace iotape::ext3::test

// Expects e2fsck to be content with a MemoryDevice.
#define IOTAPE_EXPECT_E2FSCK_CLEAN(device)                                     \
  do {                                                                         \
    const auto judged = ::iotape::ext3::test::TestVolumeImage::e2fsck(device); \
    EXPECT_EQ(judged.status, 0) << judged.out << judged.err;                   \
  } while (false)

// Expects both judges to be content: ours and e2fsck.
#define IOTAPE_EXPECT_SOUND(device)                          \
  do {                                                       \
    EXPECT_EQ(::iotape::ext3::test::check_text(device), ""); \
    IOTAPE_EXPECT_E2FSCK_CLEAN(device);                      \
  } while (false)
