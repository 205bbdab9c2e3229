#include "replayer/ext3/allocator/inode_allocator.h"

#include <algorithm>

#include "replayer/ext3/allocator/bitmap.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {

InodeAllocator::InodeAllocator(Volume& volume, std::unique_ptr<InodePlacementPolicy> policy)
    : volume_(volume), policy_(std::move(policy)) {}

Answer<InodeNumber> InodeAllocator::allocate(Handle& handle, const PlacementRequest& request) {
  GroupNumber last = volume_.geometry.group_of(request.parent.number);
  // A policy that sends the search elsewhere names a group less each time.
  for (std::uint32_t tries = 0; tries <= volume_.geometry.group_count; ++tries) {
    const auto placement = policy_->place(volume_, request);
    if (!placement) return refuse(ENOSPC);
    last = placement->group;
    InodeNumber inode;
    EXT3_ASSIGN(const Claim claimed, claim(handle, request, *placement, true, inode));
    if (claimed == Claim::kTaken) return inode;
    if (claimed == Claim::kFull) break;
  }
  return claim_anywhere(handle, request, last);
}

// Somebody was quicker, or a counter is wrong: the groups behind, each once.
Answer<InodeNumber> InodeAllocator::claim_anywhere(Handle& handle, const PlacementRequest& request, GroupNumber from) {
  const std::uint32_t groups = volume_.geometry.group_count;
  for (std::uint32_t distance = 0; distance < groups;) {
    const GroupNumber group = volume_.groups.with_free_inodes().next(GroupNumber((from.value + distance + 1) % groups));
    if (group.value >= groups) break;
    const std::uint32_t reached = (group.value + groups - from.value - 1) % groups + 1;
    if (reached <= distance) break;
    distance = reached;
    InodeNumber inode;
    EXT3_ASSIGN(const Claim claimed, claim(handle, request, {group, 0}, false, inode));
    if (claimed == Claim::kTaken) return inode;
  }
  return refuse(ENOSPC);
}

Answer<InodeAllocator::Claim> InodeAllocator::claim(Handle& handle, const PlacementRequest& request,
                                                    const Placement& placement, bool ask_policy, InodeNumber& inode) {
  const GroupNumber group = placement.group;
  EXT3_ASSIGN(const BufferReference bitmap, accessed_bitmap(handle, group));
  // From here to the end nothing waits.
  const auto from = ask_policy ? policy_->first_bit(volume_, placement, bitmap->data) : std::optional(0U);
  const auto bit = from ? search(group, bitmap->data, *from) : std::nullopt;
  if (!bit) {
    give_up(handle, *bitmap, group);
    return from ? Claim::kFull : Claim::kElsewhere;
  }
  set_bit(bitmap->data, *bit);
  volume_.journal->dirty_metadata(handle, *bitmap);
  const bool directory = S_ISDIR(request.mode);
  volume_.groups.change(*volume_.journal, handle, group, {.free_inodes = -1, .directories = directory ? 1 : 0});
  inode = volume_.geometry.inode_at(group, *bit);
  policy_->taken(request, inode);
  return Claim::kTaken;
}

// The first free inode from there on, else from the group's start. Reserved inodes are never free, whatever the bitmap
// says.
std::optional<std::uint32_t> InodeAllocator::search(GroupNumber group, const std::byte* bits, std::uint32_t from) {
  const std::uint32_t end = volume_.geometry.inodes_per_group;
  std::uint32_t& lowest = lowest_free(group);
  if (from > lowest)
    if (const auto bit = next_free({.current = bits}, from, end)) return bit;
  const auto bit = next_free({.current = bits}, lowest, end);
  lowest = bit ? *bit + 1 : end;
  return bit;
}

Answer<void> InodeAllocator::release(Handle& handle, InodeNumber inode, bool directory) {
  const Geometry& geometry = volume_.geometry;
  if (inode.value < geometry.first_inode || inode.value > geometry.inode_count) {
    (void)volume_.damaged(inode, "an inode that cannot be was to be freed");
    return {};
  }
  const GroupNumber group = geometry.group_of(inode);
  const std::uint32_t bit = geometry.bit_of(inode);
  EXT3_ASSIGN(const BufferReference bitmap, accessed_bitmap(handle, group));
  if (!test_bit(bitmap->data, bit)) {
    give_up(handle, *bitmap, group);
    (void)volume_.damaged(inode, "an inode was to be freed twice");
    return {};
  }
  clear_bit(bitmap->data, bit);
  volume_.journal->dirty_metadata(handle, *bitmap);
  volume_.groups.change(*volume_.journal, handle, group, {.free_inodes = 1, .directories = directory ? -1 : 0});
  std::uint32_t& lowest = lowest_free(group);
  lowest = std::min(lowest, bit);
  policy_->released(inode, directory);
  return {};
}

// With write access to it and to the group's descriptor: waiting for the second may make the first busy again.
Answer<BufferReference> InodeAllocator::accessed_bitmap(Handle& handle, GroupNumber group) {
  const BlockNumber block(volume_.groups[group].inode_bitmap);
  EXT3_ASSIGN(BufferReference bitmap, volume_.cache->read(block, {.cause = BlockCause::kInodeBitmap}));
  do {
    EXT3_TRY(volume_.journal->get_write_access(handle, *bitmap));
    EXT3_TRY(volume_.journal->get_write_access(handle, volume_.groups.buffer(group)));
  } while (bitmap->busy);
  return bitmap;
}

void InodeAllocator::give_up(Handle& handle, Buffer& bitmap, GroupNumber group) {
  volume_.journal->release_access(handle, bitmap);
  volume_.journal->release_access(handle, volume_.groups.buffer(group));
}

std::uint32_t& InodeAllocator::lowest_free(GroupNumber group) {
  if (lowest_free_.empty()) {
    lowest_free_.resize(volume_.geometry.group_count);
    const std::uint32_t per_group = volume_.geometry.inodes_per_group;
    std::uint32_t reserved = volume_.geometry.first_inode - 1;
    for (std::size_t i = 0; reserved != 0 && i < lowest_free_.size(); ++i) {
      lowest_free_[i] = std::min(reserved, per_group);
      reserved -= lowest_free_[i];
    }
  }
  return lowest_free_[group.value];
}

}  // namespace iotape::ext3
