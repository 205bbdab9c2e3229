#include "analysis/disk/profile_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "analysis/text_table.h"
#include "format/base/command.h"
#include "format/base/units.h"

namespace iotape {
namespace {

constexpr std::size_t kMaximumPoints = 100'000;
constexpr double kLongestTime = 10e9;  // ten seconds
constexpr std::int64_t kSectorBytes = 512;

using Words = std::vector<std::string_view>;

struct SeekSpec {
  std::vector<std::string> words;
  std::size_t line = 0;
};

// What was read so far; becomes a DiskProfile when all of it is known.
struct Draft {
  DiskProfile profile;
  GeometrySpec geometry;
  std::optional<std::int64_t> capacity;
  SeekSpec seek;
  std::vector<SeekPoint> points;
  std::size_t zone_line = 0;
  std::vector<std::string> seen;  // keys
};

tl::unexpected<Error> wrong(std::string message) { return failure(ErrorCode::kUsage, std::move(message)); }

Words split(std::string_view text) {
  Words words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \t,\r");
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(" \t,\r"), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

Result<double> number(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || !(value >= 0 && value < 1e18))
    return wrong(fmt::format("'{}' is not a number", printable(word)));
  return value;
}

Result<std::int64_t> whole(std::string_view word, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size())
    return wrong(fmt::format("'{}' is not a whole number", printable(word)));
  if (value < least || value > most) return wrong(fmt::format("{} is not between {} and {}", value, least, most));
  return value;
}

// Nanoseconds with their fraction: a coefficient may be 0.000031ms.
Result<double> time(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
      {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  for (const auto& [unit, factor] : kUnits) {
    if (!word.ends_with(unit)) continue;
    const auto value = number(word.substr(0, word.size() - unit.size()));
    if (!value) break;
    if (*value * factor > kLongestTime) return wrong(fmt::format("{} is longer than 10 s", word));
    return *value * factor;
  }
  return wrong(fmt::format("'{}' is not a time; write a number and ns, us, ms or s", printable(word)));
}

Result<void> set_time(std::int64_t& field, const Words& words) {
  IOTAPE_ASSIGN(const double value, time(words.front()));
  field = static_cast<std::int64_t>(value + 0.5);
  return {};
}

Result<std::int64_t> bytes(std::string_view word, double most) {
  auto value = parse_size(word);
  if (!value) return wrong(std::move(value.error().message));
  if (static_cast<double>(*value) > most) return wrong(fmt::format("{} is too large", word));
  return static_cast<std::int64_t>(*value);
}

Result<void> set_rate(std::int64_t& field, const Words& words) {
  IOTAPE_ASSIGN(field, bytes(words.front(), 1e12));
  if (field < 65'536) return wrong(fmt::format("{} bytes per second is too slow to be one", field));
  return {};
}

Result<void> set_sectors(std::int64_t& field, const Words& words, double most) {
  IOTAPE_ASSIGN(field, bytes(words.front(), most));
  field /= kSectorBytes;
  return {};
}

Result<void> set_whole(std::int64_t& field, const Words& words, std::int64_t least, std::int64_t most) {
  IOTAPE_ASSIGN(field, whole(words.front(), least, most));
  return {};
}

Result<void> add_zone(Draft& draft, const Words& words) {
  if (words.size() == 3) return wrong("two skews or none");
  ZoneSpec zone;
  IOTAPE_ASSIGN(zone.cylinders, whole(words[0], 1, SeekCurve::kMaximumCylinders));
  IOTAPE_ASSIGN(zone.sectors_per_track, whole(words[1], 1, 1'000'000));
  if (words.size() == 4) {
    IOTAPE_ASSIGN(zone.track_skew, whole(words[2], 0, 1'000'000));
    IOTAPE_ASSIGN(zone.cylinder_skew, whole(words[3], 0, 1'000'000));
  }
  if (draft.geometry.zones.size() >= DiskGeometry::kMaximumZones)
    return wrong(fmt::format("more than {} zones", DiskGeometry::kMaximumZones));
  draft.geometry.zones.push_back(zone);
  return {};
}

// COUNT zones of equal width, from OUTER to INNER sectors per track in equal steps.
Result<void> add_zones(Draft& draft, const Words& words) {
  IOTAPE_ASSIGN(const std::int64_t count, whole(words[0], 1, DiskGeometry::kMaximumZones));
  IOTAPE_ASSIGN(const std::int64_t cylinders, whole(words[1], count, SeekCurve::kMaximumCylinders));
  IOTAPE_ASSIGN(const std::int64_t outer, whole(words[2], 1, 1'000'000));
  IOTAPE_ASSIGN(const std::int64_t inner, whole(words[3], 1, outer));
  if (draft.geometry.zones.size() + static_cast<std::size_t>(count) > DiskGeometry::kMaximumZones)
    return wrong(fmt::format("more than {} zones", DiskGeometry::kMaximumZones));
  for (std::int64_t i = 0; i < count; ++i) {
    ZoneSpec zone;
    zone.cylinders = cylinders * (i + 1) / count - cylinders * i / count;
    zone.sectors_per_track = count == 1 ? outer : outer - ((outer - inner) * i + (count - 1) / 2) / (count - 1);
    draft.geometry.zones.push_back(zone);
  }
  return {};
}

Result<SeekPoint> seek_point(const Words& words) {
  SeekPoint point;
  IOTAPE_ASSIGN(point.cylinders, whole(words[0], 1, SeekCurve::kMaximumCylinders));
  IOTAPE_ASSIGN(point.nanoseconds, time(words[1]));
  return point;
}

Result<void> add_point(Draft& draft, const Words& words) {
  if (draft.points.size() >= kMaximumPoints) return wrong(fmt::format("more than {} points", kMaximumPoints));
  IOTAPE_ASSIGN(const SeekPoint point, seek_point(words));
  draft.points.push_back(point);
  return {};
}

Result<void> set_rpm(Draft& draft, const Words& words) {
  IOTAPE_ASSIGN(const double rpm, number(words.front()));
  if (!(rpm >= 300 && rpm <= 1e6)) return wrong(fmt::format("{} turns per minute is not a disk", words.front()));
  draft.geometry.turn = static_cast<std::int64_t>(60e9 / rpm + 0.5);
  return {};
}

Result<void> set_kind(Draft& draft, const Words& words) {
  if (words.front() != "disk" && words.front() != "flash") return wrong("a disk is of kind disk or flash");
  draft.profile.kind = words.front() == "disk" ? DiskKind::kDisk : DiskKind::kFlash;
  return {};
}

enum class For : std::uint8_t { kBoth, kDisk, kFlash };

struct Key {
  std::string_view name;
  For kind = For::kDisk;
  std::size_t least_words = 1;
  std::size_t most_words = 1;
  bool repeats = false;
  Result<void> (*set)(Draft&, const Words&);
};

constexpr double kLargestCache = 16.0 * (1ULL << 30U);

constexpr std::array kKeys{
    Key{"kind", For::kBoth, 1, 1, false, set_kind},
    Key{"rpm", For::kDisk, 1, 1, false, set_rpm},
    Key{"heads", For::kDisk, 1, 1, false,
        [](Draft& d, const Words& w) { return set_whole(d.geometry.heads, w, 1, 256); }},
    Key{"zone", For::kDisk, 2, 4, true, add_zone},
    Key{"queue_depth", For::kDisk, 1, 1, false,
        [](Draft& d, const Words& w) { return set_whole(d.profile.queue_depth, w, 1, 256); }},
    Key{"largest_request", For::kBoth, 1, 1, false,
        [](Draft& d, const Words& w) -> Result<void> {
          IOTAPE_TRY(set_sectors(d.profile.largest_request, w, 64.0 * (1U << 20U)));
          if (d.profile.largest_request < 8) return wrong("a request holds at least 4K");
          return {};
        }},
    Key{"zones", For::kDisk, 4, 4, true, add_zones},
    Key{"capacity", For::kBoth, 1, 1, false,
        [](Draft& d, const Words& w) { return set_sectors(d.capacity.emplace(), w, 9e18); }},
    Key{"seek", For::kDisk, 1, 6, false,
        [](Draft& d, const Words& w) -> Result<void> {
          d.seek.words.assign(w.begin(), w.end());
          return {};
        }},
    Key{"seek_point", For::kDisk, 2, 2, true, add_point},
    Key{"write_settle", For::kDisk, 1, 1, false,
        [](Draft& d, const Words& w) { return set_time(d.profile.write_settle, w); }},
    Key{"head_switch", For::kDisk, 1, 1, false,
        [](Draft& d, const Words& w) { return set_time(d.profile.head_switch, w); }},
    Key{"track_skew", For::kDisk, 1, 1, false,
        [](Draft& d, const Words& w) { return set_time(d.geometry.track_skew, w); }},
    Key{"cylinder_skew", For::kDisk, 1, 1, false,
        [](Draft& d, const Words& w) { return set_time(d.geometry.cylinder_skew, w); }},
    Key{"miss_overhead", For::kDisk, 1, 1, false,
        [](Draft& d, const Words& w) { return set_time(d.profile.miss_overhead, w); }},
    Key{"hit_overhead", For::kDisk, 1, 1, false,
        [](Draft& d, const Words& w) { return set_time(d.profile.hit_overhead, w); }},
    Key{"write_overhead", For::kDisk, 1, 1, false,
        [](Draft& d, const Words& w) { return set_time(d.profile.write_overhead, w); }},
    Key{"bus_rate", For::kDisk, 1, 1, false, [](Draft& d, const Words& w) { return set_rate(d.profile.bus_rate, w); }},
    Key{"segments", For::kDisk, 1, 1, false,
        [](Draft& d, const Words& w) { return set_whole(d.profile.segments, w, 0, 32); }},
    Key{"segment_size", For::kDisk, 1, 1, false,
        [](Draft& d, const Words& w) { return set_sectors(d.profile.segment_size, w, kLargestCache); }},
    Key{"readahead", For::kDisk, 1, 1, false,
        [](Draft& d, const Words& w) { return set_sectors(d.profile.readahead, w, kLargestCache); }},
    Key{"write_cache", For::kDisk, 1, 1, false,
        [](Draft& d, const Words& w) { return set_sectors(d.profile.write_cache, w, kLargestCache); }},
    Key{"write_extents", For::kDisk, 1, 1, false,
        [](Draft& d, const Words& w) { return set_whole(d.profile.write_extents, w, 1, 63); }},
    Key{"read_latency", For::kFlash, 1, 1, false,
        [](Draft& d, const Words& w) { return set_time(d.profile.read_latency, w); }},
    Key{"write_latency", For::kFlash, 1, 1, false,
        [](Draft& d, const Words& w) { return set_time(d.profile.write_latency, w); }},
    Key{"read_rate", For::kFlash, 1, 1, false,
        [](Draft& d, const Words& w) { return set_rate(d.profile.read_rate, w); }},
    Key{"write_rate", For::kFlash, 1, 1, false,
        [](Draft& d, const Words& w) { return set_rate(d.profile.write_rate, w); }},
};

const Key* find_key(std::string_view name) {
  const auto* const found = std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& key) { return key.name == name; });
  return found == kKeys.end() ? nullptr : found;
}

std::string unknown_key(std::string_view name) {
  std::vector<std::string> known{"source"};
  for (const Key& key : kKeys) known.emplace_back(key.name);
  const std::string nearest = name.size() > 64 ? "" : nearest_word(name, known);
  return fmt::format("unknown key '{}'; {}", printable(name.substr(0, 64)),
                     nearest.empty() ? fmt::format("the keys are {}", fmt::join(known, ", "))
                                     : fmt::format("did you mean {}?", nearest));
}

Result<void> set_key(Draft& draft, std::string_view name, std::string_view value, std::size_t line) {
  const Key* key = find_key(name);
  if (key == nullptr) return wrong(unknown_key(name));
  const Words words = split(value);
  if (words.size() < key->least_words || words.size() > key->most_words)
    return wrong(
        key->least_words == key->most_words
            ? fmt::format("takes {} value{}, not {}", key->least_words, key->least_words == 1 ? "" : "s", words.size())
            : fmt::format("takes {} to {} values, not {}", key->least_words, key->most_words, words.size()));
  const bool again = std::find(draft.seen.begin(), draft.seen.end(), name) != draft.seen.end();
  if (again && !key->repeats) return wrong("stated twice");
  if (!again) draft.seen.emplace_back(name);
  IOTAPE_TRY(key->set(draft, words));
  if (name == "seek") draft.seek.line = line;
  if (name.starts_with("zone")) draft.zone_line = line;
  return {};
}

// One line as key and value; an empty key for a line without any.
Result<std::pair<std::string_view, std::string_view>> key_and_value(std::string_view line) {
  const auto trimmed = [](std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return std::string_view();
    return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
  };
  line = trimmed(line.substr(0, line.find('#')));
  if (line.empty()) return std::pair{line, line};
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos)
    return wrong(fmt::format("'{}': a line is KEY = VALUE", printable(line.substr(0, 40))));
  return std::pair{trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1))};
}

// Calls take(line, number) for each line until one fails.
template <typename Take>
Result<void> each_line(std::string_view text, const std::string& file, Take take) {
  if (text.size() > kLargestProfile)
    return wrong(fmt::format("{}: larger than {}", file, format_size(kLargestProfile)));
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (Result<void> taken = take(text.substr(0, end), number); !taken)
      return wrong(fmt::format("{}:{}: {}", file, number, taken.error().message));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

// "cylinders, milliseconds" lines, as DiskSim's .seek files have them; a heading without digits first is passed over.
Result<std::vector<SeekPoint>> curve_file(std::string_view text, const std::string& file) {
  std::vector<SeekPoint> points;
  IOTAPE_TRY(each_line(text, file, [&](std::string_view line, std::size_t) -> Result<void> {
    const Words words = split(line.substr(0, line.find('#')));
    if (words.empty() || words.front().starts_with("Seek")) return {};
    if (words.size() != 2) return wrong("a line is CYLINDERS, MILLISECONDS");
    if (points.size() >= kMaximumPoints) return wrong(fmt::format("more than {} points", kMaximumPoints));
    SeekPoint point;
    IOTAPE_ASSIGN(point.cylinders, whole(words[0], 0, SeekCurve::kMaximumCylinders));
    IOTAPE_ASSIGN(point.nanoseconds, number(words[1]));
    point.nanoseconds *= 1e6;
    if (point.nanoseconds > kLongestTime) return wrong("longer than 10 s");
    if (point.cylinders > 0) points.push_back(point);
    return {};
  }));
  return points;
}

Result<SeekCurve> make_curve(Draft& draft, std::int64_t cylinders, ProfileFiles& files) {
  const std::vector<std::string>& words = draft.seek.words;
  const std::string& kind = words.front();
  const auto takes = [&](std::size_t count, std::string_view what) -> Result<void> {
    if (words.size() != count) return wrong(fmt::format("{} takes {}", kind, what));
    return {};
  };
  if (kind != "measured" && !draft.points.empty()) return wrong("seek_point lines belong to 'seek = measured'");
  if (kind == "three-point") {
    IOTAPE_TRY(takes(4, "least, average and full-stroke times"));
    IOTAPE_ASSIGN(const double least, time(words[1]));
    IOTAPE_ASSIGN(const double average, time(words[2]));
    IOTAPE_ASSIGN(const double full, time(words[3]));
    return SeekCurve::three_point(least, average, full, cylinders);
  }
  if (kind == "two-piece") {
    IOTAPE_TRY(takes(6, "a time, a time per root, a limit in cylinders, a time and a time per cylinder"));
    IOTAPE_ASSIGN(const double a, time(words[1]));
    IOTAPE_ASSIGN(const double b, time(words[2]));
    IOTAPE_ASSIGN(const std::int64_t limit, whole(words[3], 1, SeekCurve::kMaximumCylinders));
    IOTAPE_ASSIGN(const double c, time(words[4]));
    IOTAPE_ASSIGN(const double e, time(words[5]));
    return SeekCurve::two_piece(a, b, limit, c, e, cylinders);
  }
  if (kind != "measured")
    return wrong(fmt::format("'{}' is no curve; three-point, two-piece and measured are", printable(kind)));
  if (words.size() == 1) return SeekCurve::measured(draft.points, cylinders);
  IOTAPE_TRY(takes(2, "one file, or seek_point lines"));
  if (!draft.points.empty()) return wrong("a curve file or seek_point lines, not both");
  IOTAPE_ASSIGN(const std::string text, files.read(words[1]));
  IOTAPE_ASSIGN(const std::vector<SeekPoint> points, curve_file(text, words[1]));
  return SeekCurve::measured(points, cylinders);
}

// Keys of the other kind are mistakes, missing ones have no honest default.
Result<void> check_keys(const Draft& draft, const std::string& file) {
  const bool disk = draft.profile.kind == DiskKind::kDisk;
  for (const std::string& name : draft.seen) {
    const For kind = find_key(name)->kind;
    if (kind != For::kBoth && (kind == For::kDisk) != disk)
      return wrong(fmt::format("{}: {}: not a key of kind {}", file, name, disk ? "disk" : "flash"));
  }
  const auto has = [&](std::string_view name) {
    return std::find(draft.seen.begin(), draft.seen.end(), name) != draft.seen.end();
  };
  static constexpr std::array<std::string_view, 4> kDiskNeeds{"rpm", "heads", "seek", "bus_rate"};
  static constexpr std::array<std::string_view, 4> kFlashNeeds{"read_latency", "write_latency", "read_rate",
                                                               "write_rate"};
  for (const std::string_view name : disk ? kDiskNeeds : kFlashNeeds)
    if (!has(name)) return wrong(fmt::format("{}: {}: missing", file, name));
  if (disk && !has("zone") && !has("zones")) return wrong(fmt::format("{}: zone: missing", file));
  return {};
}

Result<void> finish_disk(Draft& draft, const std::string& file, ProfileFiles& files) {
  DiskProfile& profile = draft.profile;
  std::int64_t cylinders = 0;
  for (const ZoneSpec& zone : draft.geometry.zones) cylinders += zone.cylinders;
  auto curve = make_curve(draft, cylinders, files);
  if (!curve) return wrong(fmt::format("{}:{}: seek: {}", file, draft.seek.line, curve.error().message));
  profile.seek = std::move(*curve);
  draft.geometry.head_switch = profile.head_switch;
  draft.geometry.write_settle = profile.write_settle;
  draft.geometry.cylinder_switch = cylinders > 1 ? profile.seek.time(1) : 0;
  auto geometry = DiskGeometry::make(draft.geometry);
  if (!geometry) return wrong(fmt::format("{}:{}: zone: {}", file, draft.zone_line, geometry.error().message));
  profile.geometry = std::move(*geometry);
  if (draft.capacity && (*draft.capacity < 1 || *draft.capacity > profile.geometry.capacity()))
    return wrong(fmt::format("{}: capacity: {} sectors, but the zones hold {}", file, *draft.capacity,
                             profile.geometry.capacity()));
  if (draft.capacity) profile.geometry.limit(*draft.capacity);
  if (profile.segments > 0 && profile.segment_size < 1)
    return wrong(fmt::format("{}: segment_size: a segment holds at least one sector", file));
  return {};
}

}  // namespace

Result<DiskProfile> parse_disk_profile(std::string_view text, const std::string& file, const std::string& name,
                                       ProfileFiles& files) {
  Draft draft;
  draft.profile.name = name;
  IOTAPE_TRY(each_line(text, file, [&](std::string_view line, std::size_t number) -> Result<void> {
    IOTAPE_ASSIGN(const auto entry, key_and_value(line));
    if (entry.first.empty() && entry.second.empty()) return {};
    if (entry.first == "source") {
      draft.profile.sources.emplace_back(entry.second);
      return {};
    }
    if (auto set = set_key(draft, entry.first, entry.second, number); !set)
      return find_key(entry.first) == nullptr
                 ? set
                 : wrong(fmt::format("{}: {}", entry.first, std::move(set.error().message)));
    return {};
  }));
  IOTAPE_TRY(check_keys(draft, file));
  if (draft.profile.kind == DiskKind::kDisk)
    IOTAPE_TRY(finish_disk(draft, file, files));
  else
    draft.profile.flash_capacity = draft.capacity.value_or(0);
  return std::move(draft.profile);
}

}  // namespace iotape
