#include "replayer/ext3/allocator/leaf_placement.h"

#include <algorithm>
#include <utility>

#include "replayer/ext3/allocator/bitmap.h"
#include "replayer/ext3/allocator/group_choice.h"
#include "replayer/ext3/disk_format/directory_record.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

// The first free inode of the run that an inode is in; nullopt when it has none, or its bitmap is not in memory.
std::optional<Placement> room_in_run(const Volume& volume, InodeNumber inode) {
  const Geometry& geometry = volume.geometry;
  if (inode == kNoInode || inode.value > geometry.inode_count) return std::nullopt;
  const GroupNumber group = geometry.group_of(inode);
  const BufferReference bitmap = volume.cache->find(BlockNumber(volume.groups[group].inode_bitmap));
  if (!bitmap || !bitmap->up_to_date) return std::nullopt;
  const std::uint32_t begin = geometry.bit_of(inode) / geometry.inodes_per_block() * geometry.inodes_per_block();
  const std::uint32_t end = std::min(begin + geometry.inodes_per_block(), geometry.inodes_per_group);
  const auto bit = next_free({.current = bitmap->data}, begin, end);
  return bit ? std::optional(Placement{group, *bit}) : std::nullopt;
}

BufferReference leaf_in_memory(const Volume& volume, const PlacementRequest& request) {
  const auto& blocks = request.parent.block_cache;
  if (request.leaf.value >= blocks.size() || blocks[request.leaf.value] == 0) return {};
  BufferReference leaf = volume.cache->find(BlockNumber(blocks[request.leaf.value]));
  return leaf && leaf->up_to_date ? leaf : BufferReference();
}

// Room in a run that some name of the directory block has its inode in.
std::optional<Placement> room_beside_names(const Volume& volume, const PlacementRequest& request) {
  const BufferReference leaf = leaf_in_memory(volume, request);
  if (!leaf) return std::nullopt;
  const std::uint32_t run_length = volume.geometry.inodes_per_block();
  std::uint32_t full_run = ~0U;  // neighbours in a block are often neighbours in the table
  for (std::uint32_t offset = 0; offset + sizeof(DirectoryRecord) <= volume.geometry.block_size;) {
    const DirectoryRecord& record = *leaf->at<DirectoryRecord>(offset);
    const std::uint32_t inode = record.inode;
    const std::uint32_t run = inode == 0 ? full_run : (inode - 1) / run_length;
    const bool special = inode == request.parent.number.value;  // "." and ".."
    if (run != full_run && !special && record.file_type != kTypeDirectory) {
      if (auto place = room_in_run(volume, InodeNumber(inode))) return place;
      full_run = run;
    }
    if (record.record_length < sizeof(DirectoryRecord)) break;
    offset += record.record_length;
  }
  return std::nullopt;
}

}  // namespace

// REQUIRES: always the same volume's.
void LeafPlacement::learn(const Geometry& geometry) {
  if (run_length_ != 0) return;
  run_length_ = geometry.inodes_per_block();
  inodes_per_group_ = geometry.inodes_per_group;
  hints_.resize(kHints);
  first_run_.resize(geometry.group_count);
  may_have_run_ = GroupSet(geometry.group_count);
  for (std::uint32_t i = 0; i < geometry.group_count; ++i) may_have_run_.set(GroupNumber(i), true);
}

LeafPlacement::Hint& LeafPlacement::hint(InodeNumber directory, FileBlock leaf) {
  // Blocks of one directory take neighbouring entries, directories begin anywhere.
  const std::uint64_t start = directory.value * 0x9E3779B97F4A7C15U >> 32U;
  return hints_[(start + leaf.value) % kHints];
}

std::optional<Placement> LeafPlacement::place(const Volume& volume, const PlacementRequest& request) {
  if (S_ISDIR(request.mode)) return directories_.place(volume, request);
  learn(volume.geometry);
  const Hint& last = hint(request.parent.number, request.leaf);
  if (last.directory == request.parent.number && last.leaf == request.leaf)
    if (const auto place = room_in_run(volume, last.inode)) return place;
  if (const auto place = room_beside_names(volume, request)) return place;
  if (const auto group = group_with_run(volume, request.parent.number)) return Placement{*group, kAnyFreeRun};
  const auto group = find_group_other(volume, request.parent.number);
  return group ? std::optional(Placement{*group, 0}) : std::nullopt;
}

std::optional<GroupNumber> LeafPlacement::group_with_run(const Volume& volume, InodeNumber directory) {
  const std::uint32_t groups = volume.geometry.group_count;
  const GroupNumber home = volume.geometry.group_of(directory);
  const auto suits = [&](GroupNumber group) {
    return may_have_run_.has(group) && volume.groups[group].free_inodes_count >= run_length_ &&
           volume.groups[group].free_blocks_count != 0;
  };
  if (const auto found = probe_groups(groups, home, directory, suits)) return found;
  for (;;) {
    const GroupNumber next = may_have_run_.next(GroupNumber((home.value + 1) % groups));
    if (next.value >= groups) return std::nullopt;
    if (volume.groups[next].free_inodes_count >= run_length_) return next;
    may_have_run_.set(next, false);  // released() puts it back
  }
}

std::optional<std::uint32_t> LeafPlacement::first_bit(const Volume& volume, const Placement& placement,
                                                      const std::byte* bitmap) {
  if (placement.first_bit != kAnyFreeRun) return placement.first_bit;
  std::uint32_t& first = first_run_[placement.group.value];
  const std::uint32_t runs = volume.geometry.inodes_per_group / run_length_;
  for (; first < runs; ++first) {
    const std::uint32_t begin = first * run_length_;
    const auto wholly_free = [&] {
      for (std::uint32_t bit = begin; bit < begin + run_length_; ++bit)
        if (test_bit(bitmap, bit)) return false;
      return true;
    };
    if (wholly_free()) return begin;
  }
  may_have_run_.set(placement.group, false);
  return std::nullopt;
}

void LeafPlacement::taken(const PlacementRequest& request, InodeNumber inode) {
  if (S_ISDIR(request.mode)) return;
  hint(request.parent.number, request.leaf) = {request.parent.number, request.leaf, inode};
}

void LeafPlacement::released(InodeNumber inode, bool /*directory*/) {
  if (run_length_ == 0) return;
  const GroupNumber group((inode.value - 1) / inodes_per_group_);
  const std::uint32_t run = (inode.value - 1) % inodes_per_group_ / run_length_;
  first_run_[group.value] = std::min(first_run_[group.value], run);
  may_have_run_.set(group, true);
}

}  // namespace iotape::ext3
