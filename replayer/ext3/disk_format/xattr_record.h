// Extended attributes: in the space of a 256-byte inode after its extra fields (a magic word, then entries), and in one
// block that inodes with equal attributes share (header, then entries growing up, values growing down).
// Entries of a block are sorted by name index, name length, name; those of an inode are not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "format/base/byte_order.h"

namespace iotape::ext3 {

inline constexpr std::uint32_t kXattrMagic = 0xEA020000;
inline constexpr std::uint32_t kXattrReferenceLimit = 1024;  // inodes sharing one block

enum XattrNameIndex : std::uint8_t {
  kXattrUser = 1,
  kXattrAccessAcl = 2,
  kXattrDefaultAcl = 3,
  kXattrTrusted = 4,
  kXattrSecurity = 6,
};

struct XattrBlockHeader {
  le32 magic;
  le32 reference_count;
  le32 blocks;  // 1
  le32 hash;    // of all entries, to find equal blocks; 0: not to be shared
  std::array<le32, 4> reserved;
};
static_assert(sizeof(XattrBlockHeader) == 32);

struct XattrEntry {  // the name follows, padded to 4; four zero bytes end the list
  std::uint8_t name_length;
  std::uint8_t name_index;  // XattrNameIndex
  le16 value_offset;        // from the block's start, or from the inode's first entry
  le32 value_block;         // 0: the same block
  le32 value_size;
  le32 hash;
};
static_assert(sizeof(XattrEntry) == 16);

// Access control lists have a compact form of their own on disk (version 1).
struct AclHeader {
  le32 version;  // 1
};
struct AclShortEntry {  // owner, owning group, mask, other
  le16 tag;
  le16 permission;
};
struct AclEntry {  // named user, named group
  le16 tag;
  le16 permission;
  le32 id;
};
static_assert(sizeof(AclHeader) == 4 && sizeof(AclShortEntry) == 4 && sizeof(AclEntry) == 8);

}  // namespace iotape::ext3
