#include "replayer/ext3/make_filesystem.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "replayer/ext3/disk_format/directory_record.h"
#include "replayer/ext3/disk_format/group_descriptor.h"
#include "replayer/ext3/disk_format/inode_record.h"
#include "replayer/ext3/disk_format/journal_record.h"
#include "replayer/ext3/make/filesystem_layout.h"
#include "replayer/ext3/make/filesystem_plan.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint32_t kAclMountOption = 0x8;
constexpr std::uint32_t kUserAttributesMountOption = 0x4;
constexpr std::uint16_t kNoMountLimit = 0xFFFF;
constexpr std::uint16_t kExtraInodeSize = sizeof(InodeRecordExtra);
// e2fsprogs keeps the number of blocks that files can never use here, so that a mount need not count them.
constexpr std::size_t kOverheadInRest = 0x248 - offsetof(Superblock, rest);

struct Identity {
  Uuid uuid{};
  Uuid hash_seed{};
};

// splitmix64: any seed will do, and the next value never depends on the library's version.
class RandomBytes {
 public:
  explicit RandomBytes(std::uint64_t seed) : state_(seed) {}
  Uuid uuid() {
    Uuid bytes{};
    for (std::size_t i = 0; i < bytes.size(); i += 8) {
      const le64 word = next();
      std::memcpy(bytes.data() + i, &word, sizeof word);
    }
    bytes[6] = (bytes[6] & 0x0FU) | 0x40U;  // RFC 4122: version 4, variant 1
    bytes[8] = (bytes[8] & 0x3FU) | 0x80U;
    return bytes;
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  std::uint64_t state_;
};

class FilesystemWriter {
 public:
  FilesystemWriter(BlockDevice& device, const FilesystemOptions& options, const FilesystemPlan& plan,
                   const FilesystemLayout& layout, const Identity& identity)
      : device_(device),
        options_(options),
        plan_(plan),
        g_(plan.geometry),
        layout_(layout),
        identity_(identity),
        now_(static_cast<std::uint32_t>(options.now)) {}

  Answer<void> write() {
    count_free();
    EXT3_TRY(forget_old());
    EXT3_TRY(write_groups());
    EXT3_TRY(write_inodes());
    EXT3_TRY(write_directories());
    for (const PointerBlock& block : layout_.pointer_blocks) EXT3_TRY(write_pointers(block));
    EXT3_TRY(write_journal());
    EXT3_TRY(write_copies());
    EXT3_TRY(device_.flush());
    EXT3_TRY(write_superblock(GroupNumber(0)));
    return device_.flush();
  }
  [[nodiscard]] std::uint64_t free_blocks() const { return free_blocks_; }

 private:
  using Block = std::vector<std::byte>;

  [[nodiscard]] Block empty_block() const { return Block(g_.block_size); }
  Answer<void> put(std::uint64_t offset, std::span<std::byte> bytes, const BlockTag& tag) {
    const std::array<IoPart, 1> parts{{{bytes.data(), static_cast<std::uint32_t>(bytes.size()), tag}}};
    return device_.write(offset, parts, IoReason::kDemand);
  }
  Answer<void> put_block(std::uint32_t block, Block& bytes, const BlockTag& tag) {
    return put(std::uint64_t{block} * g_.block_size, bytes, tag);
  }
  Answer<void> zero(const BlockExtent& extent, const BlockTag& tag) {
    return device_.write_zeros(std::uint64_t{extent.first} * g_.block_size, std::uint64_t{extent.count} * g_.block_size,
                               tag);
  }

  void count_free();
  Answer<void> forget_old();
  [[nodiscard]] Superblock superblock(GroupNumber group) const;
  Answer<void> write_superblock(GroupNumber group);
  Answer<void> write_copies();
  Answer<void> write_groups();
  Answer<void> write_inodes();
  Answer<void> write_directories();
  Answer<void> write_pointers(const PointerBlock& block);
  Answer<void> write_journal();
  void put_inode(Block& table, InodeNumber number, const InodeRecord& record) const;
  [[nodiscard]] InodeRecord inode_record(std::uint32_t mode, std::uint16_t links, std::uint64_t size,
                                         std::uint32_t blocks) const;
  [[nodiscard]] std::uint32_t group_free(GroupNumber group) const;

  BlockDevice& device_;
  const FilesystemOptions& options_;
  const FilesystemPlan& plan_;
  const Geometry& g_;
  const FilesystemLayout& layout_;
  const Identity& identity_;
  std::uint32_t now_;
  std::uint64_t free_blocks_ = 0;
};

void set_bits(std::span<std::byte> bitmap, std::uint32_t from, std::uint32_t to) {
  for (std::uint32_t bit = from; bit < to; ++bit) bitmap[bit / 8] |= std::byte{1} << (bit % 8);
}

// Calls use(first bit, end bit) for each stretch that the first files take of a group.
template <typename Use>
void for_each_used(const Geometry& g, const std::vector<BlockExtent>& used, GroupNumber group, const Use& use) {
  const std::uint32_t begin = g.group_first(group).value;
  const std::uint32_t end = begin + g.group_blocks(group);
  for (const BlockExtent& extent : used) {
    const std::uint32_t from = std::max(extent.first, begin);
    const std::uint32_t to = std::min(extent.first + extent.count, end);
    if (from < to) use(from - begin, to - begin);
  }
}

std::uint32_t FilesystemWriter::group_free(GroupNumber group) const {
  std::uint32_t free = g_.group_blocks(group) - plan_.overhead(group);
  for_each_used(g_, layout_.used, group, [&](std::uint32_t from, std::uint32_t to) { free -= to - from; });
  return free;
}

void FilesystemWriter::count_free() {
  free_blocks_ = 0;
  for (std::uint32_t group = 0; group < g_.group_count; ++group) free_blocks_ += group_free(GroupNumber(group));
}

// The boot block and the old superblock: until the new one is written, last, there is no filesystem here.
Answer<void> FilesystemWriter::forget_old() {
  BlockTag tag;
  tag.cause = BlockCause::kSuperblock;
  EXT3_TRY(device_.write_zeros(0, std::max<std::uint64_t>(2048, g_.block_size), tag));
  return device_.flush();
}

Superblock FilesystemWriter::superblock(GroupNumber group) const {
  Superblock s{};
  s.inodes_count = g_.inode_count;
  s.blocks_count = g_.block_count;
  s.reserved_blocks_count = plan_.reserved_blocks;
  s.free_blocks_count = static_cast<std::uint32_t>(free_blocks_);
  s.free_inodes_count = g_.inode_count - kFirstOrdinaryInode.value;
  s.first_data_block = g_.first_data_block;
  s.log_block_size = s.log_fragment_size = static_cast<std::uint32_t>(std::countr_zero(g_.block_size / 1024));
  s.blocks_per_group = s.fragments_per_group = g_.blocks_per_group;
  s.inodes_per_group = g_.inodes_per_group;
  s.write_time = s.last_check = s.make_time = now_;
  s.max_mount_count = kNoMountLimit;
  s.magic = kSuperblockMagic;
  s.state = static_cast<std::uint16_t>(group.value == 0 ? kStateClean : 0);
  s.errors = kErrorsContinue;
  s.revision = 1;
  s.first_inode = g_.first_inode;
  s.inode_size = static_cast<std::uint16_t>(g_.inode_size);
  s.block_group = static_cast<std::uint16_t>(group.value);
  const FilesystemFeatures& f = plan_.features;
  s.compatible_features = (f.has_journal ? kFeatureHasJournal : 0U) | (f.ext_attr ? kFeatureExtAttr : 0U) |
                          (f.resize_inode ? kFeatureResizeInode : 0U) | (f.dir_index ? kFeatureDirIndex : 0U);
  s.incompatible_features = f.filetype ? kFeatureFiletype : 0U;
  s.read_only_features = (f.sparse_super ? kFeatureSparseSuper : 0U) | (f.large_file ? kFeatureLargeFile : 0U);
  s.uuid = identity_.uuid;
  std::copy(options_.label.begin(), options_.label.end(), s.volume_name.begin());
  s.reserved_gdt_blocks = static_cast<std::uint16_t>(g_.reserved_gdt_blocks);
  std::memcpy(s.hash_seed.data(), identity_.hash_seed.data(), identity_.hash_seed.size());
  s.default_hash_version = options_.hash_version;
  s.default_mount_options = kAclMountOption | kUserAttributesMountOption;
  if (g_.inode_size > sizeof(InodeRecord)) s.min_extra_inode_size = s.want_extra_inode_size = kExtraInodeSize;
  s.flags = options_.signed_hash ? kFlagSignedHash : kFlagUnsignedHash;
  std::uint32_t overhead = g_.first_data_block + plan_.journal_blocks;
  for (std::uint32_t i = 0; i < g_.group_count; ++i) overhead += plan_.overhead(GroupNumber(i));
  const le32 kept = overhead;
  std::memcpy(s.rest.data() + kOverheadInRest, &kept, sizeof kept);
  if (!f.has_journal) return s;
  s.journal_inode = kJournalInode.value;
  s.journal_backup_type = 1;
  std::copy(layout_.journal.begin(), layout_.journal.end(), s.journal_blocks.begin());
  const std::uint64_t journal_bytes = std::uint64_t{plan_.journal_blocks} * g_.block_size;
  s.journal_blocks[kBlockSlots] = static_cast<std::uint32_t>(journal_bytes >> 32U);
  s.journal_blocks[kBlockSlots + 1] = static_cast<std::uint32_t>(journal_bytes);
  return s;
}

Answer<void> FilesystemWriter::write_superblock(GroupNumber group) {
  const Superblock record = superblock(group);
  std::array<std::byte, sizeof(Superblock)> bytes{};
  std::memcpy(bytes.data(), &record, sizeof record);
  BlockTag tag;
  tag.cause = BlockCause::kSuperblock;
  const std::uint64_t offset =
      group.value == 0 ? kSuperblockOffset : std::uint64_t{g_.group_first(group).value} * g_.block_size;
  if (group.value == 0 || g_.block_size == sizeof bytes) return put(offset, bytes, tag);
  Block block = empty_block();
  std::copy(bytes.begin(), bytes.end(), block.begin());
  return put(offset, block, tag);
}

// The descriptor table, in every group that keeps one, and the superblock's copies.
Answer<void> FilesystemWriter::write_copies() {
  std::vector<std::byte> table(std::size_t{g_.descriptor_blocks} * g_.block_size);
  for (std::uint32_t i = 0; i < g_.group_count; ++i) {
    const GroupNumber group(i);
    GroupDescriptor descriptor{};
    const std::uint32_t start = g_.group_first(group).value + g_.backup_blocks(group);
    descriptor.block_bitmap = start;
    descriptor.inode_bitmap = start + 1;
    descriptor.inode_table = start + 2;
    descriptor.free_blocks_count = static_cast<std::uint16_t>(group_free(group));
    descriptor.free_inodes_count =
        static_cast<std::uint16_t>(g_.inodes_per_group - (i == 0 ? kFirstOrdinaryInode.value : 0));
    descriptor.used_directories_count = static_cast<std::uint16_t>(i == 0 ? 2 : 0);
    descriptor.flags = kGroupInodesZeroed;
    std::memcpy(table.data() + i * sizeof descriptor, &descriptor, sizeof descriptor);
  }
  BlockTag tag;
  tag.cause = BlockCause::kGroupDescriptor;
  for (std::uint32_t i = 0; i < g_.group_count; ++i) {
    const GroupNumber group(i);
    if (!g_.has_backup(group)) continue;
    EXT3_TRY(put(std::uint64_t{g_.group_first(group).value + 1} * g_.block_size, table, tag));
    if (i != 0) EXT3_TRY(write_superblock(group));
  }
  return {};
}

Answer<void> FilesystemWriter::write_groups() {
  BlockTag block_tag;
  block_tag.cause = BlockCause::kBlockBitmap;
  BlockTag inode_tag;
  inode_tag.cause = BlockCause::kInodeBitmap;
  BlockTag table_tag;
  table_tag.cause = BlockCause::kInodeTable;
  const std::uint32_t bits = 8 * g_.block_size;
  for (std::uint32_t i = 0; i < g_.group_count; ++i) {
    const GroupNumber group(i);
    const std::uint32_t start = g_.group_first(group).value + g_.backup_blocks(group);
    Block blocks = empty_block();
    set_bits(blocks, 0, plan_.overhead(group));
    set_bits(blocks, g_.group_blocks(group), bits);
    for_each_used(g_, layout_.used, group, [&](std::uint32_t from, std::uint32_t to) { set_bits(blocks, from, to); });
    EXT3_TRY(put_block(start, blocks, block_tag));
    Block inodes = empty_block();
    if (i == 0) set_bits(inodes, 0, kFirstOrdinaryInode.value);
    set_bits(inodes, g_.inodes_per_group, bits);
    EXT3_TRY(put_block(start + 1, inodes, inode_tag));
    EXT3_TRY(zero({start + 2, g_.inode_table_blocks}, table_tag));
  }
  return {};
}

InodeRecord FilesystemWriter::inode_record(std::uint32_t mode, std::uint16_t links, std::uint64_t size,
                                           std::uint32_t blocks) const {
  InodeRecord record{};
  record.mode = static_cast<std::uint16_t>(mode);
  record.links_count = links;
  record.size_low = static_cast<std::uint32_t>(size);
  record.size_high = static_cast<std::uint32_t>(size >> 32U);
  record.access_time = record.change_time = record.modification_time = now_;
  record.sectors_count = blocks * (g_.block_size / 512);
  return record;
}

void FilesystemWriter::put_inode(Block& table, InodeNumber number, const InodeRecord& record) const {
  std::byte* const place = table.data() + std::size_t{g_.bit_of(number)} * g_.inode_size;
  std::memcpy(place, &record, sizeof record);
  if (g_.inode_size == sizeof(InodeRecord) || record.mode == 0) return;
  InodeRecordExtra extra{};
  extra.extra_size = kExtraInodeSize;
  extra.creation_time = now_;
  std::memcpy(place + sizeof record, &extra, sizeof extra);
}

Answer<void> FilesystemWriter::write_inodes() {
  const std::uint32_t blocks = (kFirstOrdinaryInode.value * g_.inode_size + g_.block_size - 1) / g_.block_size;
  Block table(std::size_t{blocks} * g_.block_size);
  put_inode(table, kBadBlocksInode, inode_record(0, 0, 0, 0));
  InodeRecord root = inode_record(S_IFDIR | 0755, 3, g_.block_size, 1);
  root.block[0] = layout_.root.value;
  put_inode(table, kRootInode, root);
  InodeRecord lost = inode_record(S_IFDIR | 0700, 2, std::uint64_t{plan_.lost_and_found_blocks} * g_.block_size,
                                  plan_.lost_and_found_blocks);
  std::copy(layout_.lost_and_found.begin(), layout_.lost_and_found.end(), lost.block.begin());
  put_inode(table, kFirstOrdinaryInode, lost);
  if (plan_.features.resize_inode) {
    const std::uint64_t reach = g_.pointers_per_block();
    const std::uint64_t size = (kDirectBlocks + reach + reach * reach) * g_.block_size;
    InodeRecord resize = inode_record(S_IFREG | 0600, 1, size, layout_.resize_blocks);
    std::copy(layout_.resize.begin(), layout_.resize.end(), resize.block.begin());
    put_inode(table, kResizeInode, resize);
  }
  if (plan_.features.has_journal) {
    const std::uint64_t size = std::uint64_t{plan_.journal_blocks} * g_.block_size;
    InodeRecord journal = inode_record(S_IFREG | 0600, 1, size, layout_.journal_inode_blocks);
    std::copy(layout_.journal.begin(), layout_.journal.end(), journal.block.begin());
    put_inode(table, kJournalInode, journal);
  }
  const GroupNumber first(0);
  const std::uint32_t at = g_.group_first(first).value + g_.backup_blocks(first) + 2;
  BlockTag tag;
  tag.cause = BlockCause::kInodeTable;
  return put_block(at, table, tag);
}

void put_entry(std::span<std::byte> block, std::uint32_t at, std::uint32_t end, InodeNumber inode,
               std::string_view name, bool filetype) {
  DirectoryRecord record{};
  record.inode = inode.value;
  record.record_length = static_cast<std::uint16_t>(end - at);
  record.name_length = static_cast<std::uint8_t>(name.size());
  record.file_type = filetype && inode != kNoInode ? kTypeDirectory : kTypeUnknown;
  std::memcpy(block.data() + at, &record, sizeof record);
  std::memcpy(block.data() + at + sizeof record, name.data(), name.size());
}

Answer<void> FilesystemWriter::write_directories() {
  constexpr std::uint32_t kDot = record_length_for(1);
  const bool filetype = plan_.features.filetype;
  BlockTag tag;
  tag.cause = BlockCause::kDirectoryLeaf;
  tag.inode = kRootInode;
  Block root = empty_block();
  put_entry(root, 0, kDot, kRootInode, ".", filetype);
  put_entry(root, kDot, 2 * kDot, kRootInode, "..", filetype);
  put_entry(root, 2 * kDot, g_.block_size, kFirstOrdinaryInode, "lost+found", filetype);
  EXT3_TRY(put_block(layout_.root.value, root, tag));
  tag.inode = kFirstOrdinaryInode;
  for (std::uint32_t i = 0; i < plan_.lost_and_found_blocks; ++i) {
    Block block = empty_block();
    if (i == 0) {
      put_entry(block, 0, kDot, kFirstOrdinaryInode, ".", filetype);
      put_entry(block, kDot, g_.block_size, kRootInode, "..", filetype);
    } else {
      put_entry(block, 0, g_.block_size, kNoInode, "", filetype);
    }
    tag.file_block = FileBlock(i);
    EXT3_TRY(put_block(layout_.lost_and_found[i], block, tag));
  }
  return {};
}

Answer<void> FilesystemWriter::write_pointers(const PointerBlock& block) {
  Block bytes = empty_block();
  for (std::size_t i = 0; i < block.pointers.size(); ++i) {
    const le32 pointer = block.pointers[i];
    std::memcpy(bytes.data() + i * sizeof pointer, &pointer, sizeof pointer);
  }
  BlockTag tag;
  tag.cause = BlockCause::kIndirect;
  tag.inode = block.inode;
  return put_block(block.block.value, bytes, tag);
}

// Zeros throughout, so that nothing an earlier journal left here can pass for a record of this one.
Answer<void> FilesystemWriter::write_journal() {
  if (!plan_.features.has_journal) return {};
  BlockTag tag;
  tag.cause = BlockCause::kJournal;
  tag.inode = kJournalInode;
  for (const BlockExtent& extent : layout_.journal_data) EXT3_TRY(zero(extent, tag));
  JournalSuperblock journal{};
  journal.header.magic = kJournalMagic;
  journal.header.type = kJournalSuperblockV2;
  journal.block_size = g_.block_size;
  journal.max_length = plan_.journal_blocks;
  journal.first = 1;
  journal.sequence = 1;
  journal.uuid = identity_.uuid;
  journal.users_count = 1;
  Block block = empty_block();
  std::memcpy(block.data(), &journal, sizeof journal);
  return put_block(layout_.journal[0], block, tag);
}

}  // namespace

Result<MadeFilesystem> make_filesystem(BlockDevice& device, const FilesystemOptions& options) {
  IOTAPE_ASSIGN(const FilesystemPlan plan, plan_filesystem(options, device.size()));
  IOTAPE_ASSIGN(const FilesystemLayout layout, lay_out(plan));
  RandomBytes random(options.seed);
  Identity identity{random.uuid(), random.uuid()};
  if (options.uuid) identity.uuid = *options.uuid;
  if (options.hash_seed) identity.hash_seed = *options.hash_seed;
  FilesystemWriter writer(device, options, plan, layout, identity);
  if (const Answer<void> written = writer.write(); !written)
    return system_failure("writing the new filesystem", written.error().value);
  return MadeFilesystem{plan.geometry,
                        plan.journal_blocks,
                        plan.reserved_blocks,
                        writer.free_blocks(),
                        plan.geometry.inode_count - kFirstOrdinaryInode.value,
                        plan.features,
                        identity.uuid};
}

}  // namespace iotape::ext3
