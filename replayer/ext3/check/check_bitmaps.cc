// Bitmaps and counters against what was found in use.
#include <algorithm>
#include <bit>

#include "replayer/ext3/check/check_state.h"

namespace iotape::ext3::check {
namespace {

// Differences of one bitmap: how many each way, and the first.
struct Difference {
  std::uint32_t only_marked = 0;
  std::uint32_t only_used = 0;
  std::uint32_t first = 0;
  void add(std::uint8_t marked, std::uint8_t used, std::uint32_t first_bit) {
    if (marked == used) return;
    if (only_marked + only_used == 0)
      first = first_bit + static_cast<std::uint32_t>(std::countr_zero(static_cast<std::uint8_t>(marked ^ used)));
    only_marked += static_cast<std::uint32_t>(std::popcount(static_cast<std::uint8_t>(marked & ~used)));
    only_used += static_cast<std::uint32_t>(std::popcount(static_cast<std::uint8_t>(used & ~marked)));
  }
  [[nodiscard]] bool any() const { return only_marked + only_used != 0; }
};

// The first `valid` bits of a byte; the others as 1.
std::uint8_t padded(std::uint8_t byte, std::uint32_t valid) {
  return valid >= 8 ? byte : static_cast<std::uint8_t>(byte | (0xFFU << valid));
}

template <typename UsedByte>
Difference compare(std::span<const std::byte> bitmap, std::uint32_t bits, const UsedByte& used) {
  Difference difference;
  for (std::uint32_t at = 0; at < (bits + 7) / 8; ++at) {
    const std::uint32_t valid = bits - at * 8;
    difference.add(padded(std::to_integer<std::uint8_t>(bitmap[at]), valid), padded(used(at), valid), at * 8);
  }
  return difference;
}

bool padding_is_set(std::span<const std::byte> bitmap, std::uint32_t bits) {
  for (std::uint32_t bit = bits; bit < bitmap.size() * 8; ++bit)
    if ((bitmap[bit / 8] >> (bit % 8) & std::byte{1}) == std::byte{0}) return false;
  return true;
}

class GroupCheck {
 public:
  GroupCheck(CheckState& state, GroupNumber group)
      : state_(state), g_(state.geometry), group_(group), descriptor_(state.groups[group.value]) {}

  // Returns what the group has free: blocks, inodes.
  std::pair<std::uint32_t, std::uint32_t> check() {
    const std::uint32_t free_blocks = check_blocks();
    const std::uint32_t free_inodes = check_inodes();
    count("free blocks", descriptor_.free_blocks_count, free_blocks);
    count("free inodes", descriptor_.free_inodes_count, free_inodes);
    count("directories", descriptor_.used_directories_count, state_.group_directories[group_.value]);
    return {free_blocks, free_inodes};
  }

 private:
  void count(const char* what, std::uint32_t stored, std::uint32_t counted) {
    if (stored != counted)
      state_.problem(ProblemKind::kFreeCount, kNoInode, kNoBlock, "group {} counts {} {}, it has {}", group_.value,
                     stored, what, counted);
  }
  void report(ProblemKind kind, const char* what, const Difference& difference, std::uint32_t first) {
    state_.problem(kind, kind == ProblemKind::kInodeBitmap ? InodeNumber(first) : kNoInode,
                   kind == ProblemKind::kBlockBitmap ? BlockNumber(first) : kNoBlock,
                   "group {}: {} {} are marked but not in use, {} in use but not marked; the first is {}", group_.value,
                   difference.only_marked, what, difference.only_used, first);
  }
  void check_padding(ProblemKind kind, std::span<const std::byte> bitmap, std::uint32_t bits) {
    if (!padding_is_set(bitmap, bits))
      state_.problem(kind, kNoInode, kNoBlock, "group {}: bits beyond the bitmap's end are not set", group_.value);
  }
  std::uint32_t check_blocks() {
    const std::uint32_t bits = g_.group_blocks(group_);
    const std::uint32_t first_byte = group_.value * (g_.blocks_per_group / 8);
    const auto used = [&](std::uint32_t at) { return state_.used_blocks.byte(first_byte + at); };
    std::uint32_t free = bits;
    for (std::uint32_t at = 0; at < (bits + 7) / 8; ++at) free -= static_cast<std::uint32_t>(std::popcount(used(at)));
    Bytes bitmap(g_.block_size);
    if (!state_.read(BlockNumber(descriptor_.block_bitmap), bitmap)) return free;
    const Difference difference = compare(bitmap, bits, used);
    if (difference.any())
      report(ProblemKind::kBlockBitmap, "blocks", difference, g_.group_first(group_).value + difference.first);
    check_padding(ProblemKind::kBlockBitmap, bitmap, bits);
    return free;
  }
  // Reserved inodes count as used, whatever they hold.
  std::uint8_t used_inodes(std::uint32_t at) const {
    std::uint8_t byte = 0;
    for (std::uint32_t i = 0; i < 8 && at * 8 + i < g_.inodes_per_group; ++i) {
      const InodeNumber inode = g_.inode_at(group_, at * 8 + i);
      if (inode.value < g_.first_inode || state_.types.get(inode.value) != 0 || state_.links.get(inode.value) != 0)
        byte = static_cast<std::uint8_t>(byte | (1U << i));
    }
    return byte;
  }
  std::uint32_t check_inodes() {
    const std::uint32_t bits = g_.inodes_per_group;
    std::uint32_t used = state_.group_used_inodes[group_.value];
    if (group_.value == 0) used += std::min(g_.first_inode - 1, bits);
    state_.report.used_inodes += used;
    Bytes bitmap(g_.block_size);
    if (!state_.read(BlockNumber(descriptor_.inode_bitmap), bitmap)) return bits - used;
    const Difference difference = compare(bitmap, bits, [&](std::uint32_t at) { return used_inodes(at); });
    if (difference.any())
      report(ProblemKind::kInodeBitmap, "inodes", difference, g_.inode_at(group_, difference.first).value);
    check_padding(ProblemKind::kInodeBitmap, bitmap, bits);
    return bits - used;
  }

  CheckState& state_;
  const Geometry& g_;
  GroupNumber group_;
  const GroupDescriptor& descriptor_;
};

}  // namespace

void check_bitmaps(CheckState& state) {
  std::uint64_t free_blocks = 0;
  std::uint64_t free_inodes = 0;
  for (std::uint32_t group = 0; group < state.geometry.group_count; ++group) {
    const auto [blocks, inodes] = GroupCheck(state, GroupNumber(group)).check();
    free_blocks += blocks;
    free_inodes += inodes;
  }
  const auto total = [&](const char* what, std::uint32_t stored, std::uint64_t counted) {
    if (stored != counted)
      state.problem(ProblemKind::kFreeCount, kNoInode, kNoBlock, "the volume counts {} free {}, it has {}", stored,
                    what, counted);
  };
  // After a crash the totals are as old as the last unmount; whoever mounts counts the groups anew.
  if (state.totals_are_old) return;
  total("blocks", state.super.free_blocks_count, free_blocks);
  total("inodes", state.super.free_inodes_count, free_inodes);
}

}  // namespace iotape::ext3::check
