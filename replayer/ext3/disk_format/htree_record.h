// The index of an htree directory. Logical block 0 is the root: "." and ".." as ordinary entries, ".." covering the
// rest of the block, then HtreeRootInfo at byte 24 and the entries at byte 32. An inner node is a block of one free
// directory entry with the entries at byte 8. Entry 0 has no hash: its place holds {limit, count}.
// Source: Phillips, "A Directory Index for Ext2" (2001), and the layout as Linux keeps it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/base/byte_order.h"

namespace iotape::ext3 {

enum HashVersion : std::uint8_t { kHashLegacy = 0, kHashHalfMd4 = 1, kHashTea = 2 };

struct HtreeRootInfo {
  le32 reserved;
  std::uint8_t hash_version;     // HashVersion; signed or unsigned is the superblock's flag
  std::uint8_t info_length;      // 8
  std::uint8_t indirect_levels;  // 0: the root names leaves; 1: it names nodes that name leaves
  std::uint8_t flags;            // bit 0 must be 0
};
static_assert(sizeof(HtreeRootInfo) == 8);

struct HtreeEntry {
  le32 hash;   // least hash of the block; bit 0: it continues the hash of the block before
  le32 block;  // logical block, low 24 bits
};
static_assert(sizeof(HtreeEntry) == 8);

struct HtreeCountLimit {  // overlays HtreeEntry::hash of entry 0
  le16 limit;
  le16 count;
};
static_assert(sizeof(HtreeCountLimit) == 4);

inline constexpr std::uint32_t kHtreeRootInfoOffset = 24;
inline constexpr std::uint32_t kHtreeRootEntriesOffset = 32;
inline constexpr std::uint32_t kHtreeNodeEntriesOffset = 8;
inline constexpr std::uint32_t kHtreeMaxLevels = 2;
inline constexpr std::uint32_t kHtreeBlockMask = 0x00FFFFFF;
inline constexpr std::uint32_t kHtreeEndOfFileHash = 0xFFFFFFFE;  // no name hashes to it

}  // namespace iotape::ext3
