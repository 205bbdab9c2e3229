// BlockPath: by which pointers a file's block is reached; and Branch, how far they lead.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "replayer/ext3/cache/buffer.h"
#include "replayer/ext3/disk_format/inode_record.h"
#include "replayer/ext3/types.h"

namespace iotape::ext3 {

struct Volume;
struct Inode;

struct BlockPath {
  std::uint32_t depth = 0;               // pointers to follow, 1 to 4
  std::array<std::uint32_t, 4> slots{};  // the first in Inode::block, the others in indirect blocks
};

// nullopt: beyond what the map reaches. pointers: Geometry::pointers_per_block.
constexpr std::optional<BlockPath> block_path(FileBlock file_block, std::uint32_t pointers) {
  std::uint64_t rest = file_block.value;
  if (rest < kDirectBlocks) return BlockPath{1, {file_block.value}};
  rest -= kDirectBlocks;
  std::uint64_t span = pointers;  // file blocks under a root
  for (std::uint32_t levels = 1; levels <= 3; ++levels, span *= pointers) {
    if (rest >= span) {
      rest -= span;
      continue;
    }
    BlockPath path{levels + 1, {kDirectBlocks + levels - 1}};
    for (std::uint32_t i = levels; i >= 1; --i, rest /= pointers)
      path.slots[i] = static_cast<std::uint32_t>(rest % pointers);
    return path;
  }
  return std::nullopt;
}

// File blocks under one pointer of a path's level (0: in the inode).
constexpr std::uint64_t blocks_under(std::uint32_t depth, std::uint32_t level, std::uint32_t pointers) {
  std::uint64_t span = 1;
  for (std::uint32_t i = level + 1; i < depth; ++i) span *= pointers;
  return span;
}

// Where following a path ended: at its last pointer, or at the first that is zero.
struct Branch {
  std::uint32_t level = 0;   // of that pointer in the path
  BufferReference indirect;  // the block that it lies in; empty: the inode
  BlockNumber block;         // its value
};

// EUCLEAN for a pointer that leaves the volume or points at the volume's own structures. May wait.
Answer<Branch> follow(Volume& volume, const Inode& inode, const BlockPath& path);

// The pointer in a given slot of an indirect block, or of the inode when it is empty.
std::uint32_t pointer_at(const Inode& inode, const BufferReference& indirect, std::uint32_t slot);

}  // namespace iotape::ext3
