// Geometry: where things lie on one volume, computed once from its superblock.
#pragma once

#include <cstdint>

#include "format/base/result.h"
#include "replayer/ext3/disk_format/superblock.h"
#include "replayer/ext3/types.h"

namespace iotape::ext3 {

struct Geometry {
  std::uint32_t block_size = 4096;
  std::uint32_t block_count = 0;
  std::uint32_t first_data_block = 0;
  std::uint32_t blocks_per_group = 0;
  std::uint32_t inodes_per_group = 0;
  std::uint32_t inode_size = 128;
  std::uint32_t inode_count = 0;
  std::uint32_t group_count = 0;
  std::uint32_t inode_table_blocks = 0;  // per group
  std::uint32_t descriptor_blocks = 0;
  std::uint32_t reserved_gdt_blocks = 0;
  std::uint32_t first_inode = 11;
  bool sparse_super = true;

  [[nodiscard]] std::uint32_t inodes_per_block() const { return block_size / inode_size; }
  [[nodiscard]] std::uint32_t pointers_per_block() const { return block_size / 4; }
  [[nodiscard]] std::uint32_t descriptors_per_block() const { return block_size / 32; }
  [[nodiscard]] BlockNumber group_first(GroupNumber group) const {
    return BlockNumber(first_data_block + group.value * blocks_per_group);
  }
  // Blocks of a group; the last one may be shorter.
  [[nodiscard]] std::uint32_t group_blocks(GroupNumber group) const {
    const std::uint32_t first = group_first(group).value;
    return block_count - first < blocks_per_group ? block_count - first : blocks_per_group;
  }
  [[nodiscard]] GroupNumber group_of(BlockNumber block) const {
    return GroupNumber((block.value - first_data_block) / blocks_per_group);
  }
  [[nodiscard]] std::uint32_t bit_of(BlockNumber block) const {
    return (block.value - first_data_block) % blocks_per_group;
  }
  [[nodiscard]] GroupNumber group_of(InodeNumber inode) const {
    return GroupNumber((inode.value - 1) / inodes_per_group);
  }
  [[nodiscard]] std::uint32_t bit_of(InodeNumber inode) const { return (inode.value - 1) % inodes_per_group; }
  [[nodiscard]] InodeNumber inode_at(GroupNumber group, std::uint32_t bit) const {
    return InodeNumber(group.value * inodes_per_group + bit + 1);
  }
  [[nodiscard]] bool has_backup(GroupNumber group) const { return backup_superblock_in(group.value, sparse_super); }
  // Superblock copy, descriptors and reserved descriptor blocks at a group's start.
  [[nodiscard]] std::uint32_t backup_blocks(GroupNumber group) const {
    return has_backup(group) ? 1 + descriptor_blocks + reserved_gdt_blocks : 0;
  }
  // Where the primary descriptor table begins.
  [[nodiscard]] BlockNumber descriptor_table() const { return BlockNumber(first_data_block + 1); }
  // A block that may hold a file's data or metadata: within the device, beyond the superblock.
  [[nodiscard]] bool plausible(BlockNumber block) const {
    return block.value > first_data_block && block.value < block_count;
  }
  // Greatest size of a regular file in bytes: what the block map reaches, and what the sector count of an inode can
  // count, whichever is less.
  [[nodiscard]] std::uint64_t largest_file() const;
};

// Checks everything that later arithmetic relies on (an image is untrusted). Does not look at features.
// device_bytes: the device must hold every block.
Result<Geometry> read_geometry(const Superblock& superblock, std::uint64_t device_bytes);

}  // namespace iotape::ext3
