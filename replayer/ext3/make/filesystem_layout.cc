#include "replayer/ext3/make/filesystem_layout.h"

#include <fmt/format.h>

namespace iotape::ext3 {
namespace {

// Hands out free blocks in ascending order. Past the volume's end it hands out 0 and remembers.
class Allocation {
 public:
  Allocation(const FilesystemPlan& plan, std::vector<BlockExtent>& used)
      : plan_(plan), used_(used), next_(plan.geometry.first_data_block) {}

  std::uint32_t take() {
    const Geometry& g = plan_.geometry;
    if (next_ < g.block_count) {
      const GroupNumber group = g.group_of(BlockNumber(next_));
      if (const std::uint32_t overhead = plan_.overhead(group); g.bit_of(BlockNumber(next_)) < overhead)
        next_ = g.group_first(group).value + overhead;
    }
    if (next_ >= g.block_count) {
      full_ = true;
      return 0;
    }
    if (!used_.empty() && used_.back().first + used_.back().count == next_)
      ++used_.back().count;
    else
      used_.push_back({next_, 1});
    return next_++;
  }
  [[nodiscard]] bool full() const { return full_; }

 private:
  const FilesystemPlan& plan_;
  std::vector<BlockExtent>& used_;
  std::uint32_t next_;
  bool full_ = false;
};

// Maps the journal's blocks one after the other, each indirect block just before the first block it names.
class JournalMap {
 public:
  JournalMap(const FilesystemPlan& plan, FilesystemLayout& layout, Allocation& allocation)
      : per_block_(plan.geometry.pointers_per_block()),
        left_(plan.journal_blocks),
        layout_(layout),
        allocation_(allocation) {}

  void build() {
    for (std::uint32_t slot = 0; slot < kBlockSlots && left_ != 0 && !allocation_.full(); ++slot)
      layout_.journal[slot] = subtree(slot < kDirectBlocks ? 0 : slot - kDirectBlocks + 1);
  }

 private:
  std::uint32_t subtree(std::uint32_t depth) {
    const std::uint32_t block = allocation_.take();
    ++layout_.journal_inode_blocks;
    if (depth == 0) {
      --left_;
      auto& data = layout_.journal_data;
      if (!data.empty() && data.back().first + data.back().count == block)
        ++data.back().count;
      else
        data.push_back({block, 1});
      return block;
    }
    const std::size_t index = layout_.pointer_blocks.size();
    layout_.pointer_blocks.push_back({BlockNumber(block), kJournalInode, {}});
    std::vector<std::uint32_t> pointers;
    while (pointers.size() < per_block_ && left_ != 0 && !allocation_.full()) pointers.push_back(subtree(depth - 1));
    layout_.pointer_blocks[index].pointers = std::move(pointers);
    return block;
  }

  std::uint32_t per_block_;
  std::uint32_t left_;
  FilesystemLayout& layout_;
  Allocation& allocation_;
};

// The resize inode's double indirect block names the primary copy's reserved descriptor blocks, each of which names its
// counterparts in the groups with backups. A block's place among the pointers is its place in the grown table.
void map_resize_inode(const FilesystemPlan& plan, FilesystemLayout& layout, Allocation& allocation) {
  const Geometry& g = plan.geometry;
  const std::uint32_t root = allocation.take();
  layout.resize[kDoubleIndirectSlot] = root;
  layout.resize_blocks = 1;
  PointerBlock doubly{BlockNumber(root), kResizeInode, std::vector<std::uint32_t>(g.pointers_per_block())};
  for (std::uint32_t i = 0; i < g.reserved_gdt_blocks; ++i) {
    const std::uint32_t place = g.descriptor_blocks + i;
    const std::uint32_t primary = g.descriptor_table().value + place;
    doubly.pointers[place % g.pointers_per_block()] = primary;
    PointerBlock copies{BlockNumber(primary), kResizeInode, {}};
    for (std::uint32_t group = 1; group < g.group_count; ++group)
      if (g.has_backup(GroupNumber(group))) copies.pointers.push_back(primary + group * g.blocks_per_group);
    layout.resize_blocks += 1 + static_cast<std::uint32_t>(copies.pointers.size());
    layout.pointer_blocks.push_back(std::move(copies));
  }
  layout.pointer_blocks.push_back(std::move(doubly));
}

}  // namespace

Result<FilesystemLayout> lay_out(const FilesystemPlan& plan) {
  FilesystemLayout layout;
  Allocation allocation(plan, layout.used);
  layout.root = BlockNumber(allocation.take());
  for (std::uint32_t i = 0; i < plan.lost_and_found_blocks; ++i) layout.lost_and_found[i] = allocation.take();
  if (plan.features.resize_inode) map_resize_inode(plan, layout, allocation);
  JournalMap(plan, layout, allocation).build();
  if (!allocation.full()) return layout;
  const Geometry& g = plan.geometry;
  return failure(
      ErrorCode::kUsage,
      fmt::format("a volume of {} blocks of {} bytes is too small for its tables, directories{}", g.block_count,
                  g.block_size,
                  plan.journal_blocks == 0 ? "" : fmt::format(" and a journal of {} blocks", plan.journal_blocks)));
}

}  // namespace iotape::ext3
