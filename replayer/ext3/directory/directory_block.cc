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

// Looks through one block. Where each record begins is known only when the one before has come from memory, and a leaf
// is a chain of a few hundred: that chain, not the comparing, is the cost of a lookup. Names of a directory are often
// of one length, though. So a record whose length and name length are those of the last is stepped over by the length
// already at hand, which the processor can do ahead of the loads; it has passed the same checks. Where lengths vary
// this gains nothing and its wrong guesses cost, so after a few it is given up.
class BlockSearcher {
 public:
  BlockSearcher(const std::byte* block, std::uint32_t block_size, std::string_view name)
      : block_(block),
        block_size_(block_size),
        name_(name),
        tail_(name),
        needed_(record_length_for(static_cast<std::uint32_t>(name.size()))) {}

  BlockSearch search() {
    std::uint32_t offset = 0;
    while (offset < block_size_ && !result_.found && !result_.damaged) offset = step_over_usual(offset);
    return result_;
  }

 private:
  static constexpr std::uint32_t kNothingUsual = 0xFFFFFFFF;  // a length that is no multiple of 4

  // Goes over records like the last one, and over the first that is not.
  std::uint32_t step_over_usual(std::uint32_t offset) {
    // Copies, so that nothing is read again in the loop.
    const std::byte* const block = block_;
    const std::uint32_t step = usual_step_;
    const std::uint32_t last = block_size_ - step;
    const std::uint32_t usual = usual_;
    const NameTail tail = tail_;
    const bool length_fits = usual_length_fits_;
    std::uint32_t previous = previous_;
    for (; offset <= last; offset += step) {
      le64 raw;
      std::memcpy(&raw, block + offset, sizeof(raw));
      const std::uint64_t bits = raw;
      if (bits >> 32U != usual || static_cast<std::uint32_t>(bits) == 0) break;
      if (length_fits && tail.matches(block + offset + sizeof(DirectoryRecord)) && is_name(offset)) break;
      previous = offset;
    }
    previous_ = previous;
    return offset < block_size_ ? step_over_any(offset) : offset;
  }

  std::uint32_t step_over_any(std::uint32_t offset) {
    if (block_size_ - offset < kSmallestRecord) return damaged(offset);
    const RecordHead head = record_head(block_, offset);
    if (!valid_record(head, offset, block_size_)) return damaged(offset);
    const bool length_fits = head.name_length == name_.size();
    if (length_fits && head.inode != 0 && is_name(offset)) return found(offset);
    const bool room = head.record_length - head.used() >= needed_;
    if (room && !result_.has_room) {
      result_.has_room = true;
      result_.room_offset = offset;
    }
    if (!room && head.inode != 0 && guesses_left_ > 0) {
      usual_ = head.record_length | head.name_length << 16U | std::uint32_t{head.file_type} << 24U;
      usual_step_ = head.record_length;
      usual_length_fits_ = length_fits;
      --guesses_left_;
    } else if (guesses_left_ == 0) {
      usual_ = kNothingUsual;
    }
    previous_ = offset;
    return offset + head.record_length;
  }

  [[nodiscard]] bool is_name(std::uint32_t offset) const {
    const std::byte* const theirs = block_ + offset + sizeof(DirectoryRecord);
    return tail_.matches(theirs) && name_ == std::string_view(reinterpret_cast<const char*>(theirs), name_.size());
  }
  std::uint32_t found(std::uint32_t offset) {
    result_.found = true;
    result_.offset = offset;
    result_.previous_offset = previous_;
    return offset;
  }
  std::uint32_t damaged(std::uint32_t offset) {
    result_.damaged = true;
    return offset;
  }

  const std::byte* block_;
  std::uint32_t block_size_;
  std::string_view name_;
  NameTail tail_;
  std::uint32_t needed_;
  BlockSearch result_;
  std::uint32_t previous_ = 0;
  // The second word of the last record's head, when that was in use and had no room.
  std::uint32_t usual_ = kNothingUsual;
  std::uint32_t usual_step_ = kSmallestRecord;
  bool usual_length_fits_ = false;
  std::uint32_t guesses_left_ = 16;
};

}  // namespace

BlockSearch search_block(const std::byte* block, std::uint32_t block_size, std::string_view name) {
  return BlockSearcher(block, block_size, name).search();
}

void write_record(std::byte* block, std::uint32_t offset, std::uint32_t record_length, std::string_view name,
                  InodeNumber inode, std::uint8_t file_type) {
  DirectoryRecord record{inode.value, static_cast<std::uint16_t>(record_length), static_cast<std::uint8_t>(name.size()),
                         file_type};
  std::memcpy(block + offset, &record, sizeof(record));
  name.copy(reinterpret_cast<char*>(block + offset + sizeof(record)), name.size());
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
