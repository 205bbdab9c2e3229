#include "replayer/ext3/allocator/block_allocator.h"

#include <algorithm>

#include "replayer/ext3/allocator/bitmap.h"
#include "replayer/ext3/allocator/block_search.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

bool ranges_meet(std::uint64_t first, std::uint64_t count, std::uint64_t other, std::uint64_t other_count) {
  return first < other + other_count && other < first + count;
}

}  // namespace

// Free blocks that the caller may have.
std::uint64_t BlockAllocator::room(bool privileged) const {
  const std::uint64_t free = volume_.groups.free_blocks();
  const std::uint64_t kept = privileged ? 0 : std::uint64_t{volume_.superblock().reserved_blocks_count};
  return free > kept ? free - kept : 0;
}

Answer<BlockNumber> BlockAllocator::allocate(Handle& handle, Inode& inode, BlockNumber goal, bool privileged) {
  if (room(privileged) == 0) return refuse(ENOSPC);
  const Geometry& geometry = volume_.geometry;
  Wish wish{inode, goal};
  if (goal.value < geometry.first_data_block || goal.value >= geometry.block_count)
    wish.goal = BlockNumber(geometry.first_data_block);
  if (volume_.options.reservation && inode.is_regular()) {
    if (inode.window == nullptr) inode.window = std::make_unique<ReservationWindow>();
    wish.window = inode.window.get();
    const auto answer = search_all(handle, wish);
    if (answer || answer.error().value != ENOSPC) return answer;
    // Other files' windows may hold all that is free: then windows do not count.
    wish.window = nullptr;
  }
  return search_all(handle, wish);
}

Answer<BlockNumber> BlockAllocator::search_all(Handle& handle, const Wish& wish) {
  const Geometry& geometry = volume_.geometry;
  const std::uint32_t groups = geometry.group_count;
  const GroupNumber home = geometry.group_of(wish.goal);
  const std::uint32_t window_size = wish.window != nullptr ? wish.window->goal_size : 0;
  const std::uint32_t free_at_home = volume_.groups[home].free_blocks_count;
  if (free_at_home != 0) {
    Wish first = wish;
    // Too little is left here for a new window.
    if (wish.window != nullptr && wish.window->empty() && free_at_home < window_size) first.window = nullptr;
    EXT3_ASSIGN(const auto block, try_group(handle, first, home, geometry.bit_of(wish.goal)));
    if (block) return *block;
  }
  // Once round, the home group again at the end. The distance only grows, whatever others do meanwhile.
  for (std::uint32_t distance = 0; distance < groups;) {
    const GroupNumber group = volume_.groups.with_free_blocks().next(GroupNumber((home.value + distance + 1) % groups));
    if (group.value >= groups) break;
    const std::uint32_t reached = (group.value + groups - home.value - 1) % groups + 1;
    if (reached <= distance) break;
    distance = reached;
    if (wish.window != nullptr && volume_.groups[group].free_blocks_count <= window_size / 2) continue;
    EXT3_ASSIGN(const auto block, try_group(handle, wish, group, std::nullopt));
    if (block) return *block;
  }
  return refuse(ENOSPC);
}

Answer<std::optional<BlockNumber>> BlockAllocator::try_group(Handle& handle, const Wish& wish, GroupNumber group,
                                                             std::optional<std::uint32_t> goal) {
  auto read = bitmap(group);
  if (!read && read.error().value == EUCLEAN) return std::nullopt;  // other groups may be sound
  EXT3_ASSIGN(const BufferReference buffer, std::move(read));
  EXT3_TRY(access(handle, *buffer, group));
  // From here to the end nothing waits: what is found free is free.
  const Geometry& geometry = volume_.geometry;
  const GroupBits bits{{buffer->data, volume_.journal->committed_bits(*buffer)},
                       geometry.group_first(group).value,
                       geometry.group_blocks(group)};
  const auto bit =
      wish.window != nullptr ? search_with_window(bits, goal, *wish.window, windows_) : search_group(bits, goal);
  if (!bit) {
    volume_.journal->release_access(handle, *buffer);
    volume_.journal->release_access(handle, volume_.groups.buffer(group));
    return std::nullopt;
  }
  set_bit(buffer->data, *bit);
  volume_.journal->dirty_metadata(handle, *buffer);
  volume_.groups.change(*volume_.journal, handle, group, {.free_blocks = -1});
  return BlockNumber(bits.first_block + *bit);
}

Answer<std::uint32_t> BlockAllocator::extend(Handle& handle, Inode& inode, BlockNumber last, std::uint32_t most,
                                             bool privileged) {
  const Geometry& geometry = volume_.geometry;
  const GroupNumber group = geometry.group_of(last);
  const std::uint32_t begin = geometry.bit_of(last) + 1;
  std::uint32_t end = geometry.group_blocks(group);
  const bool windowed = volume_.options.reservation && inode.is_regular();
  if (windowed) {
    if (inode.window == nullptr || !inode.window->covers(last.value)) return 0;  // found without a window: search again
    end = std::min(end, inode.window->last - geometry.group_first(group).value + 1);
  }
  end =
      static_cast<std::uint32_t>(std::min({std::uint64_t{end}, std::uint64_t{begin} + most, begin + room(privileged)}));
  if (begin >= end) return 0;
  EXT3_ASSIGN(const BufferReference buffer, bitmap(group));
  EXT3_TRY(access(handle, *buffer, group));
  const BitmapView bits{buffer->data, volume_.journal->committed_bits(*buffer)};
  std::uint32_t bit = begin;
  for (; bit < end && bits.free(bit); ++bit) set_bit(buffer->data, bit);
  const std::uint32_t taken = bit - begin;
  if (taken == 0) return 0;
  if (windowed) inode.window->hits += taken;
  volume_.journal->dirty_metadata(handle, *buffer);
  volume_.groups.change(*volume_.journal, handle, group, {.free_blocks = -static_cast<std::int32_t>(taken)});
  return taken;
}

Answer<void> BlockAllocator::release(Handle& handle, BlockNumber first, std::uint32_t count) {
  const Geometry& geometry = volume_.geometry;
  if (count == 0) return {};
  if (!geometry.plausible(first) || geometry.block_count - first.value < count) {
    (void)volume_.damaged(kNoInode, "blocks outside the volume were to be freed");
    return {};
  }
  while (count != 0) {
    const std::uint32_t here = std::min(count, geometry.blocks_per_group - geometry.bit_of(first));
    if (in_system_zone(first, here)) {
      (void)volume_.damaged(kNoInode, "blocks of the volume's own were to be freed");
    } else {
      EXT3_TRY(release_in_group(handle, first, here));
    }
    first = BlockNumber(first.value + here);
    count -= here;
  }
  return {};
}

Answer<void> BlockAllocator::release_in_group(Handle& handle, BlockNumber first, std::uint32_t count) {
  const GroupNumber group = volume_.geometry.group_of(first);
  EXT3_ASSIGN(const BufferReference buffer, bitmap(group));
  EXT3_TRY(access(handle, *buffer, group));
  std::byte* const committed = volume_.journal->committed_bits_to_set(*buffer);
  const std::uint32_t begin = volume_.geometry.bit_of(first);
  std::int32_t freed = 0;
  for (std::uint32_t bit = begin; bit < begin + count; ++bit) {
    if (!test_bit(buffer->data, bit)) continue;
    // Also what was taken in this very transaction: it is not given out again before the next.
    if (committed != nullptr) set_bit(committed, bit);
    clear_bit(buffer->data, bit);
    ++freed;
  }
  volume_.journal->dirty_metadata(handle, *buffer);
  volume_.groups.change(*volume_.journal, handle, group, {.free_blocks = freed});
  if (freed != static_cast<std::int32_t>(count)) (void)volume_.damaged(kNoInode, "blocks were to be freed twice");
  return {};
}

void BlockAllocator::drop_window(Inode& inode) {
  if (inode.window != nullptr) windows_.remove(*inode.window);
}

bool BlockAllocator::in_system_zone(BlockNumber first, std::uint32_t count) const {
  const Geometry& geometry = volume_.geometry;
  if (!geometry.plausible(first) || geometry.block_count - first.value < count) return true;
  // Whether a group has copies at its start takes some arithmetic: asked only about blocks that near to it.
  const std::uint32_t longest_copy = 1 + geometry.descriptor_blocks + geometry.reserved_gdt_blocks;
  const std::uint32_t last = geometry.group_of(BlockNumber(first.value + count - 1)).value;
  for (std::uint32_t i = geometry.group_of(first).value; i <= last; ++i) {
    const GroupNumber group(i);
    const GroupDescriptor& own = volume_.groups[group];
    if (ranges_meet(first.value, count, own.inode_table, geometry.inode_table_blocks) ||
        ranges_meet(first.value, count, own.block_bitmap, 1) || ranges_meet(first.value, count, own.inode_bitmap, 1) ||
        (ranges_meet(first.value, count, geometry.group_first(group).value, longest_copy) &&
         geometry.has_backup(group)))
      return true;
  }
  return false;
}

// The group's bitmap; EUCLEAN when it says that the group's own structures are free.
Answer<BufferReference> BlockAllocator::bitmap(GroupNumber group) {
  const BlockNumber block(volume_.groups[group].block_bitmap);
  EXT3_ASSIGN(BufferReference buffer, volume_.cache->read(block, {.cause = BlockCause::kBlockBitmap}));
  if (states_.size() <= group.value) states_.resize(volume_.geometry.group_count, BitmapState::kUnseen);
  if (states_[group.value] == BitmapState::kUnseen) {
    const bool sound = marks_own_blocks(group, buffer->data);
    states_[group.value] = sound ? BitmapState::kSound : BitmapState::kDamaged;
    if (!sound) return volume_.damaged(kNoInode, "a block bitmap says that its group's own structures are free");
  }
  if (states_[group.value] == BitmapState::kDamaged) return refuse(EUCLEAN);
  return buffer;
}

// Write access to the bitmap and to the descriptor at once: waiting for the second may make the first busy again.
Answer<void> BlockAllocator::access(Handle& handle, Buffer& bitmap, GroupNumber group) {
  do {
    EXT3_TRY(volume_.journal->get_undo_access(handle, bitmap));
    EXT3_TRY(volume_.journal->get_write_access(handle, volume_.groups.buffer(group)));
  } while (bitmap.busy);
  return {};
}

bool BlockAllocator::marks_own_blocks(GroupNumber group, const std::byte* bits) const {
  const Geometry& geometry = volume_.geometry;
  const std::uint32_t first = geometry.group_first(group).value;
  const GroupDescriptor& own = volume_.groups[group];
  const auto taken = [&](std::uint32_t begin, std::uint32_t count) {
    return !next_free({.current = bits}, begin, begin + count);
  };
  return taken(0, std::min(geometry.backup_blocks(group), geometry.group_blocks(group))) &&
         taken(own.block_bitmap - first, 1) && taken(own.inode_bitmap - first, 1) &&
         taken(own.inode_table - first, geometry.inode_table_blocks);
}

}  // namespace iotape::ext3
