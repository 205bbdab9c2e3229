#include "format/enum_names.h"

#include <fmt/format.h>

#include <cctype>

namespace iotape {
namespace {

using Names = std::string_view;

constexpr std::array<Names, kFileKindCount> kFileKinds{"unknown", "regular",   "directory", "symlink",  "fifo",
                                                       "socket",  "character", "block",     "anonymous"};
constexpr std::array<Names, kTextStateCount> kTextStates{"present", "null", "fault", "truncated", "hidden"};
constexpr std::array<Names, 4> kInterfaces{"syscall", "io_uring", "aio", "page_fault"};
constexpr std::array<Names, kSkipReasonCount> kSkipReasons{
    "issued",      "not_a_file",  "external", "not_replayable",  "process_only",
    "memory_only", "lost_handle", "refused",  "unresolved_path", "not_selected"};
constexpr std::array<Names, kBlockOperationCount> kBlockOperations{
    "read",         "write",       "flush",           "discard", "secure_erase",
    "write_zeroes", "zone_append", "zone_management", "driver",  "other"};
constexpr std::array<Names, kBlockCauseCount> kBlockCauses{
    "unknown",        "data",        "metadata", "journal",    "inode_table",      "inode_bitmap", "block_bitmap",
    "directory_leaf", "htree_index", "indirect", "superblock", "group_descriptor", "xattr",        "swap"};
constexpr std::array<Names, kStateSourceCount> kStateSources{"first_touch", "stat_call", "removal", "snapshot",
                                                             "inferred"};
constexpr std::array<Names, kLossCauseCount> kLossCauses{
    "ring_full",      "orphan_exit", "task_storage", "request_map",      "damaged_block",
    "truncated_file", "disk_full",   "not_captured", "malformed_record", "part_map"};
constexpr std::array<Names, kLossCauseCount> kLossMeanings{
    "no room in the ring: try a larger --ring-size",
    "calls already under way when recording began (not counted as lost)",
    "no memory for per-task state",
    "more block requests in flight than the recorder can pair",
    "blocks of the file failed their checksum",
    "the file ends inside a block",
    "the trace could not be written",
    "seen but outside what is captured, such as io_uring (not counted as lost)",
    "the recorder's own record could not be decoded",
    "parts of requests that could not be kept"};
constexpr std::array<Names, 4> kClocks{"unknown", "boottime", "virtual", "monotonic"};
constexpr std::array<Names, 2> kCacheConditions{"as_found", "cold"};
constexpr std::array<Names, 12> kBlockFlags{"sync",       "metadata", "priority", "fua",  "preflush", "readahead",
                                            "background", "nowait",   "swap",     "idle", "nomerge",  "atomic"};

template <typename Variant, std::size_t... Index>
std::array<std::string, sizeof...(Index)> snake_names(std::index_sequence<Index...>) {
  return {snake_case(type_name<std::variant_alternative_t<Index, Variant>>())...};
}

template <typename Variant>
std::string_view alternative_name(const Variant& value) {
  constexpr auto kCount = std::variant_size_v<Variant>;
  static const std::array<std::string, kCount> kNames = snake_names<Variant>(std::make_index_sequence<kCount>{});
  return kNames[value.index()];
}

char operation_letter(BlockOperation operation) {
  static constexpr std::string_view kLetters = "RWFDEZWNNN";
  return kLetters[static_cast<std::size_t>(operation) % kLetters.size()];
}

}  // namespace

std::span<const std::string_view> names_of(FileKind) { return kFileKinds; }
std::span<const std::string_view> names_of(TextState) { return kTextStates; }
std::span<const std::string_view> names_of(CallInterface) { return kInterfaces; }
std::span<const std::string_view> names_of(SkipReason) { return kSkipReasons; }
std::span<const std::string_view> names_of(BlockOperation) { return kBlockOperations; }
std::span<const std::string_view> names_of(BlockCause) { return kBlockCauses; }
std::span<const std::string_view> names_of(StateSource) { return kStateSources; }
std::span<const std::string_view> names_of(LossCause) { return kLossCauses; }
std::span<const std::string_view> names_of(ClockKind) { return kClocks; }
std::span<const std::string_view> names_of(CacheCondition) { return kCacheConditions; }
std::span<const std::string_view> names_of(BlockFlag) { return kBlockFlags; }

std::string_view loss_meaning(LossCause cause) {
  const auto index = static_cast<std::size_t>(cause);
  return index < kLossMeanings.size() ? kLossMeanings[index] : "of a cause this version does not know";
}

std::string device_number_text(DeviceId device) {
  return fmt::format("{}:{}", device.major_number(), device.minor_number());
}

std::string rwbs(BlockOperation operation, std::uint32_t flags) {
  std::string letters;
  if (operation != BlockOperation::kFlush && (flags & kBlockPreflush) != 0) letters += 'F';
  letters += operation_letter(operation);
  if (operation == BlockOperation::kSecureErase) letters.insert(letters.size() - 1, 1, 'D');
  if ((flags & kBlockForceUnitAccess) != 0) letters += 'F';
  if ((flags & kBlockReadAhead) != 0) letters += 'A';
  if ((flags & kBlockSync) != 0) letters += 'S';
  if ((flags & kBlockMetadata) != 0) letters += 'M';
  return letters;
}

std::string snake_case(std::string_view camel_case) {
  std::string snake;
  for (const char c : camel_case) {
    const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (upper && !snake.empty()) snake += '_';
    snake += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return snake;
}

std::string_view event_kind_name(const EventBody& body) { return alternative_name(body); }
std::string_view operation_name(const Operation& operation) { return alternative_name(operation); }

}  // namespace iotape
