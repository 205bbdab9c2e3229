// One directory of a fresh volume to put names into, without the operations above it: its names are links of a few
// empty files, whose counts are put right at the end so that e2fsck can judge.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/mount.h"
#include "replayer/ext3/thread_host.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3::test {

struct DirectoryBenchOptions {
  std::uint64_t bytes = 64 << 20;
  FilesystemOptions filesystem = without_journal();
  MountOptions mount;

  static FilesystemOptions without_journal(std::uint32_t block_size = 4096);
};

class DirectoryBench {
 public:
  explicit DirectoryBench(const DirectoryBenchOptions& options = {});
  DirectoryBench(const DirectoryBench&) = delete;
  DirectoryBench& operator=(const DirectoryBench&) = delete;
  ~DirectoryBench();

  [[nodiscard]] Volume& volume() { return *volume_; }
  [[nodiscard]] Inode& directory() { return *directory_; }
  [[nodiscard]] MemoryDevice& device() { return *device_; }
  [[nodiscard]] ThreadHost& host() { return host_; }
  [[nodiscard]] std::uint32_t blocks() {
    return static_cast<std::uint32_t>(directory_->size / volume_->geometry.block_size);
  }
  [[nodiscard]] bool indexed() { return directory_->has_flag(kInodeIndex); }
  // The inode that the i-th file has.
  [[nodiscard]] InodeNumber file(std::size_t i) const { return files_[i % kFiles]->number; }

  // 0 or an errno. EEXIST, ENOENT as a caller of probe_directory would say.
  int insert(std::string_view name);
  int erase(std::string_view name);
  int rewrite(std::string_view name, std::size_t new_file);
  // kNoInode: not there. An error fails the test.
  InodeNumber lookup(std::string_view name);
  // Everything, read in calls that take at most `batch` names each. keep_position: as an open directory would.
  std::vector<std::string> list(std::size_t batch = SIZE_MAX, bool keep_position = true);

  // Puts the link counts right and unmounts. Nothing else may be called after it, but device().
  void finish();
  // finish(), then e2fsck must be content, and debugfs list exactly these names in the directory.
  void expect_clean(std::vector<std::string> names);

 private:
  static constexpr std::size_t kFiles = 16;
  std::size_t index_of(InodeNumber number) const;

  std::unique_ptr<MemoryDevice> device_;
  ThreadHost host_;
  std::unique_ptr<Volume> volume_;
  InodeReference directory_;
  std::array<InodeReference, kFiles> files_;
  std::array<std::int64_t, kFiles> links_{};
  std::size_t next_file_ = 0;
};

// The names debugfs lists in a directory of an image, "." and ".." not.
std::vector<std::string> names_by_debugfs(MemoryDevice& device, const std::string& path);

}  // namespace iotape::ext3::test
