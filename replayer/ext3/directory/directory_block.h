// One directory block's bytes: walking its records, finding a name or room for one, adding and removing a record.
// Nothing here waits or touches a disk. Every record is checked before it is used: a block may hold anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "replayer/ext3/disk_format/directory_record.h"
#include "replayer/ext3/types.h"

namespace iotape::ext3 {

inline constexpr std::uint32_t kSmallestRecord = 12;  // a name of one to four bytes

// A record's eight bytes before the name, in one load.
struct RecordHead {
  std::uint32_t inode = 0;
  std::uint32_t record_length = 0;
  std::uint32_t name_length = 0;
  std::uint8_t file_type = 0;
  // What the record itself takes; the rest of record_length is free.
  [[nodiscard]] std::uint32_t used() const { return inode == 0 ? 0 : record_length_for(name_length); }
};

inline RecordHead record_head(const std::byte* block, std::uint32_t offset) {
  le64 raw;
  std::memcpy(&raw, block + offset, sizeof(raw));
  const std::uint64_t bits = raw;
  return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32U) & 0xFFFFU,
          static_cast<std::uint32_t>(bits >> 48U) & 0xFFU, static_cast<std::uint8_t>(bits >> 56U)};
}

// Stays inside its block, holds its name, and leaves what follows aligned. REQUIRES: offset is a multiple of 4 below
// block_size, which leaves 4 bytes at least; heads are read only where 12 bytes are left (see for_each_record).
inline bool valid_record(const RecordHead& head, std::uint32_t offset, std::uint32_t block_size) {
  return head.record_length >= record_length_for(head.name_length) && head.record_length >= kSmallestRecord &&
         (head.record_length & 3U) == 0 && head.record_length <= block_size - offset;
}

inline std::string_view record_name(const std::byte* block, std::uint32_t offset, const RecordHead& head) {
  return {reinterpret_cast<const char*>(block + offset + sizeof(DirectoryRecord)), head.name_length};
}

// Calls visit(offset, head) for every record, free ones too, until it returns false. False: a record was damaged.
template <typename Visit>
bool for_each_record(const std::byte* block, std::uint32_t block_size, const Visit& visit) {
  for (std::uint32_t offset = 0; offset < block_size;) {
    if (block_size - offset < kSmallestRecord) return false;
    const RecordHead head = record_head(block, offset);
    if (!valid_record(head, offset, block_size)) return false;
    if (!visit(offset, head)) return true;
    offset += head.record_length;
  }
  return true;
}

struct BlockSearch {
  bool damaged = false;  // before the name was found
  bool found = false;
  bool has_room = false;              // where the name was not found
  std::uint32_t offset = 0;           // of the record found
  std::uint32_t previous_offset = 0;  // of the one before; equals offset for the first
  std::uint32_t room_offset = 0;      // of the first record whose slack takes the name
};
BlockSearch search_block(const std::byte* block, std::uint32_t block_size, std::string_view name);

// Writes a record into the slack of the one at offset. REQUIRES: it has room.
void place_record(std::byte* block, std::uint32_t offset, std::string_view name, InodeNumber inode,
                  std::uint8_t file_type);
// The record before takes over its room; the first of a block becomes free.
void remove_record(std::byte* block, std::uint32_t offset, std::uint32_t previous_offset);
// Writes a record of the given length, whatever was there.
void write_record(std::byte* block, std::uint32_t offset, std::uint32_t record_length, std::string_view name,
                  InodeNumber inode, std::uint8_t file_type);
// One free record.
void clear_block(std::byte* block, std::uint32_t block_size);

}  // namespace iotape::ext3
