#include "replayer/ext3/mount_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "format/base/units.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint64_t kSmallestCache = std::uint64_t{4} << 20U;
constexpr std::uint64_t kLargestReadahead = std::uint64_t{16} << 20U;

constexpr std::array<MountWord, 12> kWords{{
    {"ro", "", "change nothing, not even access times"},
    {"rw", "", "read and write (the default)"},
    {"data", "ordered|writeback|journal|none", "what the journal holds; none: as ext2, without it"},
    {"commit", "TIME", "how often the journal commits (5s)"},
    {"alloc", "orlov|classic|leaf", "where new inodes go"},
    {"htree", "on|off", "indexes of large directories"},
    {"reserve", "on|off", "reservation windows for growing files"},
    {"atime", "on|off|relatime", "access times; also noatime, relatime, strictatime"},
    {"cache", "SIZE", "memory for blocks (256M)"},
    {"readahead", "SIZE", "how far sequential reading looks ahead (128K)"},
    {"barrier", "on|off", "flush the device around a commit"},
    {"seed", "NUMBER", "of what is drawn at random"},
}};

Result<void> read_data(std::string_view value, MountOptions& options) {
  options.journaled = options.journal_required = value != "none";
  if (value == "ordered")
    options.data = DataMode::kOrdered;
  else if (value == "writeback")
    options.data = DataMode::kWriteback;
  else if (value == "journal")
    options.data = DataMode::kJournal;
  else if (value != "none")
    return failure(ErrorCode::kUsage, fmt::format("data={}: it is ordered, writeback, journal or none", value));
  return {};
}

Result<void> read_placement(std::string_view value, MountOptions& options) {
  if (value == "orlov")
    options.placement = InodePlacement::kOrlov;
  else if (value == "classic")
    options.placement = InodePlacement::kClassic;
  else if (value == "leaf")
    options.placement = InodePlacement::kLeaf;
  else
    return failure(ErrorCode::kUsage, fmt::format("alloc={}: it is orlov, classic or leaf", value));
  return {};
}

Result<void> read_access_times(std::string_view value, MountOptions& options) {
  if (value == "on")
    options.access_times = AccessTimes::kStrict;
  else if (value == "off")
    options.access_times = AccessTimes::kOff;
  else if (value == "relatime")
    options.access_times = AccessTimes::kRelative;
  else
    return failure(ErrorCode::kUsage, fmt::format("atime={}: it is on, off or relatime", value));
  return {};
}

Result<bool> read_switch(std::string_view key, std::string_view value) {
  if (value != "on" && value != "off")
    return failure(ErrorCode::kUsage, fmt::format("{}={}: it is on or off", key, value));
  return value == "on";
}

Result<std::uint64_t> read_bounded_size(std::string_view key, std::string_view value, std::uint64_t least,
                                        std::uint64_t most) {
  IOTAPE_ASSIGN(const std::uint64_t bytes, parse_size(value));
  if (bytes < least || bytes > most)
    return failure(ErrorCode::kUsage,
                   fmt::format("{}={}: it is {} to {}", key, value, format_size(least), format_size(most)));
  return bytes;
}

Result<void> read_value(std::string_view key, std::string_view value, MountOptions& options) {
  if (key == "data") return read_data(value, options);
  if (key == "alloc") return read_placement(value, options);
  if (key == "atime") return read_access_times(value, options);
  if (key == "htree" || key == "reserve" || key == "barrier") {
    IOTAPE_ASSIGN(const bool on, read_switch(key, value));
    (key == "htree" ? options.htree : key == "reserve" ? options.reservation : options.barriers) = on;
  } else if (key == "commit") {
    IOTAPE_ASSIGN(options.commit_interval, parse_duration(value));
    if (options.commit_interval.value <= 0) return failure(ErrorCode::kUsage, "commit: it must be more than nothing");
  } else if (key == "cache") {
    IOTAPE_ASSIGN(options.cache_bytes, read_bounded_size(key, value, kSmallestCache, std::uint64_t{1} << 40U));
  } else if (key == "readahead") {
    IOTAPE_ASSIGN(const std::uint64_t bytes, read_bounded_size(key, value, 0, kLargestReadahead));
    options.readahead_bytes = static_cast<std::uint32_t>(bytes);
  } else {
    IOTAPE_ASSIGN(options.seed, parse_size(value));
  }
  return {};
}

bool read_flag(std::string_view word, MountOptions& options) {
  if (word == "ro" || word == "rw")
    options.read_only = word == "ro";
  else if (word == "noatime")
    options.access_times = AccessTimes::kOff;
  else if (word == "relatime")
    options.access_times = AccessTimes::kRelative;
  else if (word == "strictatime")
    options.access_times = AccessTimes::kStrict;
  else
    return false;
  return true;
}

}  // namespace

std::span<const MountWord> mount_words() { return kWords; }

Result<bool> read_mount_word(std::string_view word, MountOptions& options) {
  if (read_flag(word, options)) return true;
  const std::string_view key = word.substr(0, word.find('='));
  const auto known = std::ranges::find(kWords, key, &MountWord::key);
  if (known == kWords.end() || known->values.empty()) return false;
  if (key.size() == word.size())
    return failure(ErrorCode::kUsage, fmt::format("{} needs a value: {}={}", key, key, known->values));
  IOTAPE_TRY(read_value(key, word.substr(key.size() + 1), options));
  return true;
}

}  // namespace iotape::ext3
