// A mounted volume for tests of what lies below the file operations: files are made and filled by hand, and failures
// fail the running test.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "replayer/ext3/block_map.h"
#include "replayer/ext3/device/memory_device.h"
#include "replayer/ext3/inode_cache.h"
#include "replayer/ext3/mount.h"
#include "replayer/ext3/thread_host.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3::test {

// ThreadHost whose threads have the number that the test says.
class NumberedHost final : public Host {
 public:
  void lock() override { threads_.lock(); }
  void unlock() override { threads_.unlock(); }
  void wait(const void* channel) override { threads_.wait(channel); }
  void wait_until(const void* channel, Nanoseconds deadline) override { threads_.wait_until(channel, deadline); }
  void wake(const void* channel) override { threads_.wake(channel); }
  [[nodiscard]] Nanoseconds now() const override { return threads_.now(); }
  [[nodiscard]] std::uint32_t thread() const override { return number_; }
  void become(std::uint32_t number) { number_ = number; }

 private:
  ThreadHost threads_;
  std::uint32_t number_ = 0;
};

class MountedVolume {
 public:
  explicit MountedVolume(BlockDevice& device, const MountOptions& options = {});
  MountedVolume(const MountedVolume&) = delete;
  MountedVolume& operator=(const MountedVolume&) = delete;
  ~MountedVolume();

  [[nodiscard]] Volume& volume() { return *volume_; }
  [[nodiscard]] NumberedHost& host() { return host_; }
  [[nodiscard]] const Geometry& geometry() const { return volume_->geometry; }
  // The numbers that must be as before when everything was given back.
  struct Counts {
    std::uint64_t free_blocks = 0;
    std::uint64_t free_inodes = 0;
    bool operator==(const Counts&) const = default;
  };
  [[nodiscard]] Counts counts() const { return {volume_->groups.free_blocks(), volume_->groups.free_inodes()}; }
  [[nodiscard]] GroupNumber group_of(const Inode& inode) const { return volume_->geometry.group_of(inode.number); }

  [[nodiscard]] InodeReference root() { return get(kRootInode); }
  [[nodiscard]] InodeReference get(InodeNumber number);
  InodeReference create(Inode& parent, std::string_view name, std::uint32_t mode = S_IFREG | 0644);
  InodeReference make_directory(Inode& parent, std::string_view name) { return create(parent, name, S_IFDIR | 0755); }
  // Removes the name; the file goes with its last reference.
  void remove(Inode& parent, std::string_view name);
  // Allocates the block in a transaction of its own, fills it, and lets the file reach to its end.
  Answer<BlockNumber> put_block(Inode& inode, std::uint32_t file_block, bool privileged = true);
  // As put_block, but what the caller does not expect to fail.
  BlockNumber must_put(Inode& inode, std::uint32_t file_block);
  [[nodiscard]] BlockNumber block_at(Inode& inode, std::uint32_t file_block);
  Answer<void> cut(Inode& inode, std::uint64_t size);
  void commit();
  // Also drops references' owner: no InodeReference may be left.
  void unmount();

 private:
  NumberedHost host_;
  std::unique_ptr<Volume> volume_;
};

}  // namespace iotape::ext3::test
