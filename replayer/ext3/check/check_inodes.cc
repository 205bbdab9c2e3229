// Every record of every inode table, and the blocks each file takes.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "replayer/ext3/check/block_map_walk.h"
#include "replayer/ext3/check/check_state.h"
#include "replayer/ext3/disk_format/directory_record.h"

namespace iotape::ext3::check {
namespace {

constexpr std::uint32_t kExtentsFlag = 0x80000;
constexpr std::uint32_t kInlineDataFlag = 0x10000000;

// Takes a file's blocks and measures how far they reach.
class BlockClaims {
 public:
  BlockClaims(CheckState& state, InodeNumber inode) : state_(state), inode_(inode) {}

  bool indirect(BlockNumber block) { return take(block); }
  void data(std::uint64_t file_block, BlockNumber block) {
    // A block that cannot be taken is still one of the file's.
    take(block);
    ++data_count_;
    end_ = std::max(end_, file_block + 1);
    first_ = data_count_ == 1 ? block : first_;
  }
  [[nodiscard]] bool damaged() const { return complaints_ != 0; }
  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }
  [[nodiscard]] std::uint64_t data_count() const { return data_count_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }  // the file block after the last one
  [[nodiscard]] BlockNumber first() const { return first_; }

 private:
  static constexpr std::uint32_t kMostComplaints = 10;  // of one file

  bool take(BlockNumber block) {
    if (!state_.geometry.plausible(block)) {
      complain(ProblemKind::kBlockPointer, block, "points outside the volume, at");
      return false;
    }
    ++blocks_;
    if (state_.claim(block)) return true;
    complain(ProblemKind::kSharedBlock, block, "has a block that is another's too:");
    return false;
  }
  void complain(ProblemKind kind, BlockNumber block, const char* text) {
    if (complaints_++ < kMostComplaints)
      state_.problem(kind, inode_, block, "inode {} {} {}", inode_.value, text, block.value);
  }

  CheckState& state_;
  InodeNumber inode_;
  std::uint32_t complaints_ = 0;
  std::uint64_t blocks_ = 0;
  std::uint64_t data_count_ = 0;
  std::uint64_t end_ = 0;
  BlockNumber first_;
};

class InodeCheck {
 public:
  InodeCheck(CheckState& state, InodeNumber number, std::span<const std::byte> bytes)
      : state_(state), number_(number), bytes_(bytes), record_(record_at<InodeRecord>(bytes, 0)) {}

  void check() {
    if (!in_use()) return;
    note_use();
    if (number_ == kResizeInode && state_.has(kFeatureResizeInode)) return check_resize_inode(state_, record_);
    if (is_reserved() && !is_special_reserved()) return check_reserved();
    if (number_ != kBadBlocksInode && directory_file_type(record_.mode) == kTypeUnknown)
      return problem(ProblemKind::kInode, "has the impossible mode {:#o}", static_cast<std::uint16_t>(record_.mode));
    check_fields();
    check_inner_attributes(state_, number_, bytes_);
    check_blocks();
  }

 private:
  template <typename... Arguments>
  void problem(ProblemKind kind, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    state_.problem(kind, number_, kNoBlock, "inode {} {}", number_.value,
                   fmt::format(text, std::forward<Arguments>(arguments)...));
  }
  [[nodiscard]] bool is_reserved() const { return number_.value < state_.geometry.first_inode; }
  [[nodiscard]] bool is_special_reserved() const {
    return number_ == kRootInode || number_ == kBadBlocksInode ||
           (number_ == kJournalInode && state_.has(kFeatureHasJournal));
  }
  [[nodiscard]] bool is_orphan() const {
    return std::binary_search(state_.orphans.begin(), state_.orphans.end(), number_.value);
  }

  bool in_use();
  void note_use();
  void check_reserved();
  void check_fields();
  void check_blocks();
  void check_directory_size(const BlockClaims& claims);
  void check_file_size(const BlockClaims& claims);
  void check_symlink(const BlockClaims& claims);
  [[nodiscard]] bool is_fast_symlink() const {
    const std::uint32_t attributes = record_.attribute_block == 0 ? 0 : state_.geometry.block_size / 512;
    return S_ISLNK(record_.mode) && record_.sectors_count == attributes;
  }

  CheckState& state_;
  InodeNumber number_;
  std::span<const std::byte> bytes_;
  InodeRecord record_;
};

bool InodeCheck::in_use() {
  if (record_.links_count != 0) {
    if (record_.deletion_time != 0 && !is_orphan())
      problem(ProblemKind::kInode, "is in use, but has a time of deletion");
    return true;
  }
  if (is_orphan()) return true;
  if (number_ == kBadBlocksInode || is_reserved()) return number_ == kBadBlocksInode || record_.mode != 0;
  if (record_.mode != 0 && record_.deletion_time == 0)
    problem(ProblemKind::kInode, "has neither names nor a time of deletion");
  else if (record_.deletion_time != 0 && record_.deletion_time < state_.geometry.inode_count)
    problem(ProblemKind::kOrphanList, "looks like one of the orphan list ({}), but is not on it",
            static_cast<std::uint32_t>(record_.deletion_time));
  return false;
}

void InodeCheck::note_use() {
  const std::uint8_t type = directory_file_type(record_.mode);
  const bool orphan = is_orphan() && record_.links_count == 0;
  state_.types.at(number_.value) = static_cast<std::uint8_t>(orphan ? type | kOrphanType : type);
  state_.links.at(number_.value) = record_.links_count;
  if (is_reserved()) return;  // counted as used whatever they are
  ++state_.group_used_inodes[state_.geometry.group_of(number_).value];
}

// Inodes 3 to 10 without a part to play.
void InodeCheck::check_reserved() {
  const bool empty = std::all_of(record_.block.begin(), record_.block.end(), [](le32 block) { return block == 0; });
  if (record_.mode != 0 || !empty) problem(ProblemKind::kInode, "is reserved and should be empty");
}

void InodeCheck::check_fields() {
  if ((record_.flags & (kExtentsFlag | kInlineDataFlag)) != 0)
    problem(ProblemKind::kInode, "has flags that are not ext3's: {:#x}", static_cast<std::uint32_t>(record_.flags));
  if (record_.fragment_address != 0) problem(ProblemKind::kInode, "has a fragment");
  if (record_.blocks_high != 0 || record_.attribute_block_high != 0)
    problem(ProblemKind::kInode, "counts or points beyond 32 bits");
  if (!S_ISREG(record_.mode) && record_.size_high != 0) problem(ProblemKind::kSize, "is no file, but above 4 GiB");
  if (S_ISREG(record_.mode) && (record_.size_high != 0 || record_.size_low > 0x7FFFFFFF) &&
      (state_.super.read_only_features & kFeatureLargeFile) == 0)
    problem(ProblemKind::kFeature, "is above 2 GiB without the large_file feature");
  if ((record_.flags & kInodeIndex) != 0 && !(S_ISDIR(record_.mode) && state_.has(kFeatureDirIndex)))
    problem(ProblemKind::kIndex, "has an index that it cannot have");
  if (bytes_.size() == sizeof(InodeRecord)) return;
  const auto extra = record_at<le16>(bytes_, sizeof(InodeRecord));
  if (extra % 4 != 0 || extra > bytes_.size() - sizeof(InodeRecord))
    problem(ProblemKind::kInode, "has {} extra bytes", static_cast<std::uint16_t>(extra));
}

void InodeCheck::check_blocks() {
  BlockClaims claims(state_, number_);
  std::uint64_t blocks = 0;
  if (record_.attribute_block != 0 && check_attribute_block(state_, number_, BlockNumber(record_.attribute_block)))
    blocks = 1;
  const bool has_map = S_ISREG(record_.mode) || S_ISDIR(record_.mode) || number_ == kBadBlocksInode ||
                       (S_ISLNK(record_.mode) && !is_fast_symlink());
  if (has_map) {
    BlockMapWalk walk(state_, claims);
    walk.walk(std::span<const le32, kBlockSlots>(record_.block));
  }
  blocks += claims.blocks();
  if (!claims.damaged() && record_.sectors_count != blocks * (state_.geometry.block_size / 512))
    problem(ProblemKind::kSectorCount, "counts {} sectors, its blocks have {}",
            static_cast<std::uint32_t>(record_.sectors_count), blocks * (state_.geometry.block_size / 512));
  if (S_ISDIR(record_.mode)) return check_directory_size(claims);
  if (S_ISREG(record_.mode)) return check_file_size(claims);
  if (S_ISLNK(record_.mode)) return check_symlink(claims);
  if (number_ == kBadBlocksInode) return;
  if (record_.size_low != 0)
    problem(ProblemKind::kSize, "is a device, fifo or socket of {} bytes",
            static_cast<std::uint32_t>(record_.size_low));
  const bool nothing =
      std::all_of(record_.block.begin() + 2, record_.block.end(), [](le32 block) { return block == 0; });
  if (!nothing) problem(ProblemKind::kInode, "is a device, fifo or socket with blocks");
}

void InodeCheck::check_directory_size(const BlockClaims& claims) {
  DirectoryNote note;
  note.number = number_;
  note.skipped = claims.damaged();
  note.indexed = (record_.flags & kInodeIndex) != 0 && state_.has(kFeatureDirIndex);
  state_.directories.push_back(note);
  ++state_.group_directories[state_.geometry.group_of(number_).value];
  if (claims.damaged()) return;
  if (claims.data_count() != claims.end())
    problem(ProblemKind::kDirectory, "is a directory with holes: {} of {} blocks", claims.data_count(), claims.end());
  if (record_.size_low != claims.end() * state_.geometry.block_size || claims.end() == 0)
    problem(ProblemKind::kSize, "is a directory of {} bytes in {} blocks", static_cast<std::uint32_t>(record_.size_low),
            claims.end());
}

void InodeCheck::check_file_size(const BlockClaims& claims) {
  const std::uint64_t size = record_.size_low | std::uint64_t{record_.size_high} << 32U;
  // One block beyond the end is what a write that failed may leave.
  if (!claims.damaged() && claims.end() != 0 && size < (claims.end() - 1) * state_.geometry.block_size)
    problem(ProblemKind::kSize, "has {} bytes, but blocks up to {}", size, claims.end() * state_.geometry.block_size);
}

void InodeCheck::check_symlink(const BlockClaims& claims) {
  const std::uint32_t size = record_.size_low;
  Bytes target;
  if (is_fast_symlink()) {
    target.resize(kFastSymlinkLimit);
    std::memcpy(target.data(), record_.block.data(), target.size());
  } else {
    if (claims.damaged()) return;
    if (claims.end() != 1) return problem(ProblemKind::kSize, "is a symbolic link of {} blocks", claims.end());
    target.resize(state_.geometry.block_size);
    if (!state_.read(claims.first(), target)) return;
  }
  const auto* const text = reinterpret_cast<const char*>(target.data());
  const std::size_t length = ::strnlen(text, target.size());
  if (size == 0 || size >= target.size() || length != size)
    problem(ProblemKind::kSize, "is a symbolic link of {} bytes, its target has {}", size, length);
}

}  // namespace

void check_inodes(CheckState& state) {
  const Geometry& g = state.geometry;
  constexpr std::uint32_t kBlocksAtOnce = 64;
  Bytes bytes;
  for (std::uint32_t i = 0; i < g.group_count; ++i) {
    const GroupNumber group(i);
    std::uint32_t bit = 0;
    for (std::uint32_t block = 0; block < g.inode_table_blocks; block += kBlocksAtOnce) {
      bytes.resize(std::size_t{std::min(kBlocksAtOnce, g.inode_table_blocks - block)} * g.block_size);
      const bool readable = state.read(BlockNumber(state.groups[i].inode_table + block), bytes);
      for (std::size_t at = 0; at < bytes.size() && bit < g.inodes_per_group; at += g.inode_size, ++bit)
        if (readable)
          InodeCheck(state, g.inode_at(group, bit), std::span<const std::byte>(bytes).subspan(at, g.inode_size))
              .check();
    }
  }
  state.report.directories = static_cast<std::uint32_t>(state.directories.size());
}

}  // namespace iotape::ext3::check
