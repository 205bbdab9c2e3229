#include "analysis/seek_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/text_table.h"
#include "format/base/units.h"

namespace iotape {
namespace {

constexpr std::size_t kGroupsShown = 20;
constexpr std::size_t kDevicesShown = 16;
constexpr std::uint64_t kLongestShown = std::uint64_t{1} << 62U;  // nanoseconds

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string rounded(double value) { return format_count(static_cast<std::uint64_t>(value + 0.5)); }

std::string paint(const Terminal& terminal, std::string_view code, const std::string& text) {
  return terminal.color ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
}

struct NamedStatistics {
  std::string name;
  SeekStatistics* statistics;
};

std::string count_table(const std::vector<NamedStatistics>& rows, const std::string& heading, int width) {
  TextTable table;
  table.add_row({heading, "requests", "bytes", "sequential", "near", "seeks", "seeks/s"});
  for (const auto& [name, s] : rows)
    table.add_row({name, format_count(s->requests), format_size(s->bytes), percent(s->share(s->sequential)),
                   percent(s->share(s->near)), format_count(s->seeks), fmt::format("{:.1f}", s->seeks_per_second())});
  return table.render(width);
}

std::string distance_table(const std::vector<NamedStatistics>& rows, int width) {
  TextTable table;
  table.add_row({"|distance|", "mean", "median", "p90", "p99", "total", "back"});
  for (const auto& [name, s] : rows)
    table.add_row({name, rounded(s->mean_distance()), format_count(s->magnitudes.percentile(0.5)),
                   format_count(s->magnitudes.percentile(0.9)), format_count(s->magnitudes.percentile(0.99)),
                   format_count(s->total_distance), percent(s->share(s->backward))});
  return table.render(width);
}

std::vector<NamedStatistics> rows_of(DeviceSeeks& device) {
  std::vector<NamedStatistics> rows{{"all", &device.all}};
  for (std::size_t i = 0; i < kAccessClassCount; ++i)
    if (device.by_class[i].requests > 0)
      rows.push_back({std::string(access_class_name(static_cast<AccessClass>(i))), &device.by_class[i]});
  return rows;
}

std::string bar(std::uint64_t count, std::uint64_t largest, std::size_t columns, bool ascii) {
  if (count == 0 || largest == 0) return {};
  static constexpr std::array<std::string_view, 8> kEighths{"▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
  const double length = static_cast<double>(count) / static_cast<double>(largest) * static_cast<double>(columns);
  if (ascii) return std::string(std::max<std::size_t>(1, static_cast<std::size_t>(length + 0.5)), '#');
  const auto eighths = std::max<std::size_t>(1, static_cast<std::size_t>(length * 8 + 0.5));
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += kEighths[7];
  if (eighths % 8 != 0) text += kEighths[eighths % 8 - 1];
  return text;
}

std::string bin_label(int bin) {
  const std::uint64_t bytes = SignedLog2Histogram::lower_edge(bin) * kSectorBytes;
  static constexpr std::array<std::string_view, 7> kUnits{"", "K", "M", "G", "T", "P", "E"};
  if (bin == 0) return "0";
  if (bin > 55) return fmt::format("2^{}", bin + 8);
  std::size_t unit = 0;
  std::uint64_t value = bytes;
  while (value >= 1024 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  return fmt::format("{}{}", value, unit == 0 ? "B" : kUnits[unit]);
}

// The profile's name heads the table, so that no figure of it is quoted without.
std::string estimate_table(const DeviceSeeks& device, const DiskProfile& profile, int width) {
  const bool flash = profile.kind == DiskKind::kFlash;
  const auto time = [](std::uint64_t nanoseconds) {
    return format_duration(Nanoseconds(static_cast<std::int64_t>(std::min(nanoseconds, kLongestShown))));
  };
  TextTable table;
  table.add_row(
      {fmt::format("on {}", printable(profile.name)), "seek", "rotation", "transfer", "overhead", "total", "each"});
  const auto add = [&](std::string name, const DiskTime& t) {
    if (t.requests > 0)
      table.add_row({std::move(name), flash ? "-" : time(t.seek), flash ? "-" : time(t.rotation), time(t.transfer),
                     time(t.overhead), time(t.total()), time(t.mean())});
  };
  add("all", device.estimate->all());
  add("read", device.estimate->of(AccessClass::kRead));
  add("write", device.estimate->of(AccessClass::kWrite));
  return table.render(width);
}

std::string device_text(DeviceSeeks& device, const Terminal& terminal) {
  auto rows = rows_of(device);
  const std::string held = device.holds.empty() ? "" : fmt::format(" (holds the image of {})", printable(device.holds));
  return paint(terminal, "1", fmt::format("device {}{}\n", printable(device.name), held)) +
         count_table(rows, "operation", terminal.width) + distance_table(rows, terminal.width);
}

std::string groups_text(SeekReport& report, const Terminal& terminal) {
  std::vector<NamedStatistics> rows;
  for (SeekGroup& group : report.groups)
    if (rows.size() < kGroupsShown) rows.push_back({printable(group.label), &group.statistics});
  std::string text =
      "\n" + count_table(rows, std::string("by ") + std::string(group_by_name(report.options.by)), terminal.width);
  text += distance_table(rows, terminal.width);
  if (report.groups.size() > kGroupsShown)
    text += fmt::format("and {} more; --json lists them all\n", format_count(report.groups.size() - kGroupsShown));
  return text;
}

}  // namespace

std::string sectors_text(std::uint64_t sectors) {
  return fmt::format("{} sectors ({})", format_count(sectors), format_size(sectors * kSectorBytes));
}

std::string histogram_text(const SignedLog2Histogram& histogram, std::uint64_t threshold_sectors,
                           const Terminal& terminal) {
  const auto used = histogram.used();
  const int farthest = std::max(-used.lowest, used.highest);
  const std::uint64_t largest = histogram.largest_count();
  constexpr std::size_t kFixedColumns = 34;  // the label and a count on either side
  const auto columns = static_cast<std::size_t>(std::max(terminal.width - static_cast<int>(kFixedColumns), 8)) / 2;
  const auto side = [&](int bin) { return bar(histogram.count(bin), largest, columns, terminal.ascii); };
  const auto number = [&](int bin) { return histogram.count(bin) == 0 ? "" : format_count(histogram.count(bin)); };
  std::string text = fmt::format("{:>{}}   |distance|   {}\n", "backward", columns + 9, "forward");
  for (int bin = 0; bin <= farthest; ++bin) {
    std::string left = bin == 0 ? "" : side(-bin);
    left.insert(0, columns - std::min(columns, display_columns(left)), ' ');
    if (terminal.color) left = fmt::format("\033[34m{}\033[0m", left);
    std::string right = side(bin);
    if (terminal.color) right = fmt::format("\033[34m{}\033[0m", right);
    const std::string label = bin == 0 ? "0" : (terminal.ascii ? ">=" : "≥") + bin_label(bin);
    const std::string line =
        fmt::format("{:>10} {} {:^9} {} {}", bin == 0 ? "" : number(-bin), left, label, right, number(bin));
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    if (std::uint64_t{1} << static_cast<unsigned>(std::min(bin, 62)) == threshold_sectors && bin < farthest)
      text += fmt::format("{:>{}}\n", "- - - longer ones are seeks - - -", columns + 33);
  }
  return text;
}

std::string seek_text(SeekReport& report, const Terminal& terminal) {
  std::string text = wrapped(printable(report.trace) + ": " + report.condition.sentence(), terminal.width);
  text += wrapped(fmt::format("{} order; a seek is a distance of more than {}; distances in sectors of 512 bytes",
                              stream_order_name(report.options.order), sectors_text(report.options.threshold)),
                  terminal.width);
  if (report.options.disk)
    text += wrapped(fmt::format("times on {} are estimates of disk model {}: what a disk of that kind would have been "
                                "busy with, not what was measured",
                                printable(report.options.disk->profile().name), kDiskModelVersion),
                    terminal.width);
  if (report.total.requests == 0 && report.devices.empty()) text += "no block requests that touch sectors\n";
  for (std::size_t i = 0; i < std::min(report.devices.size(), kDevicesShown); ++i) {
    DeviceSeeks& device = report.devices[i];
    text += "\n" + device_text(device, terminal);
    if (device.estimate) text += estimate_table(device, report.options.disk->profile(), terminal.width);
    if (device.all.distances > 0)
      text += "\n" + histogram_text(device.all.histogram, report.options.threshold, terminal);
  }
  if (report.devices.size() > kDevicesShown)
    text += fmt::format("and {} more devices; --json lists them all\n", report.devices.size() - kDevicesShown);
  if (!report.groups.empty()) text += groups_text(report, terminal);
  for (const std::string& remark : report.remarks()) text += wrapped("note: " + remark, terminal.width);
  return text;
}

}  // namespace iotape
