// A volume mounted from a disk in memory, used by paths: what tests of operations stand on.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "replayer/ext3/mount.h"
#include "replayer/ext3/operations/attribute_operations.h"
#include "replayer/ext3/operations/file_operations.h"
#include "replayer/ext3/operations/namespace_operations.h"
#include "replayer/ext3/path/path_walk.h"
#include "replayer/ext3/thread_host.h"

namespace iotape::ext3::test {

class MountedDisk {
 public:
  // A mount that fails fails the running test; valid() says so.
  MountedDisk(BlockDevice& device, const MountOptions& options = {});
  MountedDisk(const MountedDisk&) = delete;
  MountedDisk& operator=(const MountedDisk&) = delete;
  ~MountedDisk();

  [[nodiscard]] bool valid() const { return volume_ != nullptr; }
  [[nodiscard]] Volume& volume() { return *volume_; }
  [[nodiscard]] Host& host() { return host_; }
  [[nodiscard]] const MountReport& report() const { return report_; }
  void unmount();
  // Forgets everything, as a machine that loses its power.
  void crash();

  // errno, 0 when it went well. Paths are absolute.
  int create(std::string_view path, std::uint32_t mode = 0100644, std::string_view link_target = {},
             std::uint64_t device = 0);
  int make_directory(std::string_view path) { return create(path, 0040755); }
  int unlink(std::string_view path);
  int remove_directory(std::string_view path);
  int link(std::string_view existing, std::string_view path);
  int rename(std::string_view from, std::string_view to, std::uint32_t flags = 0);
  int write(std::string_view path, std::uint64_t offset, std::string_view bytes);
  int truncate(std::string_view path, std::uint64_t size);
  int sync(std::string_view path);
  int sync_all();
  // The bytes, or "errno N".
  std::string read(std::string_view path, std::uint64_t offset = 0, std::size_t length = 1 << 20);
  std::string read_link(std::string_view path);
  std::string list(std::string_view path);    // names sorted, separated by blanks, without dots
  InodeReference get(std::string_view path);  // empty when it is not there

 private:
  Answer<PathEnd> walk(std::string_view path, LastSymlink last = LastSymlink::kKeep);
  ThreadHost host_;
  MountReport report_;
  std::unique_ptr<Volume> volume_;
};

}  // namespace iotape::ext3::test
