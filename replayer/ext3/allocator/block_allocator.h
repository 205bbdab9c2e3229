// BlockAllocator: which block a file gets, and giving blocks back.
//
// The search is ext3's: the goal's group from the goal on, then the other groups in order; with a reservation window
// for regular files (block_search.h). A block freed in a transaction that has not committed is not given out
// (Journal::committed_bits); when only such blocks are left the caller is told ENOSPC and commits and tries again (see
// retry_allocation in operations). Blocks kept for the superuser are refused to others. Cost does not grow with the
// blocks in use: full groups are skipped by GroupTable::with_free_blocks, and a group's bitmap is searched a word at a
// time.
// Source: ext3_new_blocks of Linux 2.6.10 to 2.6.39.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "replayer/ext3/allocator/reservation.h"
#include "replayer/ext3/cache/buffer.h"
#include "replayer/ext3/journal/journal.h"
#include "replayer/ext3/types.h"

namespace iotape::ext3 {

struct Volume;
struct Inode;

class BlockAllocator {
 public:
  // Credits of allocate: a bitmap and a descriptor block. free: as many per group touched.
  static constexpr std::uint32_t kCredits = 2;

  explicit BlockAllocator(Volume& volume) : volume_(volume) {}
  BlockAllocator(const BlockAllocator&) = delete;
  BlockAllocator& operator=(const BlockAllocator&) = delete;
  ~BlockAllocator() = default;

  // One block for the inode, near the goal. Counts it in the group's descriptor, not in the inode. ENOSPC. May wait.
  Answer<BlockNumber> allocate(Handle& handle, Inode& inode, BlockNumber goal, bool privileged);
  // Takes the blocks that follow `last`, one after the other, for as long as allocate(), with each one's successor as
  // the goal, would give just that; at most `most`. What it would give elsewhere is left to it. How many were taken.
  // REQUIRES: the handle that allocated `last` for this inode. May wait.
  Answer<std::uint32_t> extend(Handle& handle, Inode& inode, BlockNumber last, std::uint32_t most, bool privileged);
  // Gives back count consecutive blocks. The caller has told the journal (Journal::forget). Blocks that are free
  // already, or part of the volume's own structures, are damage: counted, left alone. May wait.
  Answer<void> release(Handle& handle, BlockNumber first, std::uint32_t count);
  // Lets go of an inode's reservation window: at its last close and before it is cut.
  void drop_window(Inode& inode);
  // Whether a block of the range belongs to the volume itself (copies of the superblock and descriptors, bitmaps, inode
  // tables) or lies outside it: no file may hold or free it. REQUIRES: count is 1 or more.
  [[nodiscard]] bool in_system_zone(BlockNumber first, std::uint32_t count) const;

 private:
  enum class BitmapState : std::uint8_t { kUnseen, kSound, kDamaged };
  struct Wish {
    Inode& inode;
    BlockNumber goal;
    ReservationWindow* window = nullptr;
  };
  [[nodiscard]] std::uint64_t room(bool privileged) const;
  Answer<BlockNumber> search_all(Handle& handle, const Wish& wish);
  Answer<std::optional<BlockNumber>> try_group(Handle& handle, const Wish& wish, GroupNumber group,
                                               std::optional<std::uint32_t> goal);
  Answer<void> release_in_group(Handle& handle, BlockNumber first, std::uint32_t count);
  Answer<BufferReference> bitmap(GroupNumber group);
  Answer<void> access(Handle& handle, Buffer& bitmap, GroupNumber group);
  [[nodiscard]] bool marks_own_blocks(GroupNumber group, const std::byte* bits) const;

  Volume& volume_;
  ReservationWindows windows_;
  std::vector<BitmapState> states_;  // by group: what its bitmap was when it was first seen
};

}  // namespace iotape::ext3
