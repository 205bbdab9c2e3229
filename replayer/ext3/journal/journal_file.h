// JournalFile: where on the device the blocks of the journal's inode lie, and its superblock.
//
// Found from the inode table alone, before anything is mounted or cached: a replay may change every other block.
#pragma once

#include <cstdint>
#include <vector>

#include "format/base/result.h"
#include "replayer/ext3/device/block_device.h"
#include "replayer/ext3/disk_format/inode_record.h"
#include "replayer/ext3/disk_format/journal_record.h"
#include "replayer/ext3/geometry.h"

namespace iotape::ext3 {

struct JournalFile {
  std::vector<BlockNumber> blocks;  // by block of the log; [0] is the superblock
  JournalSuperblock superblock;
  std::uint32_t block_size = 0;

  [[nodiscard]] std::uint32_t length() const { return static_cast<std::uint32_t>(blocks.size()); }
  // The block after this one, going round.
  [[nodiscard]] std::uint32_t next(std::uint32_t log_block) const {
    return log_block + 1 >= superblock.max_length ? static_cast<std::uint32_t>(superblock.first) : log_block + 1;
  }
};

// Every block checked: inside the device, none twice; the superblock's figures fit the file.
Result<JournalFile> read_journal_file(BlockDevice& device, const Geometry& geometry, InodeNumber inode);

// One block or a few, past any cache.
Answer<void> read_raw(BlockDevice& device, BlockNumber block, std::uint32_t block_size, std::byte* data,
                      BlockCause cause);
Answer<void> write_raw(BlockDevice& device, BlockNumber block, std::uint32_t block_size, std::byte* data,
                       BlockCause cause);
Answer<void> write_journal_superblock(BlockDevice& device, JournalFile& journal);

}  // namespace iotape::ext3
