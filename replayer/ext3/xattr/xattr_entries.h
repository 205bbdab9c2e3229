// A list of extended attributes as it lies in an inode's record or in a block, and as it is worked on.
//
// Nothing here waits or touches a disk. Lists are decoded whole, changed, and encoded anew: they are at most a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/ext3/disk_format/xattr_record.h"
#include "replayer/ext3/types.h"

namespace iotape::ext3 {

// Whose name an attribute's is, and the rest of it: "user." + name and so on. Access control lists have no name.
struct XattrName {
  XattrNameIndex index = kXattrUser;
  std::string_view name;
  bool operator==(const XattrName&) const = default;
};
// EOPNOTSUPP: a namespace that ext3 does not keep; EINVAL: nothing behind the prefix; ERANGE: longer than 255 bytes.
Answer<XattrName> parse_xattr_name(std::string_view full_name);
// Empty for an index unknown here, which is kept but not listed.
std::string full_xattr_name(std::uint8_t index, std::string_view name);

struct XattrItem {
  std::uint8_t index = 0;
  std::string name;
  std::string value;  // bytes
  [[nodiscard]] bool is(const XattrName& wanted) const { return index == wanted.index && name == wanted.name; }
};
using XattrList = std::vector<XattrItem>;

XattrItem* find_xattr(XattrList& list, const XattrName& name);

// Where entries begin and what their value offsets count from. A record's: behind its magic word, both. A block's:
// behind its header, and the block's start.
struct XattrPlace {
  std::span<std::byte> bytes;  // values are within; offsets count from its start
  std::uint32_t first = 0;     // entry
};

// EUCLEAN: entries or values leave the place, or a value lies in another block.
Answer<XattrList> decode_xattrs(std::span<const std::byte> bytes, std::uint32_t first);
// False: they have no room, and nothing is written. Bytes between entries and values become zeros. sorted: in the order
// that a block's entries have, with their hashes, which an inode's do not have.
bool encode_xattrs(const XattrList& list, const XattrPlace& place, bool sorted_and_hashed);
// Of the entries of an encoded block: by which equal blocks are found.
std::uint32_t xattr_block_hash(std::span<const std::byte> block);

}  // namespace iotape::ext3
