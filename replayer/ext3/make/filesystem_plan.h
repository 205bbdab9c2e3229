// Decides a new filesystem's geometry from what was asked for and the device's size, as mke2fs does.
#pragma once

#include "format/base/result.h"
#include "replayer/ext3/geometry.h"
#include "replayer/ext3/make_filesystem.h"

namespace iotape::ext3 {

struct FilesystemPlan {
  Geometry geometry;
  FilesystemFeatures features;
  std::uint32_t journal_blocks = 0;
  std::uint32_t reserved_blocks = 0;
  std::uint32_t lost_and_found_blocks = 0;

  // What every group sets aside at its start: superblock and descriptor copies, two bitmaps, the inode table.
  [[nodiscard]] std::uint32_t overhead(GroupNumber group) const {
    return geometry.backup_blocks(group) + 2 + geometry.inode_table_blocks;
  }
};

Result<FilesystemPlan> plan_filesystem(const FilesystemOptions& options, std::uint64_t device_bytes);

}  // namespace iotape::ext3
