// Every entry of every directory, and the index of those that have one.
#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>

#include "replayer/ext3/check/block_map_walk.h"
#include "replayer/ext3/check/check_state.h"
#include "replayer/ext3/check/htree_shape.h"
#include "replayer/ext3/disk_format/directory_record.h"

namespace iotape::ext3::check {
namespace {

// The blocks of a map that was found sound.
class BlockList {
 public:
  bool indirect(BlockNumber) { return true; }
  void data(std::uint64_t file_block, BlockNumber block) {
    without_holes_ = without_holes_ && file_block == blocks_.size();
    blocks_.push_back(block);
  }
  [[nodiscard]] const std::vector<BlockNumber>& blocks() const { return blocks_; }
  [[nodiscard]] bool without_holes() const { return without_holes_; }

 private:
  std::vector<BlockNumber> blocks_;
  bool without_holes_ = true;
};

// Finds names that occur twice: by a hash first, then, where two agree, by the names themselves.
class NameSet {
 public:
  void add(std::string_view name, std::uint32_t block, std::uint32_t offset) {
    std::uint64_t key = 0xCBF29CE484222325U;
    for (const char c : name) key = (key ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    places_.push_back({key, block, offset});
  }
  // Calls use(a, b) for places of equal keys, (block, offset) each.
  template <typename Use>
  void each_candidate(const Use& use) {
    std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
      return std::tie(a.key, a.block, a.offset) < std::tie(b.key, b.block, b.offset);
    });
    for (std::size_t i = 1; i < places_.size(); ++i)
      if (places_[i].key == places_[i - 1].key)
        use(places_[i - 1].block, places_[i - 1].offset, places_[i].block, places_[i].offset);
  }

 private:
  struct Place {
    std::uint64_t key;
    std::uint32_t block;
    std::uint32_t offset;
  };
  std::vector<Place> places_;
};

class DirectoryCheck {
 public:
  DirectoryCheck(CheckState& state, DirectoryNote& note)
      : state_(state), note_(note), bytes_(state.geometry.block_size) {}

  void check() {
    const Bytes inode = state_.read_inode(note_.number);
    if (inode.empty()) return;
    const auto record = record_at<InodeRecord>(inode, 0);
    BlockMapWalk walk(state_, list_);
    walk.walk(std::span<const le32, kBlockSlots>(record.block));
    if (list_.blocks().empty()) return;
    std::optional<HtreeShape> shape;
    if (note_.indexed && list_.without_holes()) shape.emplace(state_, note_.number, list_.blocks());
    for (std::uint32_t block = 0; block < list_.blocks().size(); ++block) {
      const bool index = shape && shape->is_index(block);
      // A node of the index looks like an empty block, and the root's second entry covers the rest of its own.
      if (index && block != 0) continue;
      check_block(block, shape && shape->usable() && !index ? &*shape : nullptr);
    }
    check_twins();
  }

 private:
  template <typename... Arguments>
  void problem(ProblemKind kind, std::uint32_t block, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    state_.problem(kind, note_.number, list_.blocks()[block], "directory {}, block {}: {}", note_.number.value, block,
                   fmt::format(text, std::forward<Arguments>(arguments)...));
  }
  void check_block(std::uint32_t block, const HtreeShape* shape);
  void check_entry(std::uint32_t block, std::uint32_t offset, const DirectoryRecord& record, std::string_view name,
                   const HtreeShape* shape);
  void check_target(std::uint32_t block, const DirectoryRecord& record, std::string_view name);
  void check_first_two(std::uint32_t block, std::uint32_t offset, const DirectoryRecord& record, std::string_view name);
  void check_twins();
  std::string_view name_at(std::uint32_t block, std::uint32_t offset, Bytes& bytes);

  CheckState& state_;
  DirectoryNote& note_;
  BlockList list_;
  NameSet names_;
  Bytes bytes_;
  std::uint32_t entry_number_ = 0;  // of the directory, free ones among them
};

void DirectoryCheck::check_block(std::uint32_t block, const HtreeShape* shape) {
  if (!state_.read(list_.blocks()[block], bytes_)) return;
  const std::uint32_t size = state_.geometry.block_size;
  for (std::uint32_t offset = 0; offset < size;) {
    if (size - offset < sizeof(DirectoryRecord))
      return problem(ProblemKind::kDirectory, block, "ends in half an entry");
    const auto record = record_at<DirectoryRecord>(bytes_, offset);
    const std::uint32_t length = record.record_length;
    if (length % 4 != 0 || length < record_length_for(record.inode != 0 ? record.name_length : 0) ||
        length > size - offset)
      return problem(ProblemKind::kDirectory, block, "the entry at {} has {} bytes for a name of {}", offset, length,
                     record.name_length);
    const std::string_view name(reinterpret_cast<const char*>(bytes_.data()) + offset + sizeof record,
                                record.inode != 0 ? record.name_length : 0);
    check_entry(block, offset, record, name, shape);
    ++entry_number_;
    offset += length;
  }
}

void DirectoryCheck::check_entry(std::uint32_t block, std::uint32_t offset, const DirectoryRecord& record,
                                 std::string_view name, const HtreeShape* shape) {
  if (entry_number_ < 2) return check_first_two(block, offset, record, name);
  if (record.inode == 0) return;
  if (name.empty()) return problem(ProblemKind::kDirectory, block, "the entry at {} has no name", offset);
  if (name == "." || name == "..")
    problem(ProblemKind::kDirectory, block, "'{}' is not where it must be, but at {}", name, offset);
  if (name.find('/') != std::string_view::npos || name.find('\0') != std::string_view::npos)
    problem(ProblemKind::kDirectory, block, "'{}' is no name", printable(name));
  names_.add(name, block, offset);
  if (shape != nullptr && !shape->leads_to(shape->hash(name), block))
    problem(ProblemKind::kIndex, block, "'{}' is not found through the index", printable(name));
  check_target(block, record, name);
}

// The inode that an entry names; counts the name.
void DirectoryCheck::check_target(std::uint32_t block, const DirectoryRecord& record, std::string_view name) {
  const InodeNumber target(record.inode);
  if (!state_.valid(target) || (target.value < state_.geometry.first_inode && target != kRootInode))
    return problem(ProblemKind::kDirectory, block, "'{}' names inode {}, which it cannot", printable(name),
                   target.value);
  const std::uint8_t type = state_.types.get(target.value);
  if (type == 0 && state_.links.get(target.value) == 0)
    return problem(ProblemKind::kDirectory, block, "'{}' names inode {}, which is not in use", printable(name),
                   target.value);
  ++state_.report.names;
  std::uint16_t& names = state_.names.at(target.value);
  if (names != 0xFFFF) ++names;
  const std::uint8_t expected = state_.has_filetype() ? type & ~kOrphanType : 0;
  if (record.file_type != expected)
    problem(ProblemKind::kFileType, block, "'{}' says type {}, inode {} is of type {}", printable(name),
            record.file_type, target.value, expected);
  if (name == "." || name == "..") return;
  DirectoryNote* const child = state_.directory(target);
  if (child == nullptr) return;
  if (child->named_in != kNoInode || target == kRootInode)
    problem(ProblemKind::kParent, block, "'{}' is a second name of directory {}", printable(name), target.value);
  else
    child->named_in = note_.number;
}

void DirectoryCheck::check_first_two(std::uint32_t block, std::uint32_t offset, const DirectoryRecord& record,
                                     std::string_view name) {
  const std::string_view expected = entry_number_ == 0 ? "." : "..";
  if (record.inode == 0 || name != expected)
    return problem(ProblemKind::kDirectory, block, "the entry at {} is not '{}'", offset, expected);
  if (entry_number_ == 0 && record.inode != note_.number.value)
    problem(ProblemKind::kDirectory, block, "'.' names inode {}", static_cast<std::uint32_t>(record.inode));
  if (entry_number_ == 1) note_.dot_dot = InodeNumber(record.inode);
  check_target(block, record, name);
}

std::string_view DirectoryCheck::name_at(std::uint32_t block, std::uint32_t offset, Bytes& bytes) {
  if (!state_.read(list_.blocks()[block], bytes)) return {};
  const auto record = record_at<DirectoryRecord>(bytes, offset);
  return {reinterpret_cast<const char*>(bytes.data()) + offset + sizeof record, record.name_length};
}

void DirectoryCheck::check_twins() {
  Bytes other(bytes_.size());
  names_.each_candidate([&](std::uint32_t a, std::uint32_t a_offset, std::uint32_t b, std::uint32_t b_offset) {
    const std::string_view name = name_at(a, a_offset, bytes_);
    if (!name.empty() && name == name_at(b, b_offset, other))
      problem(ProblemKind::kDirectory, b, "'{}' is there twice", printable(name));
  });
}

}  // namespace

void check_directories(CheckState& state) {
  if (state.directory(kRootInode) == nullptr)
    state.problem(ProblemKind::kDirectory, kRootInode, kNoBlock, "the root is no directory");
  for (DirectoryNote& note : state.directories)
    if (!note.skipped) DirectoryCheck(state, note).check();
}

}  // namespace iotape::ext3::check
