// An inode as it lies in the inode table: 128 bytes, or 256 whose second half holds extra_size bytes of finer times and
// then extended attributes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "format/base/byte_order.h"

namespace iotape::ext3 {

inline constexpr std::uint32_t kDirectBlocks = 12;
inline constexpr std::uint32_t kIndirectSlot = 12;
inline constexpr std::uint32_t kDoubleIndirectSlot = 13;
inline constexpr std::uint32_t kTripleIndirectSlot = 14;
inline constexpr std::uint32_t kBlockSlots = 15;
inline constexpr std::uint32_t kFastSymlinkLimit = kBlockSlots * 4;  // a shorter target lives in InodeRecord::block

enum InodeFlag : std::uint32_t {
  kInodeSecureRemove = 0x1,
  kInodeUndelete = 0x2,
  kInodeCompressed = 0x4,
  kInodeSync = 0x8,
  kInodeImmutable = 0x10,
  kInodeAppendOnly = 0x20,
  kInodeNoDump = 0x40,
  kInodeNoAccessTime = 0x80,
  kInodeIndex = 0x1000,  // an htree directory
  kInodeJournalData = 0x4000,
  kInodeNoTail = 0x8000,
  kInodeDirectorySync = 0x10000,
  kInodeTopDirectory = 0x20000,  // Orlov spreads its subdirectories
};
// What a new inode takes over from its directory; the last two not for files that are not directories.
inline constexpr std::uint32_t kInheritedInodeFlags = kInodeSecureRemove | kInodeUndelete | kInodeCompressed |
                                                      kInodeSync | kInodeNoDump | kInodeNoAccessTime |
                                                      kInodeJournalData | kInodeNoTail | kInodeDirectorySync;

struct InodeRecord {
  le16 mode;  // S_IFMT and permission bits
  le16 user_low;
  le32 size_low;
  le32 access_time;  // seconds since 1970, signed
  le32 change_time;
  le32 modification_time;
  le32 deletion_time;  // while on the orphan list: the next orphan's number
  le16 group_low;
  le16 links_count;
  le32 sectors_count;  // 512-byte sectors, mapping and attribute blocks included
  le32 flags;          // InodeFlag
  le32 reserved1;
  std::array<le32, kBlockSlots> block;
  le32 generation;
  le32 attribute_block;  // extended attributes, or 0
  le32 size_high;        // regular files only
  le32 fragment_address;
  le16 blocks_high;
  le16 attribute_block_high;
  le16 user_high;
  le16 group_high;
  le16 checksum_low;
  le16 reserved2;
};
static_assert(sizeof(InodeRecord) == 128 && offsetof(InodeRecord, block) == 40);
static_assert(offsetof(InodeRecord, generation) == 100 && offsetof(InodeRecord, user_high) == 120);

// What follows in a record of 256 bytes. A time's extra word: nanoseconds << 2 | the two bits above the seconds' 32.
struct InodeRecordExtra {
  le16 extra_size;  // bytes of this struct in use, from here; 32 as today's tools make it
  le16 checksum_high;
  le32 change_time_extra;
  le32 modification_time_extra;
  le32 access_time_extra;
  le32 creation_time;
  le32 creation_time_extra;
  le32 version_high;
  le32 project;
};
static_assert(sizeof(InodeRecordExtra) == 32);

}  // namespace iotape::ext3
