#include "replayer/ext3/check/htree_shape.h"

#include <algorithm>

#include "replayer/ext3/disk_format/directory_record.h"

namespace iotape::ext3::check {

HtreeShape::HtreeShape(CheckState& state, InodeNumber directory, const std::vector<BlockNumber>& blocks)
    : state_(state), directory_(directory), blocks_(blocks), roles_(blocks.size(), kUnseen) {
  std::copy(state.super.hash_seed.begin(), state.super.hash_seed.end(), seed_.begin());
  Bytes bytes(state.geometry.block_size);
  roles_[0] = kIndexRole;
  if (!read_root(bytes)) {
    usable_ = false;
    return;
  }
  const auto info = record_at<HtreeRootInfo>(bytes, kHtreeRootInfoOffset);
  read_entries(0, bytes, kHtreeRootEntriesOffset, info.indirect_levels, 0, std::uint64_t{1} << 32U);
  for (std::uint32_t block = 0; block < roles_.size(); ++block)
    if (roles_[block] == kUnseen) wrong(block, "no part of the index leads here");
}

bool HtreeShape::read_root(Bytes& bytes) {
  if (!state_.read(blocks_[0], bytes)) return false;
  const auto dot = record_at<DirectoryRecord>(bytes, 0);
  const auto dot_dot = record_at<DirectoryRecord>(bytes, record_length_for(1));
  if (dot.record_length != record_length_for(1) ||
      dot_dot.record_length != state_.geometry.block_size - record_length_for(1))
    return wrong(0, "the root is none"), false;
  const auto info = record_at<HtreeRootInfo>(bytes, kHtreeRootInfoOffset);
  if (info.reserved != 0 || info.info_length != sizeof(HtreeRootInfo) || (info.flags & 1U) != 0)
    return wrong(0, "the root's header is none"), false;
  if (info.hash_version > kLastHashVersion) return wrong(0, "unknown hash {}", info.hash_version), false;
  if (info.indirect_levels >= kHtreeMaxLevels) return wrong(0, "{} levels", info.indirect_levels + 1), false;
  constexpr std::uint8_t kFirstUnsigned = 3;
  unsigned_ = info.hash_version >= kFirstUnsigned || (state_.super.flags & kFlagUnsignedHash) != 0;
  version_ = static_cast<HashVersion>(info.hash_version % kFirstUnsigned);
  return true;
}

bool HtreeShape::read_node(std::uint32_t file_block, Bytes& bytes) {
  if (!state_.read(blocks_[file_block], bytes)) return usable_ = false;
  const auto disguise = record_at<DirectoryRecord>(bytes, 0);
  if (disguise.inode != 0 || disguise.record_length != state_.geometry.block_size)
    return wrong(file_block, "a node must look like an empty block"), false;
  return true;
}

// Entries of one node, whose hashes lie in [least, beyond).
void HtreeShape::read_entries(std::uint32_t file_block, std::span<const std::byte> bytes, std::uint32_t offset,
                              std::uint32_t levels, std::uint32_t least, std::uint64_t beyond) {
  const auto counts = record_at<HtreeCountLimit>(bytes, offset);
  const std::uint32_t room = (state_.geometry.block_size - offset) / sizeof(HtreeEntry);
  if (counts.limit != room || counts.count == 0 || counts.count > counts.limit)
    return wrong(file_block, "{} entries of at most {}, there is room for {}", static_cast<std::uint16_t>(counts.count),
                 static_cast<std::uint16_t>(counts.limit), room);
  const auto entry = [&](std::uint32_t i) { return record_at<HtreeEntry>(bytes, offset + i * sizeof(HtreeEntry)); };
  const auto hash = [&](std::uint32_t i) { return i == 0 ? least : std::uint32_t{entry(i).hash}; };
  for (std::uint32_t i = 0; i < counts.count; ++i) {
    if (i != 0 && (hash(i) < hash(i - 1) || hash(i) >= beyond || (i == 1 && hash(i) < least)))
      wrong(file_block, "entry {} is out of order", i);
    const std::uint64_t next = i + 1U < counts.count ? hash(i + 1) : beyond;
    child(file_block, entry(i).block & kHtreeBlockMask, levels, hash(i), next);
  }
}

void HtreeShape::child(std::uint32_t parent, std::uint32_t file_block, std::uint32_t levels, std::uint32_t least,
                       std::uint64_t beyond) {
  if (file_block >= blocks_.size()) return wrong(parent, "names block {} of {}", file_block, blocks_.size());
  if (roles_[file_block] != kUnseen) return wrong(parent, "block {} is named twice", file_block);
  if (levels == 0) {
    roles_[file_block] = static_cast<std::uint32_t>(leaves_.size());
    leaves_.push_back({least, file_block});
    return;
  }
  roles_[file_block] = kIndexRole;
  Bytes bytes(state_.geometry.block_size);
  if (read_node(file_block, bytes)) read_entries(file_block, bytes, kHtreeNodeEntriesOffset, levels - 1, least, beyond);
}

NameHash HtreeShape::hash(std::string_view name) const { return hash_name(version_, unsigned_, seed_, name); }

// The last leaf that begins at or before the hash; then those that continue it.
bool HtreeShape::leads_to(const NameHash& hash, std::uint32_t file_block) const {
  const std::uint32_t place = roles_[file_block];
  const auto after = std::upper_bound(leaves_.begin(), leaves_.end(), hash.major,
                                      [](std::uint32_t value, const Leaf& leaf) { return value < leaf.hash; });
  if (after == leaves_.begin()) return false;
  auto at = static_cast<std::uint32_t>(after - leaves_.begin()) - 1;
  while (at < place && (leaves_[at + 1].hash & ~1U) == hash.major) ++at;
  // Coming from before: the loop above stops at place. A place behind the first one is never looked into.
  return at == place;
}

}  // namespace iotape::ext3::check
