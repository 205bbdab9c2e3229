// The volume itself: superblock, its copies, group descriptors and the blocks that all of these take.
#include <algorithm>
#include <array>
#include <cstring>

#include "replayer/ext3/check/check_state.h"

namespace iotape::ext3::check {
namespace {

template <typename... Arguments>
bool refuse_superblock(CheckState& state, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  state.problem(ProblemKind::kSuperblock, kNoInode, kNoBlock, text, std::forward<Arguments>(arguments)...);
  return false;
}

bool read_superblock(CheckState& state) {
  std::array<std::byte, sizeof(Superblock)> bytes{};
  const std::array<IoPart, 1> parts{{{bytes.data(), sizeof(Superblock), {}}}};
  if (state.device.size() < kSuperblockOffset + sizeof(Superblock) ||
      !state.device.read(kSuperblockOffset, parts, IoReason::kDemand)) {
    state.problem(ProblemKind::kUnreadable, kNoInode, kNoBlock, "the superblock cannot be read");
    return false;
  }
  std::memcpy(&state.super, bytes.data(), sizeof(Superblock));
  if (state.super.magic != kSuperblockMagic)
    return refuse_superblock(state, "no ext2 or ext3 here: the magic number is {:#06x}",
                             static_cast<std::uint16_t>(state.super.magic));
  return true;
}

bool check_features(CheckState& state) {
  const Superblock& s = state.super;
  const auto note = [&](const char* kind, std::uint32_t bits) {
    if (bits != 0)
      state.problem(ProblemKind::kFeature, kNoInode, kNoBlock, "{} feature bits {:#x} are not ext3's", kind, bits);
  };
  if (s.revision == 0) {
    note("any", s.compatible_features | s.incompatible_features | s.read_only_features);
    return true;
  }
  const std::uint32_t foreign = s.incompatible_features & ~kSupportedIncompatible;
  note("incompatible", foreign);
  note("read-only", s.read_only_features & ~kSupportedReadOnly);
  return foreign == 0;
}

bool check_sizes(CheckState& state) {
  const Superblock& s = state.super;
  if (s.revision > 1) return refuse_superblock(state, "unknown revision {}", static_cast<std::uint32_t>(s.revision));
  if (s.log_block_size > 2)
    return refuse_superblock(state, "blocks of {} KiB; ext3 has 1, 2 or 4",
                             std::uint64_t{1} << std::min<std::uint32_t>(s.log_block_size, 63));
  Geometry& g = state.geometry;
  g.block_size = 1024U << s.log_block_size;
  g.block_count = s.blocks_count;
  g.first_data_block = s.first_data_block;
  g.blocks_per_group = s.blocks_per_group;
  g.inodes_per_group = s.inodes_per_group;
  g.inode_size = s.revision == 0 ? 128U : static_cast<std::uint32_t>(s.inode_size);
  g.first_inode = s.revision == 0 ? kFirstOrdinaryInode.value : static_cast<std::uint32_t>(s.first_inode);
  g.inode_count = s.inodes_count;
  g.sparse_super = (s.read_only_features & kFeatureSparseSuper) != 0;
  if (g.first_data_block != (g.block_size == 1024 ? 1U : 0U))
    return refuse_superblock(state, "the first data block is {}", g.first_data_block);
  if (g.block_count <= g.first_data_block || std::uint64_t{g.block_count} * g.block_size > state.device.size())
    return refuse_superblock(state, "{} blocks of {} bytes on a device of {} bytes", g.block_count, g.block_size,
                             state.device.size());
  if (g.blocks_per_group < 8 || g.blocks_per_group % 8 != 0 || g.blocks_per_group > 8 * g.block_size)
    return refuse_superblock(state, "{} blocks in a group", g.blocks_per_group);
  if (g.inode_size < 128 || g.inode_size > g.block_size || (g.inode_size & (g.inode_size - 1)) != 0)
    return refuse_superblock(state, "inodes of {} bytes", g.inode_size);
  if (g.inodes_per_group < g.inodes_per_block() || g.inodes_per_group > 8 * g.block_size)
    return refuse_superblock(state, "{} inodes in a group", g.inodes_per_group);
  return true;
}

bool derive_geometry(CheckState& state) {
  Geometry& g = state.geometry;
  g.group_count = (g.block_count - g.first_data_block + g.blocks_per_group - 1) / g.blocks_per_group;
  g.inode_table_blocks = (g.inodes_per_group + g.inodes_per_block() - 1) / g.inodes_per_block();
  g.descriptor_blocks = (g.group_count + g.descriptors_per_block() - 1) / g.descriptors_per_block();
  g.reserved_gdt_blocks = state.super.reserved_gdt_blocks;
  if (std::uint64_t{g.inodes_per_group} * g.group_count != g.inode_count)
    return refuse_superblock(state, "{} inodes, but {} groups of {}", g.inode_count, g.group_count, g.inodes_per_group);
  if (g.first_inode < kFirstOrdinaryInode.value || g.first_inode > g.inode_count)
    return refuse_superblock(state, "the first ordinary inode is {} of {}", g.first_inode, g.inode_count);
  if (g.reserved_gdt_blocks > g.pointers_per_block())
    return refuse_superblock(state, "{} blocks reserved for descriptors", g.reserved_gdt_blocks);
  const std::uint64_t fixed = std::uint64_t{g.descriptor_blocks} + g.reserved_gdt_blocks + 3 + g.inode_table_blocks;
  if (fixed > g.blocks_per_group || g.first_data_block + 1 + g.descriptor_blocks > g.block_count)
    return refuse_superblock(state, "groups of {} blocks cannot hold their tables of {}", g.blocks_per_group, fixed);
  return true;
}

void check_harmless_fields(CheckState& state) {
  const Superblock& s = state.super;
  if (s.reserved_blocks_count > s.blocks_count / 2)
    refuse_superblock(state, "{} of {} blocks are reserved", static_cast<std::uint32_t>(s.reserved_blocks_count),
                      static_cast<std::uint32_t>(s.blocks_count));
  if (s.log_fragment_size != s.log_block_size || s.fragments_per_group != s.blocks_per_group)
    refuse_superblock(state, "fragments are not blocks");
  if (s.revision != 0 && s.default_hash_version > kLastHashVersion)
    refuse_superblock(state, "unknown hash {}", s.default_hash_version);
  if (s.reserved_gdt_blocks != 0 && !state.has(kFeatureResizeInode))
    state.problem(ProblemKind::kResizeBlocks, kNoInode, kNoBlock,
                  "{} blocks are reserved for descriptors without the resize_inode feature",
                  static_cast<std::uint16_t>(s.reserved_gdt_blocks));
  if ((s.state & kStateErrors) != 0)
    state.problem(ProblemKind::kState, kNoInode, kNoBlock, "errors were noted when it was last in use");
  if ((s.incompatible_features & kFeatureRecover) != 0)
    state.problem(ProblemKind::kState, kNoInode, kNoBlock,
                  "the journal waits to be replayed; mount it once, until then the rest may look damaged");
}

// A group's bitmap or table lies within the group and is nobody else's.
bool claim_tables(CheckState& state, GroupNumber group) {
  const Geometry& g = state.geometry;
  const GroupDescriptor& d = state.groups[group.value];
  const std::uint32_t first = g.group_first(group).value;
  const std::uint32_t count = g.group_blocks(group);
  const auto take = [&](const char* what, std::uint32_t block, std::uint32_t blocks) {
    if (block < first || block - first > count || blocks > count - (block - first)) {
      state.problem(ProblemKind::kDescriptor, kNoInode, BlockNumber(block), "group {}: its {} at {} lies outside of it",
                    group.value, what, block);
      return false;
    }
    for (std::uint32_t i = 0; i < blocks; ++i)
      if (!state.claim(BlockNumber(block + i)))
        state.problem(ProblemKind::kSharedBlock, kNoInode, BlockNumber(block + i),
                      "block {} is part of group {}'s {} and of another table", block + i, group.value, what);
    return true;
  };
  const bool blocks = take("block bitmap", d.block_bitmap, 1);
  const bool inodes = take("inode bitmap", d.inode_bitmap, 1);
  return take("inode table", d.inode_table, g.inode_table_blocks) && blocks && inodes;
}

}  // namespace

bool check_superblock(CheckState& state) {
  if (!read_superblock(state) || !check_features(state) || !check_sizes(state) || !derive_geometry(state)) return false;
  check_harmless_fields(state);
  const Geometry& g = state.geometry;
  state.report.block_count = g.block_count;
  state.report.inode_count = g.inode_count;
  state.used_blocks = PagedBits(g.block_count);
  state.types = PagedArray<std::uint8_t>(std::uint64_t{g.inode_count} + 1);
  state.links = PagedArray<std::uint16_t>(std::uint64_t{g.inode_count} + 1);
  state.names = PagedArray<std::uint16_t>(std::uint64_t{g.inode_count} + 1);
  state.group_used_inodes.assign(g.group_count, 0);
  state.group_directories.assign(g.group_count, 0);
  return true;
}

bool check_descriptors(CheckState& state) {
  const Geometry& g = state.geometry;
  Bytes table(std::size_t{g.descriptor_blocks} * g.block_size);
  if (!state.read(g.descriptor_table(), table)) return false;
  state.groups.resize(g.group_count);
  std::memcpy(state.groups.data(), table.data(), state.groups.size() * sizeof(GroupDescriptor));
  bool whole = true;
  for (std::uint32_t i = 0; i < g.group_count; ++i) {
    const GroupNumber group(i);
    const std::uint32_t end = g.group_first(group).value + std::min(g.backup_blocks(group), g.group_blocks(group));
    for (std::uint32_t block = g.group_first(group).value; block < end; ++block) state.claim(BlockNumber(block));
    whole = claim_tables(state, group) && whole;
  }
  return whole;
}

// The copies must do for a rescue: they name the same volume, divided in the same way. One that was never written is
// let pass, as some tools make no copies.
void check_copies(CheckState& state) {
  const Geometry& g = state.geometry;
  const Superblock& s = state.super;
  for (std::uint32_t i = 1; i < g.group_count; ++i) {
    if (!g.has_backup(GroupNumber(i))) continue;
    const BlockNumber block = g.group_first(GroupNumber(i));
    Bytes bytes(g.block_size);
    if (!state.read(block, bytes)) continue;
    const auto copy = record_at<Superblock>(bytes, 0);
    if (copy.magic != kSuperblockMagic) continue;
    if (copy.blocks_count != s.blocks_count || copy.inodes_count != s.inodes_count ||
        copy.blocks_per_group != s.blocks_per_group || copy.inodes_per_group != s.inodes_per_group ||
        copy.log_block_size != s.log_block_size)
      state.problem(ProblemKind::kSuperblock, kNoInode, block, "the copy in group {} describes another volume", i);
  }
}

}  // namespace iotape::ext3::check
