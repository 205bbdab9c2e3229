#include "replayer/target/target_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "format/base/command.h"
#include "format/base/units.h"

namespace iotape {
namespace {

constexpr TargetKey kReserve{"reserve", "256M", "space that is never used up on the filesystem that holds the target"};
constexpr TargetKey kBlockLimit{"block_limit", "10s", "a call that waits longer (a lock, a fifo) is interrupted"};

constexpr TargetKey kBlockTotal{"block_total", "60s",
                                "once such calls have waited this long together, each further one gets 50 ms"};

constexpr std::array kDirectoryKeys{kReserve, kBlockLimit, kBlockTotal};
constexpr std::array kKernelKeys{
    TargetKey{"size", "8G", "size of the image (it takes only what is written)"},
    TargetKey{"mkfs", "", "more words for mkfs, separated by spaces"},
    TargetKey{"mount", "", "mount options"},
    TargetKey{"dev", "", "a block device instead of an image; needs --allow-writes DEV"},
    TargetKey{"scratch", "/var/tmp", "directory that holds the image"},
    TargetKey{"direct", "on", "on|off: the loop device bypasses the cache of the image's filesystem"},
    kReserve,
    kBlockLimit,
    kBlockTotal,
};
constexpr std::array kExt3Keys{
    TargetKey{"size", "4G", "of the disk, when it is made for the replay"},
    TargetKey{"block", "", "1K, 2K or 4K; by size when not given, as mkfs.ext3 chooses"},
    TargetKey{"inodes", "", "how many files it can hold; by size when not given"},
    TargetKey{"inode_size", "256", "128 or 256 bytes"},
    TargetKey{"journal", "", "size of the journal; by size of the disk when not given"},
    TargetKey{"data", "ordered", "ordered|writeback|journal, or none: no journal, plain ext2"},
    TargetKey{"htree", "on", "on|off: indexes for large directories"},
    TargetKey{"hash", "half_md4", "half_md4|tea|legacy: what the indexes are ordered by"},
    TargetKey{"hash_seed", "", "a UUID; drawn from seed= when not given"},
    TargetKey{"seed", "1", "of everything that is drawn at random"},
    TargetKey{"alloc", "orlov", "orlov|classic|leaf: where new inodes go"},
    TargetKey{"reserve", "on", "on|off: reservation windows for file data"},
    TargetKey{"memory", "256M", "size of the cache; with disk=, of the machine's memory"},
    TargetKey{"commit", "5s", "the journal's commit interval"},
    TargetKey{"atime", "relatime", "on|off|relatime: when reading is written down"},
    TargetKey{"readahead", "128K", "the largest window of sequential reading"},
    TargetKey{"barrier", "on", "on|off: flush the disk around each commit"},
    TargetKey{"disk", "none", "none, a disk profile's name or file: the machine is simulated, in virtual time"},
    TargetKey{"elevator", "clook", "clook|noop|deadline: which request goes to the disk next"},
    TargetKey{"position", "outer", "outer|middle|inner: where on the disk the filesystem lies"},
    TargetKey{"cpu", "1", "how many times as long its processor takes as the recorded one; 0: no time"},
    TargetKey{"cpus", "1", "how many processors it has"},
};
constexpr std::array kKinds{
    TargetKind{"dir", "a directory", "a directory of any mounted filesystem", kDirectoryKeys, false},
    TargetKind{"kernel", "ext2, ext3, ext4, xfs or btrfs", "mkfs on a loop image, mount, replay, unmount", kKernelKeys,
               false},
    TargetKind{"ext3", "an image, or nothing: in memory", "the built-in ext3", kExt3Keys, true},
    TargetKind{"null", "", "nothing: measures the replayer itself", {}, false},
};

const TargetKind* find_kind(std::string_view name) {
  const auto* found = std::ranges::find(kKinds, name, &TargetKind::name);
  return found == kKinds.end() ? nullptr : found;
}

const TargetKey* find_key(std::string_view kind, std::string_view name) {
  const TargetKind* known = find_kind(kind);
  if (known == nullptr) return nullptr;
  const auto found = std::ranges::find(known->keys, name, &TargetKey::name);
  return found == known->keys.end() ? nullptr : &*found;
}

// Splits at single commas; a doubled one stands for itself.
std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> pieces(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ',') {
      pieces.back().push_back(text[i]);
    } else if (i + 1 < text.size() && text[i + 1] == ',') {
      pieces.back().push_back(',');
      ++i;
    } else {
      pieces.emplace_back();
    }
  }
  return pieces;
}

std::string double_commas(std::string_view text) {
  std::string doubled;
  for (const char c : text) doubled.append(c == ',' ? 2 : 1, c);
  return doubled;
}

tl::unexpected<Error> unknown_word(std::string_view what, std::string_view typed, std::vector<std::string> candidates) {
  const std::string nearest = nearest_word(typed, candidates);
  std::string message = fmt::format("unknown {} '{}'", what, typed);
  message += nearest.empty() ? fmt::format(" (known: {})", fmt::join(candidates, " "))
                             : fmt::format("; did you mean '{}'?", nearest);
  return failure(ErrorCode::kUsage, std::move(message));
}

// A kind is a plain word before the first colon: `./a:b` and `/a:b` are paths.
std::optional<std::string_view> kind_word(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const std::string_view word = text.substr(0, colon);
  const bool plain = std::ranges::all_of(
      word, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; });
  return plain ? std::optional(word) : std::nullopt;
}

Result<void> add_setting(TargetSpec& spec, const TargetKind& kind, const std::string& piece) {
  const std::size_t equals = piece.find('=');
  const std::string key = piece.substr(0, equals);
  if (find_key(kind.name, key) == nullptr) {
    std::vector<std::string> candidates;
    for (const TargetKey& known : kind.keys) candidates.emplace_back(known.name);
    return unknown_word(fmt::format("key of {}:", kind.name), key, std::move(candidates));
  }
  if (equals == std::string::npos)
    return failure(ErrorCode::kUsage, fmt::format("{}: key '{}' needs a value: {}=...", kind.name, key, key));
  if (spec.given(key)) return failure(ErrorCode::kUsage, fmt::format("{}: key '{}' is given twice", kind.name, key));
  spec.settings.emplace_back(key, piece.substr(equals + 1));
  return {};
}

// A colon or a comma forgotten would be a place of that name, silently made. Who means one writes ./ before it.
Result<void> refuse_forgotten_mark(std::string_view text, std::string_view word, const TargetKind& kind,
                                   std::string_view place) {
  if (word.empty() && (find_kind(text) != nullptr || text == "help"))
    return failure(ErrorCode::kUsage, text == "help" ? "which target's help? Write ext3:help, or ./help for a directory"
                                                     : fmt::format("did you mean {0}:? A directory is ./{0}", text));
  const std::size_t equals = place.find('=');
  if (word.empty() || equals == std::string_view::npos || find_key(kind.name, place.substr(0, equals)) == nullptr)
    return {};
  return failure(ErrorCode::kUsage, fmt::format("did you mean {0}:,{1}? A place of that name is ./{1}", word, place));
}

}  // namespace

std::span<const TargetKind> target_kinds() { return kKinds; }

bool TargetSpec::given(std::string_view key) const {
  return std::ranges::any_of(settings, [&](const auto& setting) { return setting.first == key; });
}

std::string TargetSpec::value(std::string_view key) const {
  for (const auto& [name, text] : settings)
    if (name == key) return text;
  const TargetKey* known = find_key(kind, key);
  return known == nullptr ? std::string() : std::string(known->default_value);
}

void TargetSpec::set(std::string_view key, std::string value) {
  for (auto& [name, text] : settings)
    if (name == key) {
      text = std::move(value);
      return;
    }
  settings.emplace_back(key, std::move(value));
}

Result<std::uint64_t> TargetSpec::size_value(std::string_view key) const {
  auto size = parse_size(value(key));
  if (!size)
    return failure(ErrorCode::kUsage,
                   fmt::format("{}: {}= takes a size such as 512M: {}", kind, key, size.error().message));
  return size;
}

Result<Nanoseconds> TargetSpec::duration_value(std::string_view key) const {
  auto duration = parse_duration(value(key));
  if (!duration)
    return failure(ErrorCode::kUsage,
                   fmt::format("{}: {}= takes a duration such as 10s: {}", kind, key, duration.error().message));
  return duration;
}

Result<bool> TargetSpec::switch_value(std::string_view key) const {
  const std::string text = value(key);
  if (text == "on") return true;
  if (text == "off") return false;
  return failure(ErrorCode::kUsage, fmt::format("{}: {}= takes on or off, not '{}'", kind, key, text));
}

std::string TargetSpec::text() const {
  std::string text = kind + ":" + (help ? "help" : double_commas(place));
  for (const auto& [key, value] : settings) text += fmt::format(",{}={}", key, double_commas(value));
  if (!help && text == kind + ":help") text += ',';  // a place of that name is no question
  return text;
}

Result<TargetSpec> parse_target_spec(std::string_view text) {
  if (text.empty()) return failure(ErrorCode::kUsage, "no target given; one of\n" + target_kinds_help());
  const std::string_view word = kind_word(text).value_or("");
  const TargetKind* kind = find_kind(word.empty() ? "dir" : word);
  if (kind == nullptr) {
    std::vector<std::string> names;
    names.reserve(kKinds.size());
    for (const TargetKind& known : kKinds) names.emplace_back(known.name);
    return unknown_word("target kind", word, std::move(names));
  }
  if (!word.empty()) text.remove_prefix(word.size() + 1);
  const std::vector<std::string> pieces = split_at_commas(text);
  TargetSpec spec{std::string(kind->name), pieces.front(), {}, false};
  if (!word.empty() && pieces.size() == 1 && spec.place == "help") {
    spec.place.clear();
    spec.help = true;
    return spec;
  }
  IOTAPE_TRY(refuse_forgotten_mark(text, word, *kind, spec.place));
  for (std::size_t i = 1; i < pieces.size(); ++i)
    if (!pieces[i].empty()) IOTAPE_TRY(add_setting(spec, *kind, pieces[i]));
  if (kind->place.empty() && !spec.place.empty())
    return failure(ErrorCode::kUsage, fmt::format("{}: takes no place, found '{}'", kind->name, spec.place));
  if (!kind->place.empty() && spec.place.empty() && !kind->place_optional)
    return failure(ErrorCode::kUsage, fmt::format("{}: needs {} after the colon", kind->name, kind->place));
  return spec;
}

std::string target_help(std::string_view name) {
  const TargetKind* kind = find_kind(name);
  if (kind == nullptr) return target_kinds_help();
  std::string text = fmt::format("{}:{}  {}\n", kind->name, kind->place.empty() ? "" : "PLACE", kind->summary);
  if (!kind->place.empty()) text += fmt::format("  {:<12} {}\n", "PLACE", kind->place);
  for (const TargetKey& key : kind->keys) {
    text += fmt::format("  {:<12} {}", fmt::format("{}=", key.name), key.summary);
    text += key.default_value.empty() ? "\n" : fmt::format(" (default {})\n", key.default_value);
  }
  return text;
}

std::string target_kinds_help() {
  std::string text;
  for (const TargetKind& kind : kKinds)
    text += fmt::format("  {:<8} {}\n", fmt::format("{}:", kind.name), kind.summary);
  return text;
}

}  // namespace iotape
