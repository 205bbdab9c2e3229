#include "replayer/command/mkfs_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <chrono>
#include <random>

#include "format/base/units.h"
#include "format/quoting.h"

namespace iotape {
namespace {

using ext3::FilesystemFeatures;
using ext3::FilesystemOptions;
using ext3::Uuid;

// The words as typed, before they are understood.
struct Words {
  std::string size;
  std::string type = "ext3";
  std::string block_size;
  std::string bytes_per_inode;
  std::vector<std::string> journal;
  std::string uuid;
  std::vector<std::string> features;
  std::vector<std::string> extended;
  std::optional<std::uint64_t> seed;
  std::optional<std::int64_t> clock;
};

template <typename... Arguments>
auto usage(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return failure(ErrorCode::kUsage, fmt::format(text, std::forward<Arguments>(arguments)...));
}

struct FeatureName {
  std::string_view name;
  bool FilesystemFeatures::*field;
};
constexpr std::array<FeatureName, 7> kFeatures{{{"has_journal", &FilesystemFeatures::has_journal},
                                                {"dir_index", &FilesystemFeatures::dir_index},
                                                {"filetype", &FilesystemFeatures::filetype},
                                                {"sparse_super", &FilesystemFeatures::sparse_super},
                                                {"large_file", &FilesystemFeatures::large_file},
                                                {"resize_inode", &FilesystemFeatures::resize_inode},
                                                {"ext_attr", &FilesystemFeatures::ext_attr}}};

// What the front end has words for and nearest_word knows how to correct.
std::string suggestion(std::string_view typed, const std::vector<std::string>& words) {
  const std::string nearest = nearest_word(typed, words);
  return nearest.empty() ? fmt::format("; known are {}", fmt::join(words, " "))
                         : fmt::format("; did you mean {}?", nearest);
}

Result<void> set_feature(FilesystemFeatures& features, std::string_view word) {
  const bool on = !word.starts_with('^');
  const std::string_view name = on ? word : word.substr(1);
  if (name == "none" && on) {
    for (const FeatureName& feature : kFeatures) features.*feature.field = false;
    return {};
  }
  for (const FeatureName& feature : kFeatures)
    if (feature.name == name) {
      features.*feature.field = on;
      return {};
    }
  std::vector<std::string> names{"none"};
  for (const FeatureName& feature : kFeatures) names.emplace_back(feature.name);
  return usage("ext3 has no feature '{}'{}", name, suggestion(name, names));
}

// "550e8400-e29b-41d4-a716-446655440000"
Result<Uuid> parse_uuid(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '-' || (i != 8 && i != 13 && i != 18 && i != 23)) digits += text[i];
  const std::optional<std::string> bytes = from_hex(digits);
  Uuid uuid{};
  if (text.size() != 36 || !bytes || bytes->size() != uuid.size())
    return usage("'{}' is not a UUID: 32 hexadecimal digits, grouped 8-4-4-4-12", text);
  std::copy(bytes->begin(), bytes->end(), uuid.begin());
  return uuid;
}

Result<void> set_hash(FilesystemOptions& options, std::string_view name) {
  static constexpr std::array<std::string_view, 3> kNames{"legacy", "half_md4", "tea"};
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i]) {
      options.hash_version = static_cast<ext3::HashVersion>(i);
      return {};
    }
  return usage("unknown hash '{}'{}", name, suggestion(name, {kNames.begin(), kNames.end()}));
}

Result<void> set_extended(FilesystemOptions& options, std::string_view word) {
  const std::size_t equals = word.find('=');
  const std::string_view key = word.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
  if (key == "hash_seed") {
    IOTAPE_ASSIGN(options.hash_seed, parse_uuid(value));
    return {};
  }
  if (key == "hash_alg") return set_hash(options, value);
  if (key == "hash_signed" && (value == "0" || value == "1")) {
    options.signed_hash = value == "1";
    return {};
  }
  return usage("-E knows no '{}'{}", word, suggestion(key, {"hash_seed", "hash_alg", "hash_signed"}));
}

// "size=64" is MiB, as mke2fs has it; "size=64M" says so.
Result<void> set_journal(FilesystemOptions& options, std::uint64_t& journal_bytes, std::string_view word) {
  if (!word.starts_with("size=")) return usage("-J knows no '{}'; size=MIB is known", word);
  const std::string_view value = word.substr(5);
  const bool bare = !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
  IOTAPE_ASSIGN(journal_bytes, parse_size(bare ? std::string(value) + "M" : std::string(value)));
  if (journal_bytes == 0) return usage("a journal of no size; leave it out with -O ^has_journal");
  options.features.has_journal = true;
  return {};
}

Result<std::uint32_t> parse_small_size(std::string_view what, std::string_view text) {
  IOTAPE_ASSIGN(const std::uint64_t bytes, parse_size(text));
  if (bytes == 0 || bytes > 0xFFFFFFFF) return usage("{} of {} bytes", what, bytes);
  return static_cast<std::uint32_t>(bytes);
}

Result<void> understand(MkfsOptions& options, const Words& words) {
  FilesystemOptions& filesystem = options.filesystem;
  if (!words.size.empty()) {
    // Plain numbers mean blocks to mke2fs and bytes elsewhere in iotape: neither is guessed.
    if (words.size.find_first_not_of("0123456789.") == std::string::npos)
      return usage("the size {} has no unit; write {}K or {}M", words.size, words.size, words.size);
    IOTAPE_ASSIGN(filesystem.bytes, parse_size(words.size));
    if (filesystem.bytes == 0) return usage("a filesystem of no size");
    options.place.bytes = filesystem.bytes;
  }
  if (!words.block_size.empty()) {
    IOTAPE_ASSIGN(filesystem.block_size, parse_small_size("a block", words.block_size));
  }
  if (!words.bytes_per_inode.empty()) {
    IOTAPE_ASSIGN(filesystem.bytes_per_inode, parse_small_size("an inode for each", words.bytes_per_inode));
  }
  filesystem.features.has_journal = words.type == "ext3";
  for (const std::string& word : words.features) IOTAPE_TRY(set_feature(filesystem.features, word));
  std::uint64_t journal_bytes = 0;
  for (const std::string& word : words.journal) IOTAPE_TRY(set_journal(filesystem, journal_bytes, word));
  for (const std::string& word : words.extended) IOTAPE_TRY(set_extended(filesystem, word));
  if (!words.uuid.empty()) {
    IOTAPE_ASSIGN(filesystem.uuid, parse_uuid(words.uuid));
  }
  filesystem.journal_bytes = journal_bytes;
  filesystem.seed = words.seed ? *words.seed : std::uint64_t{std::random_device{}()} << 32U | std::random_device{}();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  filesystem.now = words.clock ? *words.clock : std::chrono::duration_cast<std::chrono::seconds>(now).count();
  if (filesystem.now < 0 || filesystem.now > 0xFFFFFFFF) return usage("the clock {} is not one", filesystem.now);
  return {};
}

void declare(CLI::App& app, MkfsOptions& options, Words& words) {
  FilesystemOptions& filesystem = options.filesystem;
  app.add_option("IMAGE", options.place.path, "A file, made or grown where SIZE asks for it, or a block device")
      ->required();
  app.add_option("SIZE", words.size, "With a unit: 64M, 4G; the whole file or device when not given");
  app.add_option("-t,--type", words.type, "ext3, or ext2: no journal")->check(CLI::IsMember({"ext2", "ext3"}));
  app.add_option("-b,--block-size", words.block_size, "1024, 2048 or 4096; 1024 below 512M");
  app.add_option("-I,--inode-size", filesystem.inode_size, "128 or 256")->capture_default_str();
  app.add_option("-i,--bytes-per-inode", words.bytes_per_inode, "An inode for so many bytes; by size, 4K to 64K");
  app.add_option("-N,--inodes", filesystem.inode_count, "So many inodes, or a few more");
  app.add_option("-J,--journal", words.journal, "size=MIB: the journal's size; by size, 1M to 1G")
      ->allow_extra_args(false);
  app.add_option("-m,--reserved", filesystem.reserved_percent, "Percent of the blocks kept for root")
      ->capture_default_str();
  app.add_option("-L,--label", filesystem.label, "A name of up to 16 bytes");
  app.add_option("-U,--uuid", words.uuid, "The UUID; at random when not given");
  app.add_option("-O,--features", words.features,
                 "Features to add, or with ^ to leave out: has_journal dir_index filetype\n"
                 "sparse_super large_file resize_inode ext_attr, all of which are on; none")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("-E,--extended", words.extended, "hash_seed=UUID, hash_alg=half_md4|tea|legacy, hash_signed=0|1")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--seed", words.seed, "What is drawn at random comes from this number");
  app.add_option("--clock", words.clock, "Seconds since 1970: the time of everything made");
  app.add_flag("-F,--force", options.place.force, "Even if the place holds data");
  app.add_option("--allow-writes", options.place.allow_writes, "A block device that may be overwritten")
      ->allow_extra_args(false);
  app.add_flag("--json", options.json, "Print what was made as one JSON document");
  app.add_option("--trace", options.trace, "Write the block requests down as a trace");
  app.footer(
      "Sizes, counts and places are those of mke2fs -t ext3. The same size, options, --seed and\n"
      "--clock give the same bytes. Exit status: 0 made, 1 failed, 2 usage.\n"
      "Next: iotape check IMAGE");
}

}  // namespace

std::optional<MkfsOptions> parse_mkfs_options(CommandCall& call, int& status) {
  MkfsOptions options;
  Words words;
  CLI::App app("Make an ext3 filesystem in an image", "iotape mkfs");
  add_common_options(app, *call.terminal);
  declare(app, options, words);
  status = parse_arguments(app, call);
  if (status >= 0) return std::nullopt;
  if (const Result<void> understood = understand(options, words); !understood) {
    status = report_error(*call.terminal, "mkfs", understood.error());
    return std::nullopt;
  }
  return options;
}

}  // namespace iotape
