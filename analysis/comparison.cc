#include "analysis/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "analysis/significance.h"
#include "analysis/text_table.h"

namespace iotape {
namespace {

std::string known_metrics() {
  std::vector<std::string_view> names;
  for (const Metric& metric : all_metrics()) names.push_back(metric.name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string percent_change(double change) { return fmt::format("{:+.1f} %", 100 * change); }

double change_against(double value, double reference) { return (value - reference) / std::abs(reference); }

// A trace that ends before its run does, or has a hole: least of everything, and best at nothing. Lost events are fewer
// calls counted, but the run's own time.
std::string partial_run(const std::vector<RunGroup>& groups) {
  for (const RunGroup& group : groups)
    for (const RunFigures& run : group.runs)
      if (run.condition.interrupted || run.condition.damaged > 0) return run.trace;
  return {};
}

// What decides: time where calls were made, else the head's movement.
std::string_view deciding_metric(const std::vector<RunGroup>& groups) {
  for (const std::string_view metric : {"wall_time", "seeks"})
    if (std::all_of(groups.begin(), groups.end(), [&](const RunGroup& g) { return !g.values(metric).empty(); }))
      return metric;
  return {};
}

}  // namespace

std::vector<double> RunGroup::values(std::string_view metric) const {
  std::vector<double> all;
  for (const RunFigures& run : runs)
    if (const auto value = run.value(metric)) all.push_back(*value);
  return all;
}

bool RunGroup::simulated() const {
  return !runs.empty() && std::ranges::all_of(runs, [](const RunFigures& run) { return run.condition.simulated; });
}

bool Comparison::mixes_clocks() const {
  const auto simulated = [](const RunFigures& run) { return run.condition.simulated; };
  bool any = false;
  bool all = true;
  for (const RunGroup& group : groups) {
    any = any || std::ranges::any_of(group.runs, simulated);
    all = all && std::ranges::all_of(group.runs, simulated);
  }
  return any && !all;
}

std::optional<Cell> Comparison::cell(std::size_t group, std::string_view metric) const {
  const auto values = groups[group].values(metric);
  if (values.empty()) return std::nullopt;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return Cell{median_of(values), *least, *most, values.size()};
}

std::optional<Difference> Comparison::difference(std::size_t group, std::string_view metric) const {
  const auto first = groups.front().values(metric);
  const auto other = groups[group].values(metric);
  if (first.empty() || other.empty()) return std::nullopt;
  Difference difference;
  difference.metric = metric;
  difference.group = group;
  difference.n = other.size();
  difference.m = first.size();
  const double reference = median_of(first);
  if (reference != 0) difference.change = change_against(median_of(other), reference);
  if (reference == 0 && median_of(other) == 0) difference.change = 0;
  difference.exact = groups.front().simulated() && groups[group].simulated();
  difference.p = difference_probability(other, first);
  difference.shown = difference.exact ? difference.change != 0.0 : difference.p && *difference.p < kSignificance;
  return difference;
}

std::string Comparison::conclusion() const {
  if (groups.size() < 2) return "one group only: nothing to compare it with";
  if (mixes_clocks())
    return "some runs are in virtual time and some in real time, so their times say nothing about each other";
  if (const std::string part = partial_run(groups); !part.empty())
    return part + " holds only a part of its run, so nothing can be concluded";
  const std::string_view metric = deciding_metric(groups);
  if (metric.empty()) return "the inputs share neither wall time nor seeks, so nothing can be concluded";
  std::size_t best = 0;
  for (std::size_t i = 1; i < groups.size(); ++i)
    if (cell(i, metric)->median < cell(best, metric)->median) best = i;
  const std::string what = metric == "seeks" ? "fewest seeks" : "least wall time";
  std::vector<std::string> shown;
  std::vector<std::string> open;
  std::vector<std::string> single;
  std::vector<std::string> exact;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i == best) continue;
    const auto ours = groups[best].values(metric);
    const auto theirs = groups[i].values(metric);
    const auto p = difference_probability(ours, theirs);
    const std::string& label = groups[i].label;
    if (groups[best].simulated() && groups[i].simulated())
      exact.push_back(
          fmt::format("{} ({})", label, percent_change(change_against(median_of(theirs), median_of(ours)))));
    else if (!p)
      single.push_back(label);
    else if (*p < kSignificance)
      shown.push_back(fmt::format("{} (p={:.3f})", label, *p));
    else if (least_probability(ours.size(), theirs.size()) >= kSignificance)
      open.push_back(fmt::format("{} (p={:.2f}; so few runs cannot show one)", label, *p));
    else
      open.push_back(fmt::format("{} (p={:.2f})", label, *p));
  }
  std::string text = fmt::format("{} has the {} by median", groups[best].label, what);
  if (!exact.empty()) text += fmt::format(", against {}, simulated and so the same every time", fmt::join(exact, ", "));
  if (!shown.empty()) text += fmt::format(", a difference shown against {}", fmt::join(shown, ", "));
  if (!open.empty()) text += fmt::format("; no difference shown against {}", fmt::join(open, ", "));
  if (!single.empty())
    text += fmt::format("; against {} nothing can be concluded from one run (n=1)", fmt::join(single, ", "));
  return text;
}

std::vector<std::string> Comparison::notes() const {
  std::vector<std::string> all;
  for (const RunGroup& group : groups)
    for (const RunFigures& run : group.runs) {
      if (!run.calls.empty()) all.push_back(fmt::format("{}: {}", run.trace, run.calls));
      if (run.condition.order == "thread")
        all.push_back(fmt::format("{}: order thread: calls kept their order within a thread only, threads ran at once",
                                  run.trace));
      if (!run.disks.empty())
        all.push_back(fmt::format("{}: requests of {} only, the disk under what was changed; --device names others",
                                  run.trace, run.disks));
    }
  const bool synced = std::any_of(groups.begin(), groups.end(),
                                  [](const RunGroup& group) { return !group.values("synced_time").empty(); });
  if (synced)
    all.emplace_back(
        "wall_time is from the first call's beginning to the last one's end; synced_time goes on until the target was "
        "synced and let go, which only a replay tells");
  return all;
}

std::vector<std::string> Comparison::warnings() const {
  std::vector<std::string> all;
  for (const RunGroup& group : groups)
    for (const RunFigures& run : group.runs) {
      for (const std::string& word : run.condition.unmatched)
        all.push_back(fmt::format("{}: nothing matches {}", run.trace, word));
      if (!run.condition.complete()) all.push_back(fmt::format("{}: {}", run.trace, run.condition.sentence()));
      if (run.condition.serialised)
        all.push_back(fmt::format("{}: latencies are serialised: one call of several processes at a time", run.trace));
    }
  return all;
}

Result<FailLimit> parse_fail_limit(const std::string& text) {
  FailLimit limit;
  limit.text = text;
  const std::size_t sign = text.find_first_of("<>");
  const auto bad = [&](const std::string& why) {
    return failure(ErrorCode::kUsage, fmt::format("--fail-if '{}': {}", text, why));
  };
  if (sign == std::string::npos) return bad("write METRIC>+2% or METRIC>NUMBER, also with <");
  const Metric* metric = find_metric(text.substr(0, sign));
  if (metric == nullptr)
    return bad(fmt::format("unknown metric '{}'; the metrics are {}", text.substr(0, sign), known_metrics()));
  limit.metric = metric->name;
  limit.above = text[sign] == '>';
  std::string number = text.substr(sign + 1);
  if (number.ends_with('%')) {
    limit.relative = true;
    number.pop_back();
  }
  if (number.starts_with('+')) number.erase(0, 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), limit.bound);
  if (error != std::errc{} || end != number.data() + number.size() || !std::isfinite(limit.bound))
    return bad("no number after the sign");
  if (limit.relative) limit.bound /= 100;
  return limit;
}

Result<void> check_limits(Comparison& comparison, const std::vector<FailLimit>& limits) {
  for (const FailLimit& limit : limits) {
    if (limit.relative && comparison.groups.size() < 2)
      return failure(ErrorCode::kUsage,
                     fmt::format("--fail-if '{}' needs a second trace to be held against the first", limit.text));
    bool measured = false;
    for (std::size_t i = limit.relative ? 1 : 0; i < comparison.groups.size(); ++i) {
      const auto cell = comparison.cell(i, limit.metric);
      const auto first = comparison.cell(0, limit.metric);
      if (!cell || (limit.relative && !first)) continue;
      measured = true;
      // From nothing to something is more than any share.
      const double value = !limit.relative      ? cell->median
                           : first->median != 0 ? change_against(cell->median, first->median)
                           : cell->median == 0  ? 0
                                                : std::copysign(HUGE_VAL, cell->median);
      if (limit.above ? value <= limit.bound : value >= limit.bound) continue;
      const std::string shown = limit.relative && std::isfinite(value)
                                    ? percent_change(value)
                                    : metric_text(*find_metric(limit.metric), cell->median);
      comparison.broken_limits.push_back(
          fmt::format("limit '{}' broken by {}: {}", limit.text, comparison.groups[i].label, shown));
    }
    if (!measured)
      comparison.broken_limits.push_back(
          fmt::format("limit '{}' cannot be checked: the inputs do not tell {}", limit.text, limit.metric));
  }
  return {};
}

namespace {

std::string cell_text(const Metric& metric, const std::optional<Cell>& cell) {
  if (!cell) return "-";
  std::string median = metric_text(metric, cell->median);
  if (cell->n < 2 || cell->median == 0) return median;
  return fmt::format("{} ±{:.0f}%", median, 50 * (cell->most - cell->least) / std::abs(cell->median));
}

std::string difference_text(const std::optional<Difference>& difference) {
  if (!difference) return "-";
  const std::string change = difference->change ? percent_change(*difference->change) : "new";
  if (difference->exact) return difference->change == 0.0 ? "=" : change;
  if (!difference->p) return difference->change == 0.0 ? "=" : change + " n=1";
  return difference->shown ? fmt::format("{} p={:.3f}", change, *difference->p)
                           : fmt::format("~ p={:.2f}", *difference->p);
}

// With many groups the columns do not fit side by side; then each group gets its own table beside the first.
std::string block_text(const Comparison& comparison, const std::vector<std::size_t>& columns, int width, bool ascii) {
  TextTable table;
  std::vector<std::string> head{"metric"};
  for (const std::size_t i : columns) {
    const RunGroup& group = comparison.groups[i];
    head.push_back(fmt::format("{} (n={})", shortened(printable(group.label), 20), group.runs.size()));
    if (i != 0) head.emplace_back("difference");
  }
  table.add_row(head);
  for (const Metric& metric : all_metrics()) {
    std::vector<std::string> row{std::string(metric.name)};
    bool any = false;
    for (const std::size_t i : columns) {
      const auto cell = comparison.cell(i, metric.name);
      any = any || cell;
      row.push_back(cell_text(metric, cell));
      if (i != 0) row.push_back(difference_text(comparison.difference(i, metric.name)));
    }
    if (any) table.add_row(row);
  }
  std::string text = table.render(width);
  if (ascii)
    for (std::size_t at = 0; (at = text.find("±", at)) != std::string::npos;)
      text.replace(at, std::string("±").size(), "+-");
  return text;
}

}  // namespace

std::string comparison_text(const Comparison& comparison, const Terminal& terminal) {
  std::string text;
  if (comparison.groups.size() == 1) text = block_text(comparison, {0}, terminal.width, terminal.ascii);
  for (std::size_t i = 1; i < comparison.groups.size(); ++i)
    text += (i > 1 ? "\n" : "") + block_text(comparison, {0, i}, terminal.width, terminal.ascii);
  const bool exact = std::ranges::all_of(comparison.groups, &RunGroup::simulated);
  text += wrapped(exact ? "simulated in virtual time: each run repeats exactly, so no difference is chance"
                        : "median and half the range of each group; ~ means no difference shown (p >= 0.05, "
                          "Mann-Whitney); n=1 means one run, which shows nothing about chance",
                  terminal.width);
  text += "\n" + wrapped(printable(comparison.conclusion()) + ".", terminal.width);
  for (const std::string& note : comparison.notes()) text += wrapped(printable(note), terminal.width);
  for (const std::string& warning : comparison.warnings())
    text += wrapped("warning: " + printable(warning), terminal.width);
  for (const std::string& broken : comparison.broken_limits) text += wrapped(printable(broken), terminal.width);
  return text;
}

}  // namespace iotape
