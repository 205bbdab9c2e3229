#include "replayer/ext3/block_path.h"

#include "replayer/ext3/volume.h"

namespace iotape::ext3 {

std::uint32_t pointer_at(const Inode& inode, const BufferReference& indirect, std::uint32_t slot) {
  return indirect ? std::uint32_t{*indirect->at<le32>(std::size_t{slot} * 4)} : inode.block[slot];
}

Answer<Branch> follow(Volume& volume, const Inode& inode, const BlockPath& path) {
  const BlockTag tag{.cause = BlockCause::kIndirect, .inode = inode.number};
  BufferReference indirect;
  for (std::uint32_t level = 0;; ++level) {
    const BlockNumber block(pointer_at(inode, indirect, path.slots[level]));
    if (block != kNoBlock && volume.blocks->in_system_zone(block, 1))
      return volume.damaged(inode.number, "a block pointer leads where no file may have a block");
    if (block == kNoBlock || level + 1 == path.depth) return Branch{level, std::move(indirect), block};
    EXT3_ASSIGN(indirect, volume.cache->read(block, tag));
  }
}

}  // namespace iotape::ext3
