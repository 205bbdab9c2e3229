// One block group's entry in the descriptor table that follows the superblock. Padding bits beyond the end of a bitmap
// are 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "format/base/byte_order.h"

namespace iotape::ext3 {

inline constexpr std::uint16_t kGroupInodesZeroed = 4;

struct GroupDescriptor {
  le32 block_bitmap;  // block numbers
  le32 inode_bitmap;
  le32 inode_table;
  le16 free_blocks_count;
  le16 free_inodes_count;
  le16 used_directories_count;
  le16 flags;  // ext4's; mke2fs sets kGroupInodesZeroed, nothing here reads it
  std::array<le32, 3> reserved;
};
static_assert(sizeof(GroupDescriptor) == 32 && offsetof(GroupDescriptor, used_directories_count) == 16);

}  // namespace iotape::ext3
