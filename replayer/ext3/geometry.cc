#include "replayer/ext3/geometry.h"

#include <fmt/format.h>

#include <algorithm>

#include "replayer/ext3/disk_format/inode_record.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint32_t kRevisionWithoutSizes = 0;  // "good old": 128-byte inodes, 11 the first ordinary one
constexpr std::uint32_t kLargestLogBlockSize = 2;   // 4 KiB
constexpr std::uint32_t kLeastInodesPerGroup = 8;   // then the reserved ones fill more than a group

std::uint64_t divided_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

tl::unexpected<Error> unsound(std::string_view field, std::uint64_t value) {
  return failure(ErrorCode::kCorrupt, fmt::format("the superblock's {} cannot be {}", field, value));
}

// Indirect blocks that a file without holes of that many blocks takes.
std::uint64_t mapping_blocks(std::uint64_t blocks, std::uint64_t pointers) {
  if (blocks <= kDirectBlocks) return 0;
  std::uint64_t left = blocks - kDirectBlocks;
  std::uint64_t taken = 1;
  if (left <= pointers) return taken;
  left -= pointers;
  taken += 1 + divided_up(std::min(left, pointers * pointers), pointers);
  if (left <= pointers * pointers) return taken;
  left -= pointers * pointers;
  return taken + 1 + divided_up(left, pointers * pointers) + divided_up(left, pointers);
}

Result<void> check_sizes(const Superblock& superblock) {
  if (superblock.magic != kSuperblockMagic)
    return failure(ErrorCode::kCorrupt, "there is no ext2 or ext3 superblock (magic number missing)");
  if (superblock.log_block_size > kLargestLogBlockSize)
    return failure(ErrorCode::kUnsupported, fmt::format("blocks of 2^{} KiB are not supported (1, 2 and 4 KiB are)",
                                                        std::uint32_t{superblock.log_block_size}));
  if (superblock.revision == kRevisionWithoutSizes) return {};
  if (superblock.inode_size != 128 && superblock.inode_size != 256)
    return failure(ErrorCode::kUnsupported, fmt::format("inodes of {} bytes are not supported (128 and 256 are)",
                                                        std::uint16_t{superblock.inode_size}));
  if (superblock.first_inode < kFirstOrdinaryInode.value || superblock.first_inode > superblock.inodes_count)
    return unsound("first inode", superblock.first_inode);
  return {};
}

// What lies at a group's start, its bitmaps and its inode table have to fit in it.
Result<void> check_groups(const Geometry& geometry) {
  const std::uint32_t bits = geometry.block_size * 8;
  if (geometry.blocks_per_group < 8 || geometry.blocks_per_group > bits)
    return unsound("blocks per group", geometry.blocks_per_group);
  if (geometry.inodes_per_group < kLeastInodesPerGroup || geometry.inodes_per_group > bits)
    return unsound("inodes per group", geometry.inodes_per_group);
  if (geometry.reserved_gdt_blocks > geometry.pointers_per_block())
    return unsound("number of reserved descriptor blocks", geometry.reserved_gdt_blocks);
  if (geometry.block_count <= geometry.first_data_block) return unsound("number of blocks", geometry.block_count);
  return {};
}

Result<void> check_totals(const Superblock& superblock, const Geometry& geometry, std::uint64_t device_bytes) {
  const std::uint64_t overhead =
      std::uint64_t{1} + geometry.descriptor_blocks + geometry.reserved_gdt_blocks + 2 + geometry.inode_table_blocks;
  if (overhead > geometry.blocks_per_group) return unsound("blocks per group", geometry.blocks_per_group);
  if (std::uint64_t{geometry.group_count} * geometry.inodes_per_group != superblock.inodes_count)
    return unsound("number of inodes", superblock.inodes_count);
  if (std::uint64_t{geometry.block_count} * geometry.block_size > device_bytes)
    return failure(ErrorCode::kCorrupt,
                   fmt::format("the filesystem has {} blocks of {} bytes, but its device only {} bytes",
                               geometry.block_count, geometry.block_size, device_bytes));
  return {};
}

}  // namespace

std::uint64_t Geometry::largest_file() const {
  const std::uint64_t pointers = pointers_per_block();
  const std::uint64_t reach = kDirectBlocks + pointers + pointers * pointers + pointers * pointers * pointers;
  const std::uint64_t countable = 0xFFFFFFFFU / (block_size / 512);  // data and indirect blocks together
  if (reach + mapping_blocks(reach, pointers) <= countable) return reach * block_size;
  return (countable - mapping_blocks(countable, pointers)) * block_size;
}

Result<Geometry> read_geometry(const Superblock& superblock, std::uint64_t device_bytes) {
  IOTAPE_TRY(check_sizes(superblock));
  const bool old = superblock.revision == kRevisionWithoutSizes;
  Geometry geometry;
  geometry.block_size = 1024U << superblock.log_block_size;
  geometry.block_count = superblock.blocks_count;
  geometry.first_data_block = superblock.first_data_block;
  geometry.blocks_per_group = superblock.blocks_per_group;
  geometry.inodes_per_group = superblock.inodes_per_group;
  geometry.inode_size = old ? 128U : std::uint32_t{std::uint16_t{superblock.inode_size}};
  geometry.first_inode = old ? kFirstOrdinaryInode.value : std::uint32_t{superblock.first_inode};
  geometry.inode_count = superblock.inodes_count;
  geometry.sparse_super = (superblock.read_only_features & kFeatureSparseSuper) != 0;
  const bool room_to_grow = (superblock.compatible_features & kFeatureResizeInode) != 0;
  geometry.reserved_gdt_blocks = room_to_grow ? std::uint32_t{std::uint16_t{superblock.reserved_gdt_blocks}} : 0;
  if (geometry.first_data_block != (geometry.block_size == 1024 ? 1U : 0U))
    return unsound("first data block", geometry.first_data_block);
  IOTAPE_TRY(check_groups(geometry));

  const std::uint64_t blocks = geometry.block_count - geometry.first_data_block;
  geometry.group_count = static_cast<std::uint32_t>(divided_up(blocks, geometry.blocks_per_group));
  geometry.inode_table_blocks = static_cast<std::uint32_t>(
      divided_up(std::uint64_t{geometry.inodes_per_group} * geometry.inode_size, geometry.block_size));
  geometry.descriptor_blocks =
      static_cast<std::uint32_t>(divided_up(geometry.group_count, geometry.descriptors_per_block()));
  IOTAPE_TRY(check_totals(superblock, geometry, device_bytes));
  return geometry;
}

}  // namespace iotape::ext3
