#include "replayer/ext3/block_map.h"

#include <algorithm>

#include "replayer/ext3/block_path.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

// A damaged directory may claim a block at any distance: the cache grows with what was met before it.
constexpr std::size_t kBlockCacheSlack = 64;

BlockNumber cached_block(const Inode& inode, FileBlock file_block) {
  return file_block.value < inode.block_cache.size() ? BlockNumber(inode.block_cache[file_block.value]) : kNoBlock;
}

void cache_block(Inode& inode, FileBlock file_block, BlockNumber block) {
  if (!inode.is_directory() || block == kNoBlock) return;
  auto& known = inode.block_cache;
  if (file_block.value >= known.size()) {
    if (file_block.value > known.size() * 2 + kBlockCacheSlack) return;
    known.resize(std::size_t{file_block.value} + 1);
  }
  known[file_block.value] = block.value;
}

Answer<BlockPath> path_to(const Volume& volume, FileBlock file_block) {
  const auto path = block_path(file_block, volume.geometry.pointers_per_block());
  if (!path) return refuse(EFBIG);
  return *path;
}

// Where a block of the file would best lie (ext3_find_goal). REQUIRES: branch ended at a zero pointer.
BlockNumber choose_goal(const Volume& volume, const Inode& inode, const BlockPath& path, const Branch& branch,
                        FileBlock file_block) {
  if (inode.is_regular() && inode.last_block != kNoBlock && file_block.value == inode.last_file_block.value + 1)
    return BlockNumber(inode.last_block.value + 1);
  for (std::uint32_t slot = path.slots[branch.level]; slot-- > 0;)
    if (const std::uint32_t left = pointer_at(inode, branch.indirect, slot); left != 0) return BlockNumber(left);
  if (branch.indirect) return branch.indirect->block;
  // Threads that write to files of one group begin in different parts of it.
  const Geometry& geometry = volume.geometry;
  const std::uint32_t colour = volume.host.thread() % 16 * (geometry.blocks_per_group / 16);
  return BlockNumber(geometry.group_first(geometry.group_of(inode.number)).value + colour);
}

// The blocks that a branch lacks: indirect blocks from the top down, then the file's own.
struct NewBlocks {
  std::array<BlockNumber, 4> block;
  std::uint32_t count = 0;
};

// Gives back what a failed allocation took; what else goes wrong cannot be told any more.
void give_back(Volume& volume, Handle& handle, const NewBlocks& blocks) {
  for (std::uint32_t i = 0; i < blocks.count; ++i) {
    (void)volume.journal->forget(handle, blocks.block[i], true);
    (void)volume.blocks->release(handle, blocks.block[i], 1);
  }
}

Answer<void> allocate_blocks(Volume& volume, Handle& handle, Inode& inode, BlockNumber goal, bool privileged,
                             std::uint32_t count, NewBlocks& blocks) {
  while (blocks.count < count) {
    EXT3_ASSIGN(const BlockNumber block, volume.blocks->allocate(handle, inode, goal, privileged));
    blocks.block[blocks.count++] = block;
    goal = BlockNumber(block.value + 1);
  }
  return {};
}

// Fills the new indirect blocks: each points to the next.
Answer<void> build_branch(Volume& volume, Handle& handle, const Inode& inode, const BlockPath& path,
                          std::uint32_t level, const NewBlocks& blocks) {
  const BlockTag tag{.cause = BlockCause::kIndirect, .inode = inode.number, .dirtier = volume.host.thread()};
  for (std::uint32_t i = 0; i + 1 < blocks.count; ++i) {
    EXT3_ASSIGN(const BufferReference indirect, volume.cache->get_zeroed(blocks.block[i], tag));
    EXT3_TRY(volume.journal->get_create_access(handle, *indirect));
    *indirect->at<le32>(std::size_t{path.slots[level + i + 1]} * 4) = blocks.block[i + 1].value;
    volume.journal->dirty_metadata(handle, *indirect);
  }
  return {};
}

// Hangs the new branch into the map.
Answer<void> splice(Volume& volume, Handle& handle, Inode& inode, const BlockPath& path, const Branch& branch,
                    BlockNumber top) {
  const std::uint32_t slot = path.slots[branch.level];
  if (!branch.indirect) {
    inode.block[slot] = top.value;
    return {};
  }
  EXT3_TRY(volume.journal->get_write_access(handle, *branch.indirect));
  *branch.indirect->at<le32>(std::size_t{slot} * 4) = top.value;
  branch.indirect->tag.dirtier = volume.host.thread();
  volume.journal->dirty_metadata(handle, *branch.indirect);
  return {};
}

Answer<void> grow_branch(Volume& volume, Handle& handle, Inode& inode, const BlockPath& path, const Branch& branch,
                         const NewBlocks& blocks) {
  EXT3_TRY(build_branch(volume, handle, inode, path, branch.level, blocks));
  return splice(volume, handle, inode, path, branch, blocks.block[0]);
}

// How many pointers from a slot on go on from the first one: consecutive blocks, or holes.
std::uint32_t run_length(const Volume& volume, const Inode& inode, const BufferReference& indirect, std::uint32_t slot,
                         std::uint32_t limit) {
  const std::uint32_t end = indirect ? volume.geometry.pointers_per_block() : kDirectBlocks;
  const std::uint32_t first = pointer_at(inode, indirect, slot);
  std::uint32_t count = 1;
  while (count < limit && slot + count < end &&
         pointer_at(inode, indirect, slot + count) == (first == 0 ? 0 : first + count))
    ++count;
  return count;
}

// Goes on from a block that was just allocated at the path's end: as many of its successors, in the file and on the
// device, as are holes and free. Regular files alone: what else is written grows by a block at a time.
Answer<std::uint32_t> grow_run(Volume& volume, Handle& handle, Inode& inode, const BlockPath& path, BlockNumber first,
                               std::uint32_t most, bool privileged) {
  EXT3_ASSIGN(const Branch branch, follow(volume, inode, path));
  const std::uint32_t slot = path.slots[path.depth - 1] + 1;
  const std::uint32_t end = branch.indirect ? volume.geometry.pointers_per_block() : kDirectBlocks;
  std::uint32_t holes = 0;
  while (holes < most && slot + holes < end && pointer_at(inode, branch.indirect, slot + holes) == 0) ++holes;
  if (holes == 0) return 0;
  EXT3_ASSIGN(const std::uint32_t taken, volume.blocks->extend(handle, inode, first, holes, privileged));
  if (taken != 0 && branch.indirect) EXT3_TRY(volume.journal->get_write_access(handle, *branch.indirect));
  for (std::uint32_t i = 0; i < taken; ++i) {
    if (branch.indirect)
      *branch.indirect->at<le32>(std::size_t{slot + i} * 4) = first.value + 1 + i;
    else
      inode.block[slot + i] = first.value + 1 + i;
  }
  if (taken != 0 && branch.indirect) volume.journal->dirty_metadata(handle, *branch.indirect);
  return taken;
}

}  // namespace

Answer<BlockNumber> map_block(Volume& volume, Inode& inode, FileBlock file_block) {
  if (const BlockNumber known = cached_block(inode, file_block); known != kNoBlock) return known;
  EXT3_ASSIGN(const BlockPath path, path_to(volume, file_block));
  EXT3_ASSIGN(const Branch branch, follow(volume, inode, path));
  cache_block(inode, file_block, branch.block);
  return branch.block;
}

Answer<BlockRun> map_run(Volume& volume, Inode& inode, FileBlock file_block, std::uint32_t limit) {
  const std::uint32_t pointers = volume.geometry.pointers_per_block();
  EXT3_ASSIGN(const BlockPath path, path_to(volume, file_block));
  EXT3_ASSIGN(const Branch branch, follow(volume, inode, path));
  if (branch.level + 1 < path.depth) {  // a hole as wide as what the missing indirect block would map, from here on
    std::uint64_t left = blocks_under(path.depth, branch.level, pointers);
    for (std::uint32_t level = branch.level + 1; level < path.depth; ++level)
      left -= path.slots[level] * blocks_under(path.depth, level, pointers);
    return BlockRun{kNoBlock, static_cast<std::uint32_t>(std::min<std::uint64_t>(left, limit))};
  }
  BlockRun run{branch.block, run_length(volume, inode, branch.indirect, path.slots[branch.level], limit)};
  if (run.first != kNoBlock && volume.blocks->in_system_zone(run.first, run.count))
    return volume.damaged(inode.number, "a block pointer leads where no file may have a block");
  return run;
}

std::uint32_t map_credits(const Volume& volume) {
  // Up to three indirect blocks and the file's own may lie in four groups; and the indirect block that was there.
  constexpr std::uint32_t kBlocks = 4;
  return std::min(kBlocks, volume.geometry.group_count) + std::min(kBlocks, volume.geometry.descriptor_blocks) +
         (kBlocks - 1) + 1;
}

Answer<MappedBlock> map_or_allocate(Volume& volume, Handle& handle, Inode& inode, FileBlock file_block,
                                    bool privileged) {
  if (const BlockNumber known = cached_block(inode, file_block); known != kNoBlock) return MappedBlock{known, false};
  EXT3_ASSIGN(const MappedRun run, map_or_allocate_run(volume, handle, inode, file_block, 1, privileged));
  cache_block(inode, file_block, run.first);
  return MappedBlock{run.first, run.fresh};
}

Answer<MappedRun> map_or_allocate_run(Volume& volume, Handle& handle, Inode& inode, FileBlock file_block,
                                      std::uint32_t limit, bool privileged) {
  EXT3_ASSIGN(const BlockPath path, path_to(volume, file_block));
  EXT3_ASSIGN(const Branch branch, follow(volume, inode, path));
  if (branch.block != kNoBlock) {
    const MappedRun old{branch.block, run_length(volume, inode, branch.indirect, path.slots[branch.level], limit)};
    if (old.count > 1 && volume.blocks->in_system_zone(old.first, old.count))
      return volume.damaged(inode.number, "a block pointer leads where no file may have a block");
    return old;
  }
  const std::uint32_t block_size = volume.geometry.block_size;
  // Short of this the inode's count of sectors cannot run over.
  if (path.depth == 4 && std::uint64_t{file_block.value} * block_size >= volume.geometry.largest_file())
    return refuse(EFBIG);

  NewBlocks blocks;
  const BlockNumber goal = choose_goal(volume, inode, path, branch, file_block);
  auto done = allocate_blocks(volume, handle, inode, goal, privileged, path.depth - branch.level, blocks);
  if (done) done = grow_branch(volume, handle, inode, path, branch, blocks);
  if (!done) {
    give_back(volume, handle, blocks);
    return tl::make_unexpected(done.error());
  }
  const BlockNumber first = blocks.block[blocks.count - 1];
  // What goes wrong in growing comes back with the next block.
  const std::uint32_t more =
      limit > 1 ? grow_run(volume, handle, inode, path, first, limit - 1, privileged).value_or(0) : 0;
  inode.sectors += std::uint64_t{blocks.count + more} * (block_size / 512);
  inode.last_file_block = FileBlock(file_block.value + more);
  inode.last_block = BlockNumber(first.value + more);
  EXT3_TRY(volume.inodes->write(handle, inode));
  return MappedRun{first, more + 1, true};
}

}  // namespace iotape::ext3
