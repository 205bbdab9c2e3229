// The journal's inode and superblock, and the resize inode: files of the filesystem's own.
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "replayer/ext3/check/block_map_walk.h"
#include "replayer/ext3/check/check_state.h"
#include "replayer/ext3/disk_format/journal_record.h"

namespace iotape::ext3::check {
namespace {

class Extent {
 public:
  explicit Extent(const Geometry& geometry) : geometry_(geometry), inside_(geometry.block_count) {}
  // Goes into each block once.
  bool indirect(BlockNumber block) { return geometry_.plausible(block) && inside_.set(block.value); }
  void data(std::uint64_t file_block, BlockNumber block) {
    if (file_block == 0) first_ = block;
    contiguous_ = contiguous_ && file_block == count_;
    ++count_;
  }
  [[nodiscard]] std::uint64_t count() const { return contiguous_ ? count_ : 0; }
  [[nodiscard]] BlockNumber first() const { return first_; }

 private:
  const Geometry& geometry_;
  PagedBits inside_;
  std::uint64_t count_ = 0;
  bool contiguous_ = true;
  BlockNumber first_;
};

template <typename... Arguments>
void journal_problem(CheckState& state, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  state.problem(ProblemKind::kJournal, kJournalInode, kNoBlock, text, std::forward<Arguments>(arguments)...);
}

void check_journal_superblock(CheckState& state, BlockNumber block, std::uint64_t file_blocks) {
  Bytes bytes(state.geometry.block_size);
  if (!state.read(block, bytes)) return;
  const auto journal = record_at<JournalSuperblock>(bytes, 0);
  if (journal.header.magic != kJournalMagic ||
      (journal.header.type != kJournalSuperblockV1 && journal.header.type != kJournalSuperblockV2))
    return journal_problem(state, "the journal's superblock is none");
  if (journal.block_size != state.geometry.block_size)
    journal_problem(state, "the journal has blocks of {} bytes", static_cast<std::uint32_t>(journal.block_size));
  if (journal.max_length > file_blocks || journal.max_length < kJournalMinimumBlocks)
    journal_problem(state, "the journal has {} blocks, its file {}", static_cast<std::uint32_t>(journal.max_length),
                    file_blocks);
  if (journal.first == 0 || journal.first >= journal.max_length || journal.start >= journal.max_length)
    journal_problem(state, "the journal's log begins at {}, its first transaction at {}, of {} blocks",
                    static_cast<std::uint32_t>(journal.first), static_cast<std::uint32_t>(journal.start),
                    static_cast<std::uint32_t>(journal.max_length));
  if (journal.header.type == kJournalSuperblockV2 &&
      ((journal.incompatible_features & ~kJournalFeatureRevoke) != 0 || journal.read_only_features != 0))
    journal_problem(state, "the journal has features that are not ext3's: {:#x}",
                    static_cast<std::uint32_t>(journal.incompatible_features));
  if (journal.error_number != 0)
    journal_problem(state, "the journal was stopped by error {}", static_cast<std::uint32_t>(journal.error_number));
  if (journal.start != 0 && (state.super.incompatible_features & kFeatureRecover) == 0)
    journal_problem(state, "the journal holds transactions, but the volume says it needs no recovery");
}

}  // namespace

void check_journal(CheckState& state) {
  const Superblock& s = state.super;
  if (!state.has(kFeatureHasJournal)) {
    if (s.journal_inode != 0 || (s.incompatible_features & kFeatureRecover) != 0)
      journal_problem(state, "a volume without a journal names one");
    return;
  }
  if (s.journal_device != 0 || s.journal_inode != kJournalInode.value)
    return journal_problem(state, "the journal is inode {} or on device {:#x}, not inode 8",
                           static_cast<std::uint32_t>(s.journal_inode), static_cast<std::uint32_t>(s.journal_device));
  const Bytes bytes = state.read_inode(kJournalInode);
  if (bytes.empty()) return;
  const auto record = record_at<InodeRecord>(bytes, 0);
  if (!S_ISREG(record.mode) || record.links_count == 0) return journal_problem(state, "the journal's inode is no file");
  Extent extent(state.geometry);
  BlockMapWalk walk(state, extent);
  walk.walk(std::span<const le32, kBlockSlots>(record.block));
  const std::uint64_t size = record.size_low | std::uint64_t{record.size_high} << 32U;
  if (extent.count() == 0 || extent.count() * state.geometry.block_size < size)
    return journal_problem(state, "the journal of {} bytes has holes", size);
  if (s.journal_backup_type == 1 && !std::equal(record.block.begin(), record.block.end(), s.journal_blocks.begin(),
                                                [](le32 a, le32 b) { return std::uint32_t{a} == std::uint32_t{b}; }))
    state.problem(ProblemKind::kSuperblock, kJournalInode, kNoBlock, "the copy of the journal's block map differs");
  if (state.geometry.plausible(extent.first()))
    check_journal_superblock(state, extent.first(), size / state.geometry.block_size);
}

// The double indirect block names the reserved blocks after the descriptor table, each of which names its counterparts
// in the groups with copies. All but the first are taken already, with the groups' own blocks.
void check_resize_inode(CheckState& state, const InodeRecord& record) {
  const Geometry& g = state.geometry;
  const auto wrong = [&](BlockNumber block, const char* what) {
    state.problem(ProblemKind::kResizeBlocks, kResizeInode, block, "the resize inode {}", what);
  };
  if (!S_ISREG(record.mode) || record.links_count != 1) return wrong(kNoBlock, "is no file");
  for (std::uint32_t slot = 0; slot < kBlockSlots; ++slot)
    if (slot != kDoubleIndirectSlot && record.block[slot] != 0) return wrong(kNoBlock, "has blocks of other kinds");
  const BlockNumber root(record.block[kDoubleIndirectSlot]);
  if (!g.plausible(root)) return wrong(root, "points outside the volume");
  if (!state.claim(root)) return wrong(root, "has a block that is another's too");
  Bytes roots(g.block_size);
  Bytes copies(g.block_size);
  if (!state.read(root, roots)) return;
  std::vector<std::uint32_t> groups;
  for (std::uint32_t group = 1; group < g.group_count; ++group)
    if (g.has_backup(GroupNumber(group))) groups.push_back(group);
  const auto count = [&](const Bytes& pointers) {
    std::uint32_t found = 0;
    for (std::size_t i = 0; i < g.pointers_per_block(); ++i) found += record_at<le32>(pointers, i * 4) != 0 ? 1U : 0U;
    return found;
  };
  if (count(roots) != g.reserved_gdt_blocks) return wrong(root, "names other blocks too");
  const std::size_t copies_wanted = std::min<std::size_t>(groups.size(), g.pointers_per_block());
  std::uint32_t blocks = 1;
  for (std::uint32_t i = 0; i < g.reserved_gdt_blocks; ++i) {
    const std::uint32_t place = g.descriptor_blocks + i;
    const BlockNumber primary(g.descriptor_table().value + place);
    if (record_at<le32>(roots, std::size_t{place % g.pointers_per_block()} * 4) != primary.value)
      return wrong(primary, "does not name a reserved block");
    if (!state.read(primary, copies)) return;
    ++blocks;
    if (count(copies) != copies_wanted) return wrong(primary, "names other blocks than a reserved one's copies");
    for (std::size_t n = 0; n < copies_wanted; ++n, ++blocks)
      if (record_at<le32>(copies, n * 4) != primary.value + groups[n] * g.blocks_per_group)
        return wrong(primary, "does not name a reserved block's copy");
  }
  if (record.sectors_count != blocks * (g.block_size / 512)) wrong(kNoBlock, "counts its sectors wrongly");
}

}  // namespace iotape::ext3::check
