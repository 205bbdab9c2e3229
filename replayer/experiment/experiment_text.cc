#include "replayer/experiment/experiment_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/seek_statistics.h"
#include "analysis/text_table.h"
#include "format/base/units.h"

namespace iotape {
namespace {

constexpr std::size_t kLabelColumns = 20;

std::string seconds_text(double seconds) {
  return format_duration(Nanoseconds(static_cast<std::int64_t>(std::llround(seconds * 1e9))));
}

std::string count_text(const std::optional<Spread>& spread) {
  return spread ? format_count(static_cast<std::uint64_t>(std::llround(spread->median))) : "-";
}

std::string spread_text(const Spread& spread, bool ascii) {
  if (spread.runs < 2 || spread.most == spread.least) return "";
  return fmt::format("{}{:.0f}%", ascii ? "+-" : "±", 100 * spread.half_range());
}

std::string mebibytes(const std::optional<Spread>& bytes) {
  return bytes ? fmt::format("{:.1f}", bytes->median / 1048576.0) : "-";
}

std::string row_table(const ExperimentResult& result, std::size_t row, const Terminal& terminal) {
  TextTable table;
  table.add_row({result.plan.rows[row].label, "time", "", "reads", "writes", "MiB", "seeks", "distance"});
  for (std::size_t target = 0; target < result.targets.size(); ++target) {
    const auto of = [&](std::string_view metric) { return result.spread(target, row, metric); };
    const auto time = of("time");
    const auto distance = of("distance");
    table.add_row({"  " + shortened(printable(result.plan.targets[target].label), kLabelColumns),
                   time ? seconds_text(time->median) : "-", time ? spread_text(*time, terminal.ascii) : "",
                   count_text(of("reads")), count_text(of("writes")), mebibytes(of("bytes")), count_text(of("seeks")),
                   distance ? distance_text(static_cast<std::uint64_t>(distance->median)) : "-"});
  }
  return table.render(terminal.width);
}

std::string claims_table(const ExperimentResult& result, const Terminal& terminal) {
  const auto claims = result.claims();
  if (claims.empty()) return {};
  TextTable table;
  table.add_row({"against what was published", "published", "ours", "band", ""});
  for (const ClaimResult& each : claims)
    table.add_row({claim_name(*each.claim),
                   each.claim->published ? claim_number(*each.claim, *each.claim->published) : "-",
                   each.ours ? claim_number(*each.claim, *each.ours) : "-", claim_band(*each.claim),
                   std::string(verdict_word(each.verdict))});
  std::string text = "\n" + table.render(terminal.width);
  for (const ClaimResult& each : claims) {
    if (!each.claim->says.empty())
      text += wrapped(fmt::format("- {}: {}", claim_name(*each.claim), each.claim->says), terminal.width);
    if (each.verdict == Verdict::kOutside)
      text += wrapped(fmt::format("- {}: outside. {}", claim_name(*each.claim),
                                  each.claim->outside.empty() ? "Not explained." : each.claim->outside),
                      terminal.width);
  }
  return text;
}

std::string bar(std::uint64_t count, std::uint64_t largest, std::size_t columns, bool ascii) {
  if (count == 0 || largest == 0) return {};
  // By the logarithm: most bins would be empty beside the largest otherwise.
  const double share = std::log2(static_cast<double>(count) + 1) / std::log2(static_cast<double>(largest) + 1);
  const auto length =
      std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(share * static_cast<double>(columns))));
  std::string text;
  for (std::size_t i = 0; i < length; ++i) text += ascii ? "#" : "█";
  return text;
}

std::string cell_of(std::uint64_t count, std::uint64_t largest, std::size_t columns, bool ascii) {
  constexpr std::size_t kNumber = 9;
  const std::string number = count == 0 ? "" : format_count(count);
  std::string cell = std::string(kNumber - std::min(kNumber, number.size()), ' ') + number;
  if (columns > kNumber + 2) cell += " " + bar(count, largest, columns - kNumber - 2, ascii);
  const std::size_t have = display_columns(cell);
  return cell + std::string(columns > have ? columns - have : 1, ' ');
}

// The seek histograms of the first runs, one column per target, backwards above and forwards below zero.
std::string histogram_table(const ExperimentResult& result, std::size_t row, const Terminal& terminal) {
  constexpr std::size_t kLeft = 8;
  constexpr std::size_t kNarrowest = 11;
  const std::size_t shown =
      std::min(result.targets.size(), (static_cast<std::size_t>(terminal.width) - kLeft) / kNarrowest);
  const std::size_t columns = (static_cast<std::size_t>(terminal.width) - kLeft) / std::max<std::size_t>(shown, 1);
  int lowest = 0;
  int highest = 0;
  std::uint64_t largest = 0;
  for (std::size_t target = 0; target < shown; ++target) {
    const SignedLog2Histogram& histogram = result.figures(target, row, 0).histogram;
    lowest = std::min(lowest, histogram.used().lowest), highest = std::max(highest, histogram.used().highest);
    largest = std::max(largest, histogram.largest_count());
  }
  if (largest == 0) return {};
  std::string text = fmt::format("{:<{}}", "", kLeft);
  for (std::size_t target = 0; target < shown; ++target)
    text += fmt::format(" {:<{}}", shortened(printable(result.plan.targets[target].label), columns - 2), columns - 1);
  text += "\n";
  bool gap = false;  // bins nobody has a request in are left out, a colon in their place
  for (int bin = lowest; bin <= highest; ++bin) {
    bool any = false;
    for (std::size_t target = 0; target < shown; ++target)
      any = any || result.figures(target, row, 0).histogram.count(bin) > 0;
    if (!any && !gap) text += fmt::format("{:>{}}\n", ":", kLeft - 1);
    gap = !any;
    if (!any) continue;
    std::string line = fmt::format("{:>{}} ",
                                   (bin < 0   ? "-"
                                    : bin > 0 ? "+"
                                              : "") +
                                       distance_bin_label(bin),
                                   kLeft - 1);
    for (std::size_t target = 0; target < shown; ++target)
      line += cell_of(result.figures(target, row, 0).histogram.count(bin), largest, columns, terminal.ascii);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string histograms(const ExperimentResult& result, const Terminal& terminal) {
  std::string text;
  for (std::size_t row = 0; row < result.plan.rows.size(); ++row) {
    const std::string table = histogram_table(result, row, terminal);
    if (table.empty()) continue;
    text += fmt::format("\n{}: requests by seek distance, first run (bars logarithmic)\n{}",
                        result.plan.rows[row].label, table);
    for (std::size_t target = 0; target < result.targets.size(); ++target)
      if (const std::string causes = causes_text(result.figures(target, row, 0), 3); !causes.empty())
        text += wrapped(fmt::format("{} travelled for {}", printable(result.plan.targets[target].label), causes),
                        terminal.width);
  }
  return text;
}

std::string equal_runs(const ExperimentResult& result) {
  std::string text;
  for (std::size_t target = 0; target < result.targets.size(); ++target)
    if (result.targets[target].identical.value_or(false))
      text += (text.empty() ? "" : ", ") + result.plan.targets[target].label;
  return text.empty() ? text : text + ": two runs, the same byte for byte, so there is no spread";
}

}  // namespace

std::string distance_text(std::uint64_t sectors) {
  constexpr std::uint64_t kMostSectors = std::uint64_t{1} << 54U;
  return format_size(std::min(sectors, kMostSectors) * static_cast<std::uint64_t>(kSectorBytes));
}

std::string causes_text(const PhaseFigures& figures, std::size_t most) {
  if (figures.distance == 0) return {};
  std::string text;
  for (const CauseFigures& cause : figures.causes) {
    const double share = static_cast<double>(cause.distance) / static_cast<double>(figures.distance);
    if (most == 0 || share < 0.01) break;
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", cause.cause, 100 * share);
    --most;
  }
  return text;
}

std::string distance_bin_label(int bin) {
  static constexpr std::array<std::string_view, 7> kUnits{"B", "K", "M", "G", "T", "P", "E"};
  if (bin == 0) return "0";
  const int width = std::abs(bin);
  if (width > 55) return fmt::format("2^{}", width + 8);
  std::uint64_t value = SignedLog2Histogram::lower_edge(bin) * static_cast<std::uint64_t>(kSectorBytes);
  std::size_t unit = 0;
  while (value >= 1024) value /= 1024, ++unit;
  return fmt::format("{}{}", value, kUnits[unit]);
}

std::string claim_name(const ExperimentClaim& claim) {
  const std::string metric = claim.metric == "time" ? "" : " " + claim.metric;
  std::string step = claim.step;
  std::string target = claim.target;
  if (!claim.over_step.empty() && claim.over_step != claim.step) step += " over " + claim.over_step;
  if (!claim.over_target.empty() && claim.over_target != claim.target) target += " over " + claim.over_target;
  return fmt::format("{}{}, {}", step, metric, target);
}

std::string claim_number(const ExperimentClaim& claim, double value) {
  if (claim.is_ratio()) return fmt::format("{:.2f}", value);
  if (claim.metric == "time") return seconds_text(value);
  if (claim.metric == "distance") return distance_text(static_cast<std::uint64_t>(std::max(value, 0.0)));
  if (claim.metric == "bytes") return format_size(static_cast<std::uint64_t>(std::max(value, 0.0)));
  return format_count(static_cast<std::uint64_t>(std::llround(std::max(value, 0.0))));
}

std::string claim_band(const ExperimentClaim& claim) {
  if (claim.low && claim.high)
    return fmt::format("{} to {}", claim_number(claim, *claim.low), claim_number(claim, *claim.high));
  if (claim.low) return "at least " + claim_number(claim, *claim.low);
  if (claim.high) return "at most " + claim_number(claim, *claim.high);
  return {};
}

std::string experiment_report_text(const ExperimentResult& result, const Terminal& terminal) {
  const ExperimentSpec& spec = result.plan.spec;
  std::string text;
  if (!spec.title.empty()) text += wrapped(spec.title, terminal.width);
  if (!spec.source.empty()) text += wrapped("published: " + spec.source, terminal.width);
  for (std::size_t target = 0; target < result.targets.size(); ++target)
    text += wrapped(
        fmt::format(
            "  {}: {}{}", printable(result.plan.targets[target].label), printable(result.targets[target].description),
            result.targets[target].filesystem.empty() ? "" : fmt::format(" ({})", result.targets[target].filesystem)),
        terminal.width, "    ");
  for (std::size_t row = 0; row < result.plan.rows.size(); ++row) text += "\n" + row_table(result, row, terminal);
  text += claims_table(result, terminal);
  text += histograms(result, terminal);
  text += "\n";
  if (const std::string equal = equal_runs(result); !equal.empty()) text += wrapped(equal, terminal.width);
  for (const std::string& condition : result.conditions()) text += wrapped(condition, terminal.width);
  text += wrapped(
      "time: from the first call to the end of the last; requests also of the write-back after it, where the next step "
      "does not find the caches as they are. MiB: read and written. Medians; half the range beside the time",
      terminal.width);
  for (const std::string& note : spec.notes) text += wrapped(note, terminal.width);
  for (const std::string& warning : result.warnings())
    text += wrapped("warning: " + printable(warning), terminal.width);
  return text;
}

}  // namespace iotape
