// What the passes of a check share.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "replayer/ext3/check/check_filesystem.h"
#include "replayer/ext3/check/paged_array.h"
#include "replayer/ext3/device/block_device.h"
#include "replayer/ext3/disk_format/group_descriptor.h"
#include "replayer/ext3/disk_format/inode_record.h"
#include "replayer/ext3/disk_format/superblock.h"
#include "replayer/ext3/geometry.h"

namespace iotape::ext3::check {

using Bytes = std::vector<std::byte>;

struct DirectoryNote {
  InodeNumber number;
  InodeNumber named_in;  // the directory that holds its name
  InodeNumber dot_dot;
  bool skipped = false;  // its block map is damaged: its entries were not read
  bool indexed = false;
  std::uint8_t walk = 0;  // connectivity: 0 not known, 1 being asked, 2 connected, 3 not
};

struct AttributeBlockNote {
  std::uint32_t references_counted = 0;
  std::uint32_t references_stored = 0;
};

class CheckState {
 public:
  CheckState(BlockDevice& device_used, const CheckOptions& options)
      : device(device_used), totals_are_old(options.totals_are_old), problems(options.most_problems) {}

  // False when the device fails, which is noted as a problem.
  bool read(BlockNumber first, std::span<std::byte> bytes);
  template <typename... Arguments>
  void problem(ProblemKind kind, InodeNumber inode, BlockNumber block, fmt::format_string<Arguments...> text,
               Arguments&&... arguments) {
    problems.add(kind, inode, block, fmt::format(text, std::forward<Arguments>(arguments)...));
  }
  // Takes a block for its owner. False when it is somebody else's already. REQUIRES: within the volume.
  bool claim(BlockNumber block) {
    const bool fresh = used_blocks.set(block.value - geometry.first_data_block);
    report.used_blocks += fresh ? 1U : 0U;
    return fresh;
  }
  [[nodiscard]] bool valid(InodeNumber inode) const { return inode.value != 0 && inode.value <= geometry.inode_count; }
  [[nodiscard]] bool has(CompatibleFeature feature) const { return (super.compatible_features & feature) != 0; }
  [[nodiscard]] bool has_filetype() const { return (super.incompatible_features & kFeatureFiletype) != 0; }
  // Reads one inode's record (and its second half, where there is one). Empty when the device fails.
  Bytes read_inode(InodeNumber number);
  DirectoryNote* directory(InodeNumber number);

  BlockDevice& device;
  bool totals_are_old;
  ProblemList problems;
  CheckReport report;
  Superblock super{};
  Geometry geometry;
  std::vector<GroupDescriptor> groups;

  PagedBits used_blocks;                   // from first_data_block on
  PagedArray<std::uint8_t> types;          // by inode: DirectoryFileType, 0 not in use; kOrphanType
  PagedArray<std::uint16_t> links;         // by inode: as it claims
  PagedArray<std::uint16_t> names;         // by inode: entries that name it, counted
  std::vector<DirectoryNote> directories;  // ascending
  std::unordered_map<std::uint32_t, AttributeBlockNote> attribute_blocks;
  std::vector<std::uint32_t> orphans;  // ascending
  std::vector<std::uint32_t> group_used_inodes;
  std::vector<std::uint32_t> group_directories;
};

// The hash versions of an index: three, and the same three read as unsigned.
inline constexpr std::uint8_t kLastHashVersion = 5;

// In use, waiting for its deletion.
inline constexpr std::uint8_t kOrphanType = 0x80;

template <typename Record>
Record record_at(std::span<const std::byte> bytes, std::size_t offset) {
  static_assert(std::is_trivially_copyable_v<Record>);
  Record record;
  std::memcpy(&record, bytes.data() + offset, sizeof record);
  return record;
}

// A name for people: printable ASCII as it is, other bytes as \xNN.
std::string printable(std::string_view name);

// The passes, in their order. Each says what it found to state.problems.
bool check_superblock(CheckState& state);  // false: nothing more can be said
void check_copies(CheckState& state);
bool check_descriptors(CheckState& state);
void check_orphans(CheckState& state);
void check_inodes(CheckState& state);
void check_journal(CheckState& state);
void check_resize_inode(CheckState& state, const InodeRecord& record);
void check_directories(CheckState& state);
void check_links(CheckState& state);
void check_bitmaps(CheckState& state);

// Of one inode. check_attributes takes the external block's sectors into account: true when it is counted.
void check_inner_attributes(CheckState& state, InodeNumber inode, std::span<const std::byte> record);
bool check_attribute_block(CheckState& state, InodeNumber inode, BlockNumber block);
void check_attribute_references(CheckState& state);

}  // namespace iotape::ext3::check
