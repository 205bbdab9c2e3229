// A directory entry as it lies in a directory block. Entries fill the block without a gap: record_length reaches the
// next one or the block's end, is a multiple of 4 and at least record_length_for(name_length). inode 0 is a free
// record.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/base/byte_order.h"

namespace iotape::ext3 {

enum DirectoryFileType : std::uint8_t {
  kTypeUnknown = 0,
  kTypeRegular = 1,
  kTypeDirectory = 2,
  kTypeCharacterDevice = 3,
  kTypeBlockDevice = 4,
  kTypeFifo = 5,
  kTypeSocket = 6,
  kTypeSymlink = 7,
};

struct DirectoryRecord {  // the name's bytes follow
  le32 inode;
  le16 record_length;
  std::uint8_t name_length;
  std::uint8_t file_type;  // DirectoryFileType; 0 without the filetype feature
};
static_assert(sizeof(DirectoryRecord) == 8);

constexpr std::uint32_t record_length_for(std::uint32_t name_length) { return (8 + name_length + 3) & ~3U; }

// The DirectoryFileType of an inode's mode.
constexpr std::uint8_t directory_file_type(std::uint32_t mode) {
  switch (mode & 0170000U) {
    case 0100000:
      return kTypeRegular;
    case 0040000:
      return kTypeDirectory;
    case 0020000:
      return kTypeCharacterDevice;
    case 0060000:
      return kTypeBlockDevice;
    case 0010000:
      return kTypeFifo;
    case 0140000:
      return kTypeSocket;
    case 0120000:
      return kTypeSymlink;
    default:
      return kTypeUnknown;
  }
}

}  // namespace iotape::ext3
