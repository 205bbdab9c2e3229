// Where a new filesystem's first files lie: the root directory, lost+found, the resize inode, the journal; in this
// order, from the first free block on, as mke2fs puts them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "format/base/result.h"
#include "replayer/ext3/disk_format/inode_record.h"
#include "replayer/ext3/make/filesystem_plan.h"

namespace iotape::ext3 {

struct BlockExtent {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

struct PointerBlock {
  BlockNumber block;
  InodeNumber inode;
  std::vector<std::uint32_t> pointers;
};

struct FilesystemLayout {
  BlockNumber root;
  std::array<std::uint32_t, kBlockSlots> lost_and_found{};
  std::array<std::uint32_t, kBlockSlots> resize{};
  std::uint32_t resize_blocks = 0;  // that count for the resize inode
  std::array<std::uint32_t, kBlockSlots> journal{};
  std::uint32_t journal_inode_blocks = 0;    // data and indirect
  std::vector<BlockExtent> journal_data;     // in the order of the journal's blocks
  std::vector<PointerBlock> pointer_blocks;  // indirect blocks of both
  std::vector<BlockExtent> used;             // all of the above, ascending, beside the groups' overhead
};

// An error when the blocks do not do.
Result<FilesystemLayout> lay_out(const FilesystemPlan& plan);

}  // namespace iotape::ext3
