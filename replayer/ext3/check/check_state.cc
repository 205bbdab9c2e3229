#include "replayer/ext3/check/check_state.h"

#include <algorithm>
#include <array>

namespace iotape::ext3::check {

bool CheckState::read(BlockNumber first, std::span<std::byte> bytes) {
  const std::array<IoPart, 1> parts{{{bytes.data(), static_cast<std::uint32_t>(bytes.size()), {}}}};
  if (device.read(std::uint64_t{first.value} * geometry.block_size, parts, IoReason::kDemand)) return true;
  problem(ProblemKind::kUnreadable, kNoInode, first, "block {} cannot be read", first.value);
  return false;
}

Bytes CheckState::read_inode(InodeNumber number) {
  const std::uint32_t bit = geometry.bit_of(number);
  const std::uint32_t block = bit / geometry.inodes_per_block();
  Bytes table(geometry.block_size);
  if (!read(BlockNumber(groups[geometry.group_of(number).value].inode_table + block), table)) return {};
  const std::byte* const at = table.data() + std::size_t{bit % geometry.inodes_per_block()} * geometry.inode_size;
  return {at, at + geometry.inode_size};
}

DirectoryNote* CheckState::directory(InodeNumber number) {
  const auto found = std::lower_bound(directories.begin(), directories.end(), number,
                                      [](const DirectoryNote& note, InodeNumber n) { return note.number < n; });
  return found == directories.end() || found->number != number ? nullptr : &*found;
}

std::string printable(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F && byte != '\\')
      text += c;
    else
      text += fmt::format("\\x{:02x}", byte);
  }
  return text;
}

}  // namespace iotape::ext3::check

namespace iotape::ext3 {

CheckReport check_filesystem(BlockDevice& device, const CheckOptions& options) {
  check::CheckState state(device, options);
  if (check::check_superblock(state) && check::check_descriptors(state)) {
    check::check_copies(state);
    check::check_orphans(state);
    check::check_inodes(state);
    check::check_journal(state);
    check::check_attribute_references(state);
    check::check_directories(state);
    check::check_links(state);
    check::check_bitmaps(state);
    state.report.complete = true;
  }
  state.report.problem_count = state.problems.count();
  state.report.problems = state.problems.take();
  return state.report;
}

}  // namespace iotape::ext3
