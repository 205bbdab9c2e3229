// Makes a fresh ext3 (or, without a journal, ext2) filesystem on a device: the same sizes, counts and places as
// mke2fs 1.47 with -t ext3 chooses, so that a replay on the one compares with a replay on the other.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "format/base/result.h"
#include "replayer/ext3/device/block_device.h"
#include "replayer/ext3/disk_format/htree_record.h"
#include "replayer/ext3/geometry.h"

namespace iotape::ext3 {

using Uuid = std::array<std::uint8_t, 16>;

struct FilesystemFeatures {
  bool has_journal = true;
  bool dir_index = true;
  bool filetype = true;
  bool sparse_super = true;
  bool large_file = true;    // forced by resize_inode with 4 KiB blocks, whose inode is above 2 GiB
  bool resize_inode = true;  // needs sparse_super
  bool ext_attr = true;
};

struct FilesystemOptions {
  std::uint64_t bytes = 0;            // 0: the whole device
  std::uint32_t block_size = 0;       // 1024, 2048 or 4096; 0: 1024 below 512 MiB, else 4096
  std::uint32_t inode_size = 256;     // 128 or 256
  std::uint32_t inode_count = 0;      // 0: as many as bytes_per_inode gives
  std::uint32_t bytes_per_inode = 0;  // 0: by size, 4 KiB to 64 KiB
  std::uint32_t journal_blocks = 0;   // 0: by size; too small a volume then gets no journal
  std::uint64_t journal_bytes = 0;    // the same in bytes; counts when journal_blocks is 0
  double reserved_percent = 5;        // 0 to 50
  FilesystemFeatures features;
  std::string label;              // at most 16 bytes
  std::optional<Uuid> uuid;       // drawn from the seed when not given, as is the hash seed
  std::optional<Uuid> hash_seed;  // its bytes in the order in which a UUID is written
  HashVersion hash_version = kHashHalfMd4;
  bool signed_hash = true;
  std::int64_t now = 0;  // seconds since 1970: every time on the volume
  std::uint64_t seed = 0;
};

// What was made.
struct MadeFilesystem {
  Geometry geometry;
  std::uint32_t journal_blocks = 0;  // 0: none
  std::uint32_t reserved_blocks = 0;
  std::uint64_t free_blocks = 0;
  std::uint32_t free_inodes = 0;
  FilesystemFeatures features;  // as they came out
  Uuid uuid{};
};

// Errors: kUsage for options that cannot be met (the message says which and what could), kIo when the device fails; it
// then holds no filesystem: the superblock goes first and comes last.
// Everything the filesystem may read is written, so that the device may hold anything before: inode tables and the
// whole journal become zeros (BlockDevice::write_zeros). Free blocks keep what they held.
Result<MadeFilesystem> make_filesystem(BlockDevice& device, const FilesystemOptions& options);

}  // namespace iotape::ext3
