#include "format/block_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace iotape {
namespace {

constexpr std::array<std::string_view, kBlockOperationCount> kOperationNames{
    "read",         "write",       "flush",           "discard", "secure_erase",
    "write_zeroes", "zone_append", "zone_management", "driver",  "other"};
constexpr std::array<std::string_view, kBlockCauseCount> kCauseNames{
    "unknown",        "data",        "metadata", "journal",    "inode_table",      "inode_bitmap", "block_bitmap",
    "directory_leaf", "htree_index", "indirect", "superblock", "group_descriptor", "xattr",        "swap"};
constexpr std::array<std::string_view, kLossCauseCount> kLossNames{
    "ring_full",      "orphan_exit", "task_storage", "request_map",      "damaged_block",
    "truncated_file", "disk_full",   "not_captured", "malformed_record", "part_map"};

template <std::size_t N, typename Enum>
std::string_view name_in(const std::array<std::string_view, N>& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : "unknown";
}

}  // namespace

std::string_view block_operation_name(BlockOperation operation) { return name_in(kOperationNames, operation); }
std::string_view block_cause_name(BlockCause cause) { return name_in(kCauseNames, cause); }
std::string_view loss_cause_name(LossCause cause) { return name_in(kLossNames, cause); }

std::optional<BlockOperation> block_operation_from_name(std::string_view name) {
  const auto found = std::find(kOperationNames.begin(), kOperationNames.end(), name);
  if (found == kOperationNames.end()) return std::nullopt;
  return static_cast<BlockOperation>(found - kOperationNames.begin());
}

std::vector<std::string> block_operation_names() { return {kOperationNames.begin(), kOperationNames.end()}; }

std::string device_number_text(DeviceId device) {
  return fmt::format("{}:{}", device.major_number(), device.minor_number());
}

}  // namespace iotape
