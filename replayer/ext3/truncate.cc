// Cutting files: truncate and free_all_blocks of block_map.h.
//
// A file may hold more than one transaction can free. So it is cut in steps, each of which takes pointers out of the
// map and gives their blocks back within one transaction, and leaves a file that is whole; between steps the
// transaction may end. The inode is on the orphan list from the first step to the last: should the machine stop, the
// mount goes on. Source of the order: ext3_truncate; first the direct blocks, then the branch that the cut goes through
// and the trees behind it, data before the indirect block that names it.
#include <algorithm>
#include <cstring>

#include "replayer/ext3/block_map.h"
#include "replayer/ext3/block_path.h"
#include "replayer/ext3/large_file.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

// A step frees one run of blocks: in two groups at most, a bitmap and a descriptor each; the block that held the
// pointers; the inode's record.
constexpr std::uint32_t kStepCredits = 2 * BlockAllocator::kCredits + 2;
constexpr std::uint32_t kChunkCredits = 64;  // of a large file at a time
// A map that names a block twice frees it twice. Such damage ends soon; without a limit it could take 2^30 steps.
constexpr std::uint64_t kDamageLimit = 64;

bool journals_data(const Volume& volume, const Inode& inode) {
  return !inode.is_regular() || volume.journal->data_mode() == DataMode::kJournal || inode.has_flag(kInodeJournalData);
}

bool maps_blocks(const Volume& volume, const Inode& inode) {
  const bool mapped = inode.is_regular() || inode.is_directory() ||
                      (inode.is_symlink() && !inode.is_fast_symlink(volume.geometry.block_size));
  return mapped && std::any_of(inode.block.begin(), inode.block.end(), [](std::uint32_t block) { return block != 0; });
}

class Cutter {
 public:
  Cutter(Volume& volume, Inode& inode) : volume_(volume), inode_(inode), damage_before_(volume.damage_count) {}

  // extra: what the caller will spend before cut().
  Answer<void> start(std::uint32_t extra);
  Handle& handle() { return handle_; }
  // Frees every block of the file from `keep` on.
  Answer<void> cut(std::uint64_t keep);
  // Credits for whatever the caller does next; may go on in another transaction.
  Answer<void> reserve(std::uint32_t credits);

 private:
  struct Pointers {  // an indirect block, or the inode's own slots when it is empty
    const BufferReference& indirect;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  Answer<void> cut_data(const Pointers& pointers);
  Answer<void> cut_tree(const BufferReference& indirect, std::uint32_t levels, std::uint64_t keep);
  Answer<void> cut_child(const BufferReference& parent, std::uint32_t slot, std::uint32_t levels, std::uint64_t keep);
  Answer<void> drop(const BufferReference& holder, std::uint32_t slot, std::uint32_t count, bool metadata);
  Answer<void> clear_pointers(const BufferReference& holder, std::uint32_t slot, std::uint32_t count);
  Answer<void> check_damage() const;
  [[nodiscard]] std::uint32_t chunk() const;

  Volume& volume_;
  Inode& inode_;
  std::uint64_t damage_before_;
  Handle handle_;
};

std::uint32_t Cutter::chunk() const {
  const std::uint64_t blocks = inode_.sectors / (volume_.geometry.block_size / 512);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, kChunkCredits)) + kStepCredits;
}

Answer<void> Cutter::start(std::uint32_t extra) {
  EXT3_ASSIGN(handle_, volume_.journal->start(chunk() + extra));
  return {};
}

Answer<void> Cutter::reserve(std::uint32_t credits) {
  if (handle_.credits() >= credits) return {};
  const std::uint32_t more = std::max(credits, chunk());
  if (volume_.journal->extend(handle_, more)) return {};
  EXT3_TRY(volume_.inodes->write(handle_, inode_));  // one of the credits that every step leaves
  return volume_.journal->restart(handle_, more);
}

Answer<void> Cutter::cut(std::uint64_t keep) {
  const std::uint64_t pointers = volume_.geometry.pointers_per_block();
  const BufferReference inode;
  if (keep < kDirectBlocks) EXT3_TRY(cut_data({inode, static_cast<std::uint32_t>(keep), kDirectBlocks}));
  std::uint64_t first = kDirectBlocks;  // file block that the tree begins with
  std::uint64_t span = pointers;
  for (std::uint32_t levels = 1; levels <= 3; ++levels, first += span, span *= pointers) {
    if (keep >= first + span) continue;
    EXT3_TRY(cut_child(inode, kDirectBlocks + levels - 1, levels, keep > first ? keep - first : 0));
  }
  return {};
}

// The pointers to file blocks among [begin, end), a run of neighbours at a time.
Answer<void> Cutter::cut_data(const Pointers& pointers) {
  for (std::uint32_t slot = pointers.begin; slot < pointers.end;) {
    const std::uint32_t first = pointer_at(inode_, pointers.indirect, slot);
    if (first == 0) {
      ++slot;
      continue;
    }
    std::uint32_t count = 1;
    while (slot + count < pointers.end && pointer_at(inode_, pointers.indirect, slot + count) == first + count) ++count;
    EXT3_TRY(drop(pointers.indirect, slot, count, journals_data(volume_, inode_)));
    slot += count;
  }
  return {};
}

// Under an indirect block of so many levels: everything but the first `keep` file blocks.
Answer<void> Cutter::cut_tree(const BufferReference& indirect, std::uint32_t levels, std::uint64_t keep) {
  const std::uint32_t pointers = volume_.geometry.pointers_per_block();
  if (levels == 1) return cut_data({indirect, static_cast<std::uint32_t>(keep), pointers});
  const std::uint64_t span = blocks_under(levels, 0, pointers);
  const auto first = static_cast<std::uint32_t>(keep / span);
  for (std::uint32_t slot = pointers; slot-- > first;)
    EXT3_TRY(cut_child(indirect, slot, levels - 1, slot == first ? keep % span : 0));
  return {};
}

bool holds_nothing(const Volume& volume, const Buffer& indirect) {
  const std::byte* const begin = indirect.data;
  const std::byte* const end = begin + volume.geometry.block_size;
  return std::all_of(begin, end, [](std::byte byte) { return byte == std::byte{}; });
}

// The tree under one pointer; the pointer's own block too when nothing is left in it: of what is kept, all may be hole.
Answer<void> Cutter::cut_child(const BufferReference& parent, std::uint32_t slot, std::uint32_t levels,
                               std::uint64_t keep) {
  const BlockNumber block(pointer_at(inode_, parent, slot));
  if (block == kNoBlock) return {};
  bool empty = keep == 0;
  if (!volume_.blocks->in_system_zone(block, 1)) {
    const BlockTag tag{.cause = BlockCause::kIndirect, .inode = inode_.number};
    EXT3_ASSIGN(const BufferReference child, volume_.cache->read(block, tag));
    EXT3_TRY(cut_tree(child, levels, keep));
    empty = empty || holds_nothing(volume_, *child);
  }
  return empty ? drop(parent, slot, 1, true) : Answer<void>{};
}

// One step: the pointers go and the blocks are free, in one transaction.
Answer<void> Cutter::drop(const BufferReference& holder, std::uint32_t slot, std::uint32_t count, bool metadata) {
  EXT3_TRY(reserve(kStepCredits));
  const BlockNumber first(pointer_at(inode_, holder, slot));
  if (first == kNoBlock) return {};  // a map that leads in a circle was here before
  if (volume_.blocks->in_system_zone(first, count)) {
    (void)volume_.damaged(inode_.number, "a block pointer leads where no file may have a block");
    EXT3_TRY(clear_pointers(holder, slot, count));
    return check_damage();
  }
  for (std::uint32_t i = 0; i < count; ++i)
    EXT3_TRY(volume_.journal->forget(handle_, BlockNumber(first.value + i), metadata));
  EXT3_TRY(clear_pointers(holder, slot, count));
  const std::uint64_t sectors = std::uint64_t{count} * (volume_.geometry.block_size / 512);
  inode_.sectors -= std::min(sectors, inode_.sectors);
  EXT3_TRY(volume_.blocks->release(handle_, first, count));
  return check_damage();
}

Answer<void> Cutter::clear_pointers(const BufferReference& holder, std::uint32_t slot, std::uint32_t count) {
  if (!holder) {
    std::fill_n(inode_.block.begin() + slot, count, 0U);
    return {};
  }
  EXT3_TRY(volume_.journal->get_write_access(handle_, *holder));
  std::memset(holder->data + std::size_t{slot} * 4, 0, std::size_t{count} * 4);
  volume_.journal->dirty_metadata(handle_, *holder);
  return {};
}

Answer<void> Cutter::check_damage() const {
  return volume_.damage_count - damage_before_ > kDamageLimit ? Answer<void>(refuse(EUCLEAN)) : Answer<void>{};
}

// The block that holds the byte at `size`, when bytes of it lie before.
Answer<BufferReference> read_tail(Volume& volume, Inode& inode, std::uint64_t size) {
  const std::uint32_t block_size = volume.geometry.block_size;
  if (size % block_size == 0) return BufferReference();
  const FileBlock file_block(static_cast<std::uint32_t>(size / block_size));
  EXT3_ASSIGN(const BlockNumber block, map_block(volume, inode, file_block));
  if (block == kNoBlock) return BufferReference();
  return volume.cache->read(block, {BlockCause::kData, inode.number, file_block, volume.host.thread()});
}

// What lies behind a file's end must read as zeros when the file grows again. One credit when data is journaled.
Answer<void> zero_tail(Volume& volume, Handle& handle, const Inode& inode, Buffer& buffer, std::uint64_t size) {
  const std::size_t kept = size % volume.geometry.block_size;
  const bool journaled = journals_data(volume, inode);
  if (journaled) EXT3_TRY(volume.journal->get_write_access(handle, buffer));
  if (!journaled) volume.cache->wait_idle(buffer);
  std::memset(buffer.data + kept, 0, volume.geometry.block_size - kept);
  if (!journaled || volume.journal->data_mode() == DataMode::kJournal)
    return volume.journal->dirty_data(handle, buffer);
  volume.journal->dirty_metadata(handle, buffer);
  return {};
}

void set_size(const Volume& volume, Inode& inode, std::uint64_t size) {
  inode.size = size;
  inode.modification_time = inode.change_time = volume.storable_now();
}

// No block lies behind the new end.
Answer<void> resize(Volume& volume, Inode& inode, std::uint64_t size) {
  EXT3_ASSIGN(const BufferReference tail, read_tail(volume, inode, std::min(size, inode.size)));
  EXT3_ASSIGN(Handle handle, volume.journal->start(tail ? 2 : 1));
  if (tail) EXT3_TRY(zero_tail(volume, handle, inode, *tail, std::min(size, inode.size)));
  set_size(volume, inode, size);
  EXT3_TRY(volume.inodes->write(handle, inode));
  return handle.stop();
}

void forget_places(Volume& volume, Inode& inode) {
  volume.blocks->drop_window(inode);
  inode.block_cache.clear();
}

// The record must say what the map says, also when a step failed.
Answer<void> write_after(Volume& volume, Cutter& cutter, Inode& inode, Answer<void> done) {
  const auto written = volume.inodes->write(cutter.handle(), inode);
  return done ? written : done;
}

}  // namespace

Answer<void> truncate(Volume& volume, Inode& inode, std::uint64_t size) {
  const std::uint32_t block_size = volume.geometry.block_size;
  if (size > volume.geometry.largest_file()) return refuse(EFBIG);
  EXT3_TRY(allow_file_size(volume, size));
  if (size > inode.size || !maps_blocks(volume, inode)) return resize(volume, inode, size);
  forget_places(volume, inode);
  EXT3_ASSIGN(const BufferReference tail, read_tail(volume, inode, size));
  Cutter cutter(volume, inode);
  EXT3_TRY(cutter.start(1 + OrphanList::kCredits));
  if (tail) EXT3_TRY(zero_tail(volume, cutter.handle(), inode, *tail, size));
  EXT3_TRY(volume.orphans.add(volume, cutter.handle(), inode));
  set_size(volume, inode, size);
  EXT3_TRY(volume.inodes->write(cutter.handle(), inode));
  EXT3_TRY(write_after(volume, cutter, inode, cutter.cut((size + block_size - 1) / block_size)));
  if (inode.links != 0) {
    EXT3_TRY(cutter.reserve(OrphanList::kCredits));
    EXT3_TRY(volume.orphans.remove(volume, cutter.handle(), inode));
  }
  return cutter.handle().stop();
}

Answer<void> free_all_blocks(Volume& volume, Inode& inode) {
  if (!maps_blocks(volume, inode)) return {};
  forget_places(volume, inode);
  Cutter cutter(volume, inode);
  EXT3_TRY(cutter.start(0));
  inode.size = 0;
  EXT3_TRY(write_after(volume, cutter, inode, cutter.cut(0)));
  return cutter.handle().stop();
}

}  // namespace iotape::ext3
