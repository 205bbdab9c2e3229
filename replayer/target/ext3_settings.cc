#include "replayer/target/ext3_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "analysis/disk/profile_parser.h"
#include "format/base/units.h"
#include "replayer/ext3/mount_words.h"

namespace iotape {
namespace {

template <typename Value, std::size_t Count>
Result<Value> choice(const TargetSpec& spec, std::string_view key,
                     const std::array<std::pair<std::string_view, Value>, Count>& choices) {
  const std::string text = spec.value(key);
  for (const auto& [word, value] : choices)
    if (word == text) return value;
  std::string known;
  for (const auto& [word, value] : choices) known += (known.empty() ? "" : "|") + std::string(word);
  return failure(ErrorCode::kUsage, fmt::format("ext3: {}= takes {}, not '{}'", key, known, text));
}

Result<std::uint64_t> number(const TargetSpec& spec, std::string_view key, std::uint64_t most) {
  const std::string text = spec.value(key);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > most)
    return failure(ErrorCode::kUsage,
                   fmt::format("ext3: {}= takes a whole number up to {}, not '{}'", key, most, text));
  return value;
}

// A size that may be left out: 0 then.
Result<std::uint64_t> optional_size(const TargetSpec& spec, std::string_view key) {
  if (!spec.given(key)) return 0;
  return spec.size_value(key);
}

Result<ext3::Uuid> uuid(const TargetSpec& spec, std::string_view key) {
  std::string digits = spec.value(key);
  std::erase(digits, '-');
  ext3::Uuid bytes{};
  bool good = digits.size() == 2 * bytes.size();
  for (std::size_t i = 0; good && i < bytes.size(); ++i) {
    const char* const at = digits.data() + 2 * i;
    good = std::from_chars(at, at + 2, bytes[i], 16).ptr == at + 2;
  }
  if (!good)
    return failure(ErrorCode::kUsage,
                   fmt::format("ext3: {}= takes a UUID such as 01234567-89ab-cdef-0123-456789abcdef", key));
  return bytes;
}

constexpr std::array<std::pair<std::string_view, ext3::HashVersion>, 3> kHashes{
    {{"half_md4", ext3::kHashHalfMd4}, {"tea", ext3::kHashTea}, {"legacy", ext3::kHashLegacy}}};
// Keys that mean to a target what they mean to `iotape mount -o`.
constexpr std::array<std::string_view, 6> kMountWords{"data", "alloc", "htree", "reserve", "atime", "barrier"};

Result<void> read_make(const TargetSpec& spec, Ext3Settings& settings) {
  ext3::FilesystemOptions& make = settings.make;
  IOTAPE_ASSIGN(settings.bytes, spec.size_value("size"));
  IOTAPE_ASSIGN(const std::uint64_t block, optional_size(spec, "block"));
  make.block_size =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(block, std::numeric_limits<std::uint32_t>::max()));
  if (spec.given("inodes")) {
    IOTAPE_ASSIGN(const std::uint64_t inodes, spec.size_value("inodes"));
    make.inode_count =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(inodes, std::numeric_limits<std::uint32_t>::max()));
  }
  IOTAPE_ASSIGN(const std::uint64_t inode_size, number(spec, "inode_size", 256));
  make.inode_size = static_cast<std::uint32_t>(inode_size);
  IOTAPE_ASSIGN(const std::uint64_t journal, optional_size(spec, "journal"));
  if (journal != 0) {
    const std::uint64_t assumed = block != 0 ? block : settings.bytes < (std::uint64_t{512} << 20U) ? 1024 : 4096;
    if (journal / assumed == 0)
      return failure(ErrorCode::kUsage, fmt::format("ext3: journal={} is less than a block", spec.value("journal")));
    if (spec.value("data") == "none")
      return failure(ErrorCode::kUsage, "ext3: data=none has no journal; leave journal= out");
    make.journal_blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>(journal / assumed, 0xFFFFFFFFU));
  }
  IOTAPE_ASSIGN(make.hash_version, choice(spec, "hash", kHashes));
  if (spec.given("hash_seed")) {
    IOTAPE_ASSIGN(make.hash_seed, uuid(spec, "hash_seed"));
  }
  IOTAPE_ASSIGN(make.seed, number(spec, "seed", std::numeric_limits<std::uint64_t>::max()));
  return {};
}

Result<void> read_mount(const TargetSpec& spec, Ext3Settings& settings) {
  ext3::MountOptions& mount = settings.mount;
  for (const std::string_view key : kMountWords) {
    auto read = ext3::read_mount_word(fmt::format("{}={}", key, spec.value(key)), mount);
    if (!read) return tl::make_unexpected(std::move(read).error().within("ext3"));
  }
  mount.journal_required = mount.journaled && spec.given("data");
  settings.make.features.has_journal = mount.journaled;
  settings.make.features.dir_index = mount.htree;
  IOTAPE_ASSIGN(mount.commit_interval, spec.duration_value("commit"));
  IOTAPE_ASSIGN(const std::uint64_t memory, spec.size_value("memory"));
  constexpr std::uint64_t kLeastMemory = std::uint64_t{1} << 20U;
  if (memory < kLeastMemory)
    return failure(ErrorCode::kUsage,
                   fmt::format("ext3: memory={} is too little, 1M is the least", spec.value("memory")));
  mount.cache_bytes = memory;
  IOTAPE_ASSIGN(const std::uint64_t readahead, spec.size_value("readahead"));
  mount.readahead_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(readahead, 1U << 30U));
  mount.seed = settings.make.seed;
  return {};
}

// ---- the machine ----

Result<double> factor(const TargetSpec& spec, std::string_view key) {
  const std::string text = spec.value(key);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0 && value <= 10'000))
    return failure(ErrorCode::kUsage, fmt::format("ext3: {}= takes a factor from 0 to 10000, not '{}'", key, text));
  return value;
}

constexpr std::array<std::pair<std::string_view, int>, 3> kPlaces{{{"outer", 0}, {"middle", 1}, {"inner", 2}}};

Result<void> read_machine(const TargetSpec& spec, Ext3Settings& settings) {
  if (spec.value("disk") == "none") {
    for (const std::string_view key : {"cpu", "cpus", "position", "elevator"})
      if (spec.given(key))
        return failure(
            ErrorCode::kUsage,
            fmt::format("ext3: {}= is of the simulated machine; name its disk, such as disk=laptop-2002", key));
    return {};
  }
  MachineSettings machine;
  IOTAPE_ASSIGN(machine.disk, load_disk_profile(spec.value("disk")));
  const auto elevator = machine::elevator_kind(spec.value("elevator"));
  if (!elevator)
    return failure(ErrorCode::kUsage,
                   fmt::format("ext3: elevator= takes {}, not '{}'", machine::kElevatorWords, spec.value("elevator")));
  machine.elevator = *elevator;
  IOTAPE_ASSIGN(machine.cpu, factor(spec, "cpu"));
  IOTAPE_ASSIGN(const std::uint64_t cpus, number(spec, "cpus", 64));
  if (cpus == 0) return failure(ErrorCode::kUsage, "ext3: cpus= takes a number from 1 to 64");
  machine.cpus = static_cast<std::uint32_t>(cpus);
  IOTAPE_ASSIGN(machine.position_halves, choice(spec, "position", kPlaces));
  machine.memory = settings.mount.cache_bytes;
  settings.mount.cache_bytes = memory_for_cache(machine.memory);
  settings.machine = std::move(machine);
  return {};
}

}  // namespace

Result<void> place_on_disk(MachineSettings& machine, std::uint64_t bytes) {
  const DiskProfile& disk = machine.disk;
  if (disk.capacity() == 0) return {};  // flash, as large as it takes
  const std::int64_t left = disk.capacity() - static_cast<std::int64_t>(bytes / 512);
  if (left < 0)
    return failure(ErrorCode::kUsage,
                   fmt::format("ext3: a filesystem of {} is more than disk={} holds, {}", format_size(bytes), disk.name,
                               format_size(static_cast<std::uint64_t>(disk.capacity()) * 512)));
  machine.position = Sectors(left / 2 * machine.position_halves / 8 * 8);  // whole blocks of 4 KiB
  return {};
}

Result<Ext3Settings> read_ext3_settings(const TargetSpec& spec) {
  Ext3Settings settings;
  IOTAPE_TRY(read_make(spec, settings));
  IOTAPE_TRY(read_mount(spec, settings));
  IOTAPE_TRY(read_machine(spec, settings));
  return settings;
}

}  // namespace iotape
