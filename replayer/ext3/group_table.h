// GroupTable: the block groups' descriptors, which are kept in memory for as long as the volume is mounted, and the
// sums over them that allocators ask for.
#pragma once

#include <cstdint>
#include <vector>

#include "replayer/ext3/cache/buffer_cache.h"
#include "replayer/ext3/disk_format/group_descriptor.h"
#include "replayer/ext3/geometry.h"
#include "replayer/ext3/journal/journal.h"

namespace iotape::ext3 {

struct GroupChange {
  std::int32_t free_blocks = 0;
  std::int32_t free_inodes = 0;
  std::int32_t directories = 0;
};

// A set of groups with a quick "the next one from here on", so that a search does not visit full groups one by one.
class GroupSet {
 public:
  explicit GroupSet(std::uint32_t groups = 0) : words_((groups + 63) / 64), groups_(groups) {}
  void set(GroupNumber group, bool member);
  [[nodiscard]] bool has(GroupNumber group) const { return (words_[group.value / 64] >> (group.value % 64) & 1) != 0; }
  // The first member at or after `from`, wrapping round once; group_count when the set is empty.
  [[nodiscard]] GroupNumber next(GroupNumber from) const;

 private:
  std::vector<std::uint64_t> words_;
  std::uint32_t groups_;
};

class GroupTable {
 public:
  // Reads the table; EIO, or EUCLEAN when a descriptor points outside its volume. May wait.
  Answer<void> load(BufferCache& cache, const Geometry& geometry);

  [[nodiscard]] const GroupDescriptor& operator[](GroupNumber group) const { return *descriptors_[group.value]; }
  [[nodiscard]] std::uint64_t free_blocks() const { return free_blocks_; }
  [[nodiscard]] std::uint64_t free_inodes() const { return free_inodes_; }
  [[nodiscard]] std::uint64_t directories() const { return directories_; }
  [[nodiscard]] const GroupSet& with_free_blocks() const { return with_free_blocks_; }
  [[nodiscard]] const GroupSet& with_free_inodes() const { return with_free_inodes_; }

  // The buffer that holds a group's descriptor: ask the journal for write access before change(). One credit.
  [[nodiscard]] Buffer& buffer(GroupNumber group) const;
  // REQUIRES: write access to buffer(group). Counts and marks the buffer dirty.
  void change(Journal& journal, Handle& handle, GroupNumber group, const GroupChange& by);

 private:
  void count(GroupNumber group);
  std::uint32_t per_block_ = 0;
  std::vector<BufferReference> buffers_;
  std::vector<GroupDescriptor*> descriptors_;
  GroupSet with_free_blocks_;
  GroupSet with_free_inodes_;
  std::uint64_t free_blocks_ = 0;
  std::uint64_t free_inodes_ = 0;
  std::uint64_t directories_ = 0;
};

}  // namespace iotape::ext3
