// A filesystem of the built-in ext3 in memory, driven through the path layer: what the benchmarks measure. half-MD4,
// 256-byte inodes. Refusals are kept and asked for at the end (good), not one by one.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "replayer/ext3/device/memory_device.h"
#include "replayer/ext3/make_filesystem.h"
#include "replayer/ext3/mount.h"
#include "replayer/ext3/operations/namespace_operations.h"
#include "replayer/ext3/path/path_walk.h"
#include "replayer/ext3/thread_host.h"

namespace iotape::ext3 {

inline constexpr std::uint64_t kDeviceBytes = std::uint64_t{8} << 30U;

class Disk {
 public:
  explicit Disk(std::uint32_t journal_blocks) : device_(kDeviceBytes) {
    FilesystemOptions options;
    options.journal_blocks = journal_blocks;
    options.bytes_per_inode = 4096;
    options.seed = 1;
    good_ = make_filesystem(device_, options).has_value();
  }
  [[nodiscard]] bool good() const { return good_; }

  void mount() {
    MountOptions options;
    options.cache_bytes = std::size_t{1} << 30U;
    auto mounted = mount_volume(host_, device_, options);
    good_ = mounted.has_value();
    if (good_) volume_ = std::move(*mounted);
    const HostEntry inside(host_);
    auto root = volume_->inodes->get(kRootInode);
    good_ = good_ && root;
    if (good_) start_ = {*root, *root};
  }
  void unmount() {
    {
      const HostEntry inside(host_);
      start_ = {};
    }
    good_ = good_ && unmount_volume(*volume_);
    const HostEntry inside(host_);
    volume_.reset();
  }
  void create(const std::string& path, std::uint32_t mode) {
    const HostEntry inside(host_);
    const auto end = walk_path(*volume_, start_, path, LastSymlink::kKeep, credentials_);
    good_ = good_ && end && create_node(*volume_, *end->directory, end->name, {mode, 0, {}}, {});
  }
  void unlink(const std::string& path) {
    const HostEntry inside(host_);
    const auto end = walk_path(*volume_, start_, path, LastSymlink::kKeep, credentials_);
    good_ = good_ && end && unlink_name(*volume_, *end->directory, end->name);
  }
  void stat(const std::string& path) {
    const HostEntry inside(host_);
    const auto inode = find_path(*volume_, start_, path, LastSymlink::kFollow, credentials_);
    good_ = good_ && inode && (*inode)->links > 0;
  }

 private:
  ThreadHost host_;
  MemoryDevice device_;
  std::unique_ptr<Volume> volume_;
  WalkStart start_;
  Credentials credentials_;
  bool good_ = false;
};

// Names of eight characters in an order that no hash knows.
inline std::vector<std::string> names_in_one_directory(std::size_t count) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < count; ++i) paths.push_back(fmt::format("/d/{:08x}", i * 2654435761U & 0xFFFFFFFFU));
  return paths;
}

}  // namespace iotape::ext3
