#include "replayer/ext3/directory/directory_block.h"

#include <array>

namespace iotape::ext3 {
namespace {

std::uint32_t load_word(const void* from) {
  std::uint32_t word = 0;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

// Four bytes that tell most names of one length apart: the last four, which differ in numbered names. Of a shorter name
// all; a record always has room for four.
struct NameTail {
  explicit NameTail(std::string_view name) : at(name.size() < 4 ? 0 : static_cast<std::uint32_t>(name.size()) - 4) {
    std::array<char, 4> bytes{};
    std::array<char, 4> ones{};
    for (std::size_t i = 0; i < 4 && i < name.size(); ++i) {
      bytes[i] = name[at + i];
      ones[i] = '\xFF';
    }
    word = load_word(bytes.data());
    mask = load_word(ones.data());
  }
  [[nodiscard]] bool matches(const std::byte* name) const { return (load_word(name + at) & mask) == word; }
  std::uint32_t at;
  std::uint32_t word = 0;
  std::uint32_t mask = 0;
};

}  // namespace

BlockSearch search_block(const std::byte* block, std::uint32_t block_size, std::string_view name) {
  BlockSearch result;
  const NameTail tail(name);
  const std::uint32_t needed = record_length_for(static_cast<std::uint32_t>(name.size()));
  std::uint32_t previous = 0;
  result.damaged = !for_each_record(block, block_size, [&](std::uint32_t offset, const RecordHead& head) {
    if (head.name_length == name.size() && head.inode != 0) {
      const std::byte* const theirs = block + offset + sizeof(DirectoryRecord);
      if (tail.matches(theirs) && std::memcmp(theirs, name.data(), name.size()) == 0) {
        result.found = true;
        result.offset = offset;
        result.previous_offset = previous;
        return false;
      }
    }
    if (!result.has_room && head.record_length - head.used() >= needed) {
      result.has_room = true;
      result.room_offset = offset;
    }
    previous = offset;
    return true;
  });
  return result;
}

void write_record(std::byte* block, std::uint32_t offset, std::uint32_t record_length, std::string_view name,
                  InodeNumber inode, std::uint8_t file_type) {
  DirectoryRecord record{inode.value, static_cast<std::uint16_t>(record_length), static_cast<std::uint8_t>(name.size()),
                         file_type};
  std::memcpy(block + offset, &record, sizeof(record));
  std::memcpy(block + offset + sizeof(record), name.data(), name.size());
}

void place_record(std::byte* block, std::uint32_t offset, std::string_view name, InodeNumber inode,
                  std::uint8_t file_type) {
  const RecordHead head = record_head(block, offset);
  const std::uint32_t used = head.used();
  if (used != 0) {
    auto* const record = reinterpret_cast<DirectoryRecord*>(block + offset);
    record->record_length = static_cast<std::uint16_t>(used);
  }
  write_record(block, offset + used, head.record_length - used, name, inode, file_type);
}

void remove_record(std::byte* block, std::uint32_t offset, std::uint32_t previous_offset) {
  auto* const record = reinterpret_cast<DirectoryRecord*>(block + offset);
  if (offset == previous_offset) {
    record->inode = 0;
    return;
  }
  auto* const previous = reinterpret_cast<DirectoryRecord*>(block + previous_offset);
  previous->record_length = static_cast<std::uint16_t>(previous->record_length + record->record_length);
}

void clear_block(std::byte* block, std::uint32_t block_size) {
  std::memset(block, 0, block_size);
  write_record(block, 0, block_size, {}, kNoInode, 0);
}

}  // namespace iotape::ext3
