#include "format/base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace iotape {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr double kKibi = 1024.0;
constexpr std::array<Unit, 5> kSizeUnits{
    {{"", 1}, {"K", kKibi}, {"M", kKibi* kKibi}, {"G", kKibi* kKibi* kKibi}, {"T", kKibi* kKibi* kKibi* kKibi}}};
constexpr std::array<Unit, 7> kDurationUnits{
    {{"", 1e9}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}}};
constexpr double kLargest = 9.2e18;  // stays inside a signed 64-bit integer
constexpr double kSlowest = 1e-6;    // a second of the trace takes 11 days
constexpr double kFastest = 1e6;

// The number at the start of text and the unit that follows it.
Result<double> parse_scaled(std::string_view text, std::string_view unit_text, std::span<const Unit> units,
                            std::string_view kind, std::string_view known) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == unit_text; });
  if (error != std::errc{} || end != text.data() + text.size() || unit == units.end() || number < 0 ||
      !(number * unit->factor < kLargest))
    return failure(ErrorCode::kUsage,
                   fmt::format("'{}{}' is not a {}; write a number and {}", text, unit_text, kind, known));
  return number * unit->factor;
}

std::pair<std::string_view, std::string_view> split_number(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  return {text.substr(0, digits), text.substr(digits)};
}

template <std::size_t N>
std::string format_scaled(double value, double base, const std::array<std::string_view, N>& names) {
  std::size_t unit = 0;
  while (std::abs(value) >= base && unit + 1 < names.size()) value /= base, ++unit;
  if (unit == 0) return fmt::format("{:.0f} {}", value, names[0]);
  return fmt::format("{:.{}f} {}", value, std::abs(value) < 10 ? 2 : 1, names[unit]);
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  auto [number, unit] = split_number(text);
  std::string letter(unit);
  for (const std::string_view suffix : {"iB", "B"})
    if (letter.ends_with(suffix)) {
      letter.resize(letter.size() - suffix.size());
      break;
    }
  if (letter == "k") letter = "K";
  IOTAPE_ASSIGN(const double bytes, parse_scaled(number, letter, kSizeUnits, "size", "K, M, G or T"));
  return static_cast<std::uint64_t>(bytes);
}

Result<Nanoseconds> parse_duration(std::string_view text) {
  const auto [number, unit] = split_number(text);
  IOTAPE_ASSIGN(const double ns, parse_scaled(number, unit, kDurationUnits, "duration", "ns, us, ms, s, m or h"));
  return Nanoseconds(std::llround(ns));
}

Result<double> parse_speed(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || std::string_view(end, text.data() + text.size() - end) != "x" ||
      !(number >= kSlowest && number <= kFastest))
    return failure(
        ErrorCode::kUsage,
        fmt::format("'{}' is not a speed; write 2x for twice as fast, 0.5x for half (0.000001x to 1000000x)", text));
  return number;
}

std::string format_size(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 5> kNames{"B", "KiB", "MiB", "GiB", "TiB"};
  return format_scaled(static_cast<double>(bytes), kKibi, kNames);
}

std::string format_duration(Nanoseconds duration) {
  static constexpr std::array<std::string_view, 4> kNames{"ns", "us", "ms", "s"};
  return format_scaled(static_cast<double>(duration.value), 1000.0, kNames);
}

std::string format_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (auto position = static_cast<std::ptrdiff_t>(digits.size()) - 3; position > 0; position -= 3)
    digits.insert(static_cast<std::size_t>(position), ",");
  return digits;
}

}  // namespace iotape
