#include "replayer/ext3/group_table.h"

#include <algorithm>
#include <bit>

namespace iotape::ext3 {
namespace {

// A bitmap or a table may lie anywhere in its own group but where the copies of the superblock and descriptors are.
bool lies_in_group(const Geometry& geometry, GroupNumber group, std::uint32_t first, std::uint32_t count) {
  const std::uint32_t begin = geometry.group_first(group).value + geometry.backup_blocks(group);
  const std::uint64_t end = std::uint64_t{geometry.group_first(group).value} + geometry.group_blocks(group);
  return first >= begin && first > geometry.first_data_block && std::uint64_t{first} + count <= end;
}

bool sound(const Geometry& geometry, GroupNumber group, const GroupDescriptor& descriptor) {
  const std::uint32_t blocks = descriptor.block_bitmap;
  const std::uint32_t inodes = descriptor.inode_bitmap;
  const std::uint32_t table = descriptor.inode_table;
  const auto in_table = [&](std::uint32_t block) { return block - table < geometry.inode_table_blocks; };
  return lies_in_group(geometry, group, blocks, 1) && lies_in_group(geometry, group, inodes, 1) &&
         lies_in_group(geometry, group, table, geometry.inode_table_blocks) && blocks != inodes && !in_table(blocks) &&
         !in_table(inodes);
}

// Counters are untrusted too: one that would leave its field stays at the end.
void add(le16& counter, std::int32_t by) {
  const std::int32_t sum = std::int32_t{std::uint16_t{counter}} + by;
  counter = static_cast<std::uint16_t>(std::clamp(sum, 0, 0xFFFF));
}

}  // namespace

void GroupSet::set(GroupNumber group, bool member) {
  const std::uint64_t bit = std::uint64_t{1} << (group.value % 64);
  std::uint64_t& word = words_[group.value / 64];
  word = member ? word | bit : word & ~bit;
}

GroupNumber GroupSet::next(GroupNumber from) const {
  if (groups_ == 0) return GroupNumber(0);
  const std::size_t start = from.value < groups_ ? from.value / 64 : 0;
  const std::uint32_t first_bit = from.value < groups_ ? from.value % 64 : 0;
  std::uint64_t word = words_[start] & (~std::uint64_t{0} << first_bit);
  // The first word is looked at twice: from the bit on, and whole at the end of the round.
  for (std::size_t i = 0; i <= words_.size(); ++i) {
    if (word != 0) {
      const std::size_t at = (start + i) % words_.size();
      return GroupNumber(static_cast<std::uint32_t>(at * 64) + static_cast<std::uint32_t>(std::countr_zero(word)));
    }
    word = words_[(start + i + 1) % words_.size()];
  }
  return GroupNumber(groups_);
}

Answer<void> GroupTable::load(BufferCache& cache, const Geometry& geometry) {
  per_block_ = geometry.descriptors_per_block();
  const BlockTag tag{.cause = BlockCause::kGroupDescriptor};
  EXT3_TRY(cache.read_range(geometry.descriptor_table(), geometry.descriptor_blocks, tag, IoReason::kDemand));
  buffers_.reserve(geometry.descriptor_blocks);
  descriptors_.reserve(geometry.group_count);
  with_free_blocks_ = GroupSet(geometry.group_count);
  with_free_inodes_ = GroupSet(geometry.group_count);
  for (std::uint32_t i = 0; i < geometry.group_count; ++i) {
    const GroupNumber group(i);
    if (i % per_block_ == 0) {
      const BlockNumber block(geometry.descriptor_table().value + i / per_block_);
      EXT3_ASSIGN(BufferReference buffer, cache.read(block, tag));
      buffers_.push_back(std::move(buffer));
    }
    descriptors_.push_back(buffers_.back()->at<GroupDescriptor>(i % per_block_ * sizeof(GroupDescriptor)));
    if (!sound(geometry, group, *descriptors_.back())) return refuse(EUCLEAN);
    count(group);
  }
  return {};
}

// REQUIRES: the group's numbers are not in the sums yet.
void GroupTable::count(GroupNumber group) {
  const GroupDescriptor& descriptor = (*this)[group];
  free_blocks_ += descriptor.free_blocks_count;
  free_inodes_ += descriptor.free_inodes_count;
  directories_ += descriptor.used_directories_count;
  with_free_blocks_.set(group, descriptor.free_blocks_count != 0);
  with_free_inodes_.set(group, descriptor.free_inodes_count != 0);
}

Buffer& GroupTable::buffer(GroupNumber group) const { return *buffers_[group.value / per_block_]; }

void GroupTable::change(Journal& journal, Handle& handle, GroupNumber group, const GroupChange& by) {
  GroupDescriptor& descriptor = *descriptors_[group.value];
  free_blocks_ -= descriptor.free_blocks_count;
  free_inodes_ -= descriptor.free_inodes_count;
  directories_ -= descriptor.used_directories_count;
  add(descriptor.free_blocks_count, by.free_blocks);
  add(descriptor.free_inodes_count, by.free_inodes);
  add(descriptor.used_directories_count, by.directories);
  count(group);
  journal.dirty_metadata(handle, buffer(group));
}

}  // namespace iotape::ext3
