// The ext3 superblock: 1024 bytes at byte 1024 of the device, little-endian, copied into the groups that
// backup_superblock_in() names. Source: the layout as Linux and e2fsprogs keep it (rev 1, "dynamic").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "format/base/byte_order.h"

namespace iotape::ext3 {

inline constexpr std::uint64_t kSuperblockOffset = 1024;  // bytes
inline constexpr std::uint16_t kSuperblockMagic = 0xEF53;

enum CompatibleFeature : std::uint32_t {
  kFeatureHasJournal = 0x4,
  kFeatureExtAttr = 0x8,
  kFeatureResizeInode = 0x10,
  kFeatureDirIndex = 0x20,
};
enum IncompatibleFeature : std::uint32_t {
  kFeatureFiletype = 0x2,
  kFeatureRecover = 0x4,
  kFeatureJournalDevice = 0x8,
  kFeatureMetaBg = 0x10,
};
enum ReadOnlyFeature : std::uint32_t {
  kFeatureSparseSuper = 0x1,
  kFeatureLargeFile = 0x2,
};
// What this ext3 reads and writes; a mount is refused beyond the first, read-only beyond the second.
inline constexpr std::uint32_t kSupportedIncompatible = kFeatureFiletype | kFeatureRecover;
inline constexpr std::uint32_t kSupportedReadOnly = kFeatureSparseSuper | kFeatureLargeFile;

enum SuperblockState : std::uint16_t { kStateClean = 1, kStateErrors = 2, kStateOrphans = 4 };
enum ErrorPolicy : std::uint16_t { kErrorsContinue = 1, kErrorsReadOnly = 2, kErrorsPanic = 3 };
enum SuperblockFlag : std::uint32_t { kFlagSignedHash = 1, kFlagUnsignedHash = 2, kFlagTestFilesystem = 4 };

struct Superblock {
  le32 inodes_count;
  le32 blocks_count;
  le32 reserved_blocks_count;
  le32 free_blocks_count;  // not kept current by the journal: trusted only after a clean unmount
  le32 free_inodes_count;  // likewise
  le32 first_data_block;   // 1 with 1 KiB blocks, else 0
  le32 log_block_size;     // block size = 1024 << this
  le32 log_fragment_size;
  le32 blocks_per_group;
  le32 fragments_per_group;
  le32 inodes_per_group;
  le32 mount_time;  // seconds since 1970, as all times here
  le32 write_time;
  le16 mount_count;
  le16 max_mount_count;
  le16 magic;
  le16 state;   // SuperblockState
  le16 errors;  // ErrorPolicy
  le16 minor_revision;
  le32 last_check;
  le32 check_interval;
  le32 creator_os;
  le32 revision;  // 1
  le16 default_reserved_user;
  le16 default_reserved_group;
  le32 first_inode;  // 11
  le16 inode_size;   // 128 or 256
  le16 block_group;  // which copy this is
  le32 compatible_features;
  le32 incompatible_features;
  le32 read_only_features;
  std::array<std::uint8_t, 16> uuid;
  std::array<char, 16> volume_name;
  std::array<char, 64> last_mounted;
  le32 algorithm_usage_bitmap;
  std::uint8_t preallocate_blocks;
  std::uint8_t preallocate_directory_blocks;
  le16 reserved_gdt_blocks;
  std::array<std::uint8_t, 16> journal_uuid;
  le32 journal_inode;   // 8
  le32 journal_device;  // 0
  le32 last_orphan;     // head of the list of orphan inodes, chained through InodeRecord::deletion_time
  std::array<le32, 4> hash_seed;
  std::uint8_t default_hash_version;
  std::uint8_t journal_backup_type;  // 1: journal_blocks is valid
  le16 group_descriptor_size;        // 0 here: 32 bytes
  le32 default_mount_options;
  le32 first_meta_bg;
  le32 make_time;
  std::array<le32, 17> journal_blocks;  // the journal inode's block map and size, kept for rescue
  le32 blocks_count_high;
  le32 reserved_blocks_count_high;
  le32 free_blocks_count_high;
  le16 min_extra_inode_size;
  le16 want_extra_inode_size;
  le32 flags;                          // SuperblockFlag
  std::array<std::uint8_t, 668> rest;  // ext4's fields, kept as they are
};
static_assert(sizeof(Superblock) == 1024 && alignof(Superblock) == 1);
static_assert(offsetof(Superblock, magic) == 56 && offsetof(Superblock, first_inode) == 84);
static_assert(offsetof(Superblock, reserved_gdt_blocks) == 206 && offsetof(Superblock, last_orphan) == 232);
static_assert(offsetof(Superblock, hash_seed) == 236 && offsetof(Superblock, journal_blocks) == 268);
static_assert(offsetof(Superblock, flags) == 352);

// With sparse_super the copies live in groups 0, 1 and the powers of 3, 5 and 7; without it in every group.
constexpr bool backup_superblock_in(std::uint32_t group, bool sparse_super) {
  if (!sparse_super || group <= 1) return true;
  for (const std::uint32_t base : {3U, 5U, 7U}) {
    std::uint64_t power = base;
    while (power < group) power *= base;
    if (power == group) return true;
  }
  return false;
}

}  // namespace iotape::ext3
