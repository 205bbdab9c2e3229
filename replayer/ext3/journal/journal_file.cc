#include "replayer/ext3/journal/journal_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "replayer/ext3/disk_format/group_descriptor.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint32_t kLongestJournal = 10'240'000;  // blocks; mke2fs's own limit

tl::unexpected<Error> damaged(std::string_view what) {
  return failure(ErrorCode::kCorrupt, fmt::format("the journal: {}; run e2fsck on the image", what));
}
tl::unexpected<Error> unreadable(std::string_view what) {
  return failure(ErrorCode::kIo, fmt::format("the journal: cannot read {}", what));
}

Result<InodeRecord> read_inode(BlockDevice& device, const Geometry& geometry, InodeNumber inode) {
  const std::uint32_t group = geometry.group_of(inode).value;
  std::vector<std::byte> block(geometry.block_size);
  const std::uint32_t per_block = geometry.descriptors_per_block();
  const BlockNumber table(geometry.descriptor_table().value + group / per_block);
  if (!read_raw(device, table, geometry.block_size, block.data(), BlockCause::kGroupDescriptor))
    return unreadable("the group descriptors");
  GroupDescriptor descriptor;
  std::memcpy(&descriptor, block.data() + group % per_block * sizeof descriptor, sizeof descriptor);
  const std::uint32_t index = geometry.bit_of(inode);
  const BlockNumber at(descriptor.inode_table + index / geometry.inodes_per_block());
  if (!geometry.plausible(at)) return damaged("its inode lies outside the device");
  if (!read_raw(device, at, geometry.block_size, block.data(), BlockCause::kInodeTable)) return unreadable("its inode");
  InodeRecord record;
  std::memcpy(&record, block.data() + std::size_t{index % geometry.inodes_per_block()} * geometry.inode_size,
              sizeof record);
  return record;
}

// Appends the blocks under one pointer of the map; depth 0 is a block of the file itself.
Result<void> walk(BlockDevice& device, const Geometry& geometry, BlockNumber block, int depth, std::size_t length,
                  std::vector<BlockNumber>& blocks) {
  if (blocks.size() >= length) return {};
  if (!geometry.plausible(block)) return damaged("its file has a hole or leaves the device");
  if (depth == 0) {
    blocks.push_back(block);
    return {};
  }
  std::vector<le32> pointers(geometry.pointers_per_block());
  if (!read_raw(device, block, geometry.block_size, reinterpret_cast<std::byte*>(pointers.data()),
                BlockCause::kIndirect))
    return unreadable("an indirect block");
  for (const le32 pointer : pointers) {
    if (blocks.size() >= length) break;
    IOTAPE_TRY(walk(device, geometry, BlockNumber(pointer), depth - 1, length, blocks));
  }
  return {};
}

Result<std::vector<BlockNumber>> map_of(BlockDevice& device, const Geometry& geometry, const InodeRecord& record) {
  const std::uint64_t length = record.size_low / geometry.block_size;
  if (length < kJournalMinimumBlocks || length > kLongestJournal || length > geometry.block_count)
    return damaged(fmt::format("its file has {} blocks", length));
  std::vector<BlockNumber> blocks;
  blocks.reserve(length);
  for (std::uint32_t slot = 0; slot < kBlockSlots && blocks.size() < length; ++slot) {
    const int depth = slot < kDirectBlocks ? 0 : static_cast<int>(slot - kDirectBlocks) + 1;
    IOTAPE_TRY(walk(device, geometry, BlockNumber(record.block[slot]), depth, length, blocks));
  }
  std::vector<BlockNumber> sorted = blocks;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) return damaged("a block of its file is in it twice");
  return blocks;
}

Result<void> check(const JournalSuperblock& superblock, const JournalFile& journal) {
  if (superblock.header.magic != kJournalMagic ||
      (superblock.header.type != kJournalSuperblockV1 && superblock.header.type != kJournalSuperblockV2))
    return damaged("it does not begin with a superblock");
  if (superblock.block_size != journal.block_size) return damaged("its block size is not the filesystem's");
  if (superblock.max_length > journal.length() || superblock.max_length < kJournalMinimumBlocks)
    return damaged("its length is not its file's");
  if (superblock.first == 0 || superblock.first >= superblock.max_length) return damaged("its log begins outside it");
  if (superblock.start >= superblock.max_length || (superblock.start != 0 && superblock.start < superblock.first))
    return damaged("the log's start lies outside it");
  if (superblock.header.type == kJournalSuperblockV2 &&
      (superblock.incompatible_features & ~kJournalFeatureRevoke) != 0)
    return failure(ErrorCode::kUnsupported, fmt::format("the journal has features that ext3 does not know (0x{:x})",
                                                        static_cast<std::uint32_t>(superblock.incompatible_features)));
  return {};
}

}  // namespace

Answer<void> read_raw(BlockDevice& device, BlockNumber block, std::uint32_t block_size, std::byte* data,
                      BlockCause cause) {
  BlockTag tag;
  tag.cause = cause;
  const std::array<IoPart, 1> part{IoPart{data, block_size, tag}};
  return device.read(std::uint64_t{block.value} * block_size, part, IoReason::kDemand);
}

Answer<void> write_raw(BlockDevice& device, BlockNumber block, std::uint32_t block_size, std::byte* data,
                       BlockCause cause) {
  BlockTag tag;
  tag.cause = cause;
  const std::array<IoPart, 1> part{IoPart{data, block_size, tag}};
  return device.write(std::uint64_t{block.value} * block_size, part, IoReason::kDemand);
}

Result<JournalFile> read_journal_file(BlockDevice& device, const Geometry& geometry, InodeNumber inode) {
  if (inode == kNoInode || inode.value > geometry.inode_count) return damaged("it has no inode");
  IOTAPE_ASSIGN(const InodeRecord record, read_inode(device, geometry, inode));
  JournalFile journal;
  journal.block_size = geometry.block_size;
  IOTAPE_ASSIGN(journal.blocks, map_of(device, geometry, record));
  std::vector<std::byte> block(geometry.block_size);
  if (!read_raw(device, journal.blocks[0], geometry.block_size, block.data(), BlockCause::kJournal))
    return unreadable("its superblock");
  std::memcpy(&journal.superblock, block.data(), sizeof journal.superblock);
  IOTAPE_TRY(check(journal.superblock, journal));
  return journal;
}

Answer<void> write_journal_superblock(BlockDevice& device, JournalFile& journal) {
  std::vector<std::byte> block(journal.block_size);
  std::memcpy(block.data(), &journal.superblock, sizeof journal.superblock);
  return write_raw(device, journal.blocks[0], journal.block_size, block.data(), BlockCause::kJournal);
}

}  // namespace iotape::ext3
