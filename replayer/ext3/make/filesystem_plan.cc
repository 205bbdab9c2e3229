#include "replayer/ext3/make/filesystem_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "replayer/ext3/disk_format/inode_record.h"
#include "replayer/ext3/disk_format/journal_record.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kTiB = std::uint64_t{1} << 40U;
constexpr std::uint64_t kMostBlocks = 0xFFFFFFFF;

// mke2fs.conf's classes of size: floppy, small, default, big, huge.
struct SizeClass {
  std::uint64_t below;  // bytes
  std::uint32_t block_size;
  std::uint32_t bytes_per_inode;
};
constexpr std::array<SizeClass, 5> kSizeClasses{{{3 * kMiB, 1024, 8192},
                                                 {512 * kMiB, 1024, 4096},
                                                 {4 * kTiB, 4096, 16384},
                                                 {16 * kTiB, 4096, 32768},
                                                 {~std::uint64_t{0}, 4096, 65536}}};

struct JournalStep {
  std::uint32_t below;  // blocks of the volume
  std::uint32_t blocks;
};
constexpr std::array<JournalStep, 8> kJournalSteps{{{2048, 0},
                                                    {32768, 1024},
                                                    {256 << 10, 4096},
                                                    {512 << 10, 8192},
                                                    {4 << 20, 16384},
                                                    {8 << 20, 32768},
                                                    {16 << 20, 65536},
                                                    {32 << 20, 131072}}};
constexpr std::uint32_t kLargestDefaultJournal = 262144;
constexpr std::uint32_t kLargestJournal = 10'240'000;

std::uint32_t divide_up(std::uint64_t value, std::uint64_t by) {
  return static_cast<std::uint32_t>((value + by - 1) / by);
}

const SizeClass& size_class(std::uint64_t bytes) {
  return *std::find_if(kSizeClasses.begin(), kSizeClasses.end() - 1,
                       [&](const SizeClass& size) { return bytes < size.below; });
}

std::uint32_t default_journal_blocks(std::uint32_t volume_blocks) {
  for (const JournalStep& step : kJournalSteps)
    if (volume_blocks < step.below) return step.blocks;
  return kLargestDefaultJournal;
}

template <typename... Arguments>
auto usage(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return failure(ErrorCode::kUsage, fmt::format(text, std::forward<Arguments>(arguments)...));
}

Result<void> check_options(const FilesystemOptions& options) {
  if (options.block_size != 0 && options.block_size != 1024 && options.block_size != 2048 && options.block_size != 4096)
    return usage("a block is 1024, 2048 or 4096 bytes, not {}", options.block_size);
  if (options.inode_size != 128 && options.inode_size != 256)
    return usage("an inode is 128 or 256 bytes, not {}", options.inode_size);
  if (options.label.size() > sizeof(Superblock::volume_name))
    return usage("the label '{}' is longer than 16 bytes", options.label);
  if (!(options.reserved_percent >= 0 && options.reserved_percent <= 50))
    return usage("0 to 50 percent of the blocks can be reserved, not {}", options.reserved_percent);
  if (options.features.resize_inode && !options.features.sparse_super)
    return usage("resize_inode needs sparse_super; leave both out");
  if (options.bytes_per_inode != 0 && (options.bytes_per_inode < 1024 || options.bytes_per_inode > 64 * kMiB))
    return usage("an inode for every 1024 to {} bytes, not {}", 64 * kMiB, options.bytes_per_inode);
  return {};
}

// Blocks kept for the descriptors of a volume 1,024 times as large.
std::uint32_t reserved_descriptor_blocks(const Geometry& g) {
  const std::uint64_t largest = g.block_count < kMostBlocks / 1024 ? std::uint64_t{g.block_count} * 1024 : kMostBlocks;
  const std::uint32_t groups = divide_up(largest - g.first_data_block, g.blocks_per_group);
  return std::min(divide_up(groups, g.descriptors_per_block()) - g.descriptor_blocks, g.pointers_per_block());
}

std::uint64_t wanted_inodes(const FilesystemOptions& options, std::uint64_t bytes, const Geometry& geometry) {
  if (options.inode_count != 0) return options.inode_count;
  std::uint32_t ratio = options.bytes_per_inode;
  if (ratio == 0) ratio = std::max(size_class(bytes).bytes_per_inode, geometry.block_size);
  return std::uint64_t{geometry.block_count} * geometry.block_size / ratio;
}

// Divides the volume into groups. A last group with fewer than 50 blocks beyond its own overhead is left out; a group
// whose inode bitmap would not do for its inodes is made smaller, eight blocks at a time.
class GroupDivision {
 public:
  GroupDivision(FilesystemPlan& plan, std::uint64_t inodes, double reserved_percent)
      : plan_(plan), g_(plan.geometry), inodes_(inodes), reserved_percent_(reserved_percent) {}

  Result<void> divide() {
    const std::uint32_t all_blocks = g_.block_count;
    reserve();
    g_.blocks_per_group = 8 * g_.block_size;
    for (;;) {
      if (g_.block_count <= g_.first_data_block) return too_small();
      if (!count_inodes()) {
        if (g_.blocks_per_group < 256) return too_many_inodes();
        g_.blocks_per_group -= 8;
        g_.block_count = all_blocks;
        continue;
      }
      if (plan_.overhead(GroupNumber(0)) > g_.blocks_per_group) return too_many_inodes();
      const std::uint32_t rest = (g_.block_count - g_.first_data_block) % g_.blocks_per_group;
      const std::uint32_t needed = plan_.overhead(GroupNumber(g_.group_count - 1));
      if (g_.group_count == 1 && rest != 0 && rest < needed) return too_small();
      if (rest == 0 || rest >= needed + kLeastUseful || g_.group_count == 1) return {};
      g_.block_count -= rest;
      reserve();
    }
  }

 private:
  static constexpr std::uint32_t kLeastUseful = 50;

  void reserve() { plan_.reserved_blocks = static_cast<std::uint32_t>(reserved_percent_ * g_.block_count / 100.0); }
  // False: more than a bitmap of one block has room for.
  bool count_inodes() {
    g_.group_count = divide_up(g_.block_count - g_.first_data_block, g_.blocks_per_group);
    g_.descriptor_blocks = divide_up(g_.group_count, g_.descriptors_per_block());
    const std::uint64_t least = kFirstOrdinaryInode.value + 1;
    std::uint64_t per_group = (std::max(inodes_, least) + g_.group_count - 1) / g_.group_count;
    if (per_group > std::uint64_t{8} * g_.block_size) return false;
    per_group = std::min<std::uint64_t>(per_group, 65536 - g_.inodes_per_block());
    do {
      const std::uint64_t table_blocks = divide_up(per_group * g_.inode_size, g_.block_size);
      g_.inodes_per_group = static_cast<std::uint32_t>(table_blocks * g_.block_size / g_.inode_size) & ~7U;
      g_.inode_table_blocks = divide_up(std::uint64_t{g_.inodes_per_group} * g_.inode_size, g_.block_size);
      --per_group;
    } while (std::uint64_t{g_.inodes_per_group} * g_.group_count > 0xFFFFFFFF);
    g_.inode_count = g_.inodes_per_group * g_.group_count;
    g_.reserved_gdt_blocks = plan_.features.resize_inode ? reserved_descriptor_blocks(g_) : 0;
    return true;
  }
  [[nodiscard]] tl::unexpected<Error> too_small() const {
    return usage("a volume of {} blocks of {} bytes is too small for a filesystem with {} inodes", g_.block_count,
                 g_.block_size, inodes_);
  }
  [[nodiscard]] tl::unexpected<Error> too_many_inodes() const {
    return usage("{} inodes of {} bytes are too many for {} blocks of {} bytes", inodes_, g_.inode_size, g_.block_count,
                 g_.block_size);
  }

  FilesystemPlan& plan_;
  Geometry& g_;
  std::uint64_t inodes_;
  double reserved_percent_;
};

std::uint64_t free_after_tables(const FilesystemPlan& plan) {
  const Geometry& g = plan.geometry;
  std::uint64_t free = g.block_count - g.first_data_block;
  for (std::uint32_t group = 0; group < g.group_count; ++group) free -= plan.overhead(GroupNumber(group));
  return free;
}

Result<void> size_journal(FilesystemPlan& plan, const FilesystemOptions& options) {
  if (!plan.features.has_journal) return {};
  const std::uint64_t asked =
      options.journal_blocks != 0 ? options.journal_blocks : options.journal_bytes / plan.geometry.block_size;
  if (asked == 0 && options.journal_bytes != 0) return usage("a journal of {} bytes", options.journal_bytes);
  if (asked != 0 && (asked < kJournalMinimumBlocks || asked > kLargestJournal))
    return usage("a journal has {} to {} blocks, not {}", kJournalMinimumBlocks, kLargestJournal, asked);
  if (asked != 0 && asked > free_after_tables(plan) / 2)
    return usage("a journal of {} blocks is more than half of the {} free ones", asked, free_after_tables(plan));
  plan.journal_blocks =
      asked != 0 ? static_cast<std::uint32_t>(asked) : default_journal_blocks(plan.geometry.block_count);
  plan.features.has_journal = plan.journal_blocks != 0;
  return {};
}

}  // namespace

Result<FilesystemPlan> plan_filesystem(const FilesystemOptions& options, std::uint64_t device_bytes) {
  IOTAPE_TRY(check_options(options));
  const std::uint64_t bytes = options.bytes != 0 ? options.bytes : device_bytes;
  if (bytes > device_bytes) return usage("{} bytes were asked for, the device has {}", bytes, device_bytes);
  FilesystemPlan plan;
  plan.features = options.features;
  Geometry& geometry = plan.geometry;
  geometry.block_size = options.block_size != 0 ? options.block_size : size_class(bytes).block_size;
  if (bytes / geometry.block_size > kMostBlocks)
    return usage("{} bytes are more than {} blocks of {} bytes, the most a filesystem can have", bytes, kMostBlocks,
                 geometry.block_size);
  geometry.block_count = static_cast<std::uint32_t>(bytes / geometry.block_size);
  geometry.first_data_block = geometry.block_size == 1024 ? 1 : 0;
  geometry.inode_size = options.inode_size;
  geometry.first_inode = kFirstOrdinaryInode.value;
  geometry.sparse_super = options.features.sparse_super;
  const std::uint64_t inodes = wanted_inodes(options, bytes, geometry);
  if (inodes > 0xFFFFFFFF) return usage("{} inodes are more than can be numbered; ask for fewer", inodes);
  IOTAPE_TRY(GroupDivision(plan, inodes, options.reserved_percent).divide());
  constexpr std::uint32_t kLostAndFoundBytes = 16 << 10;
  plan.lost_and_found_blocks = std::min(kLostAndFoundBytes / geometry.block_size, kDirectBlocks);
  if (geometry.reserved_gdt_blocks != 0 && geometry.block_size == 4096) plan.features.large_file = true;
  IOTAPE_TRY(size_journal(plan, options));
  return plan;
}

}  // namespace iotape::ext3
