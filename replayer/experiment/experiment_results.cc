#include "replayer/experiment/experiment_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/significance.h"
#include "format/base/units.h"

namespace iotape {
namespace {

constexpr double kSecond = 1e9;

std::optional<double> metric_of(const PhaseFigures& figures, std::string_view metric) {
  if (metric == "time") return static_cast<double>(figures.time.value) / kSecond;
  if (metric == "settled") return static_cast<double>(figures.settled.value) / kSecond;
  if (metric == "failed") return static_cast<double>(figures.mismatches);
  if (!figures.has_requests) return std::nullopt;
  if (metric == "requests") return static_cast<double>(figures.reads + figures.writes);
  if (metric == "reads") return static_cast<double>(figures.reads);
  if (metric == "writes") return static_cast<double>(figures.writes);
  if (metric == "bytes") return static_cast<double>(figures.read_bytes + figures.written_bytes);
  if (metric == "jumps") return static_cast<double>(figures.jumps);
  if (metric == "seeks") return static_cast<double>(figures.seeks);
  if (metric == "distance") return static_cast<double>(figures.distance);
  return std::nullopt;
}

Verdict judge(const ExperimentClaim& claim, double ours) {
  if (!claim.low && !claim.high) return Verdict::kNoBand;
  const bool inside = (!claim.low || ours >= *claim.low) && (!claim.high || ours <= *claim.high);
  return inside ? Verdict::kInside : Verdict::kOutside;
}

}  // namespace

double Spread::half_range() const { return runs < 2 || median == 0 ? 0 : (most - least) / 2 / std::abs(median); }

std::string_view verdict_word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kInside:
      return "in";
    case Verdict::kOutside:
      return "OUT";
    case Verdict::kNoBand:
      return "-";
    case Verdict::kNotMeasured:
      return "not measured";
  }
  return {};
}

const PhaseFigures& ExperimentResult::figures(std::size_t target, std::size_t row, std::size_t run) const {
  const ExperimentRow& place = plan.rows[row];
  return targets[target].runs[run].steps[place.step][place.phase];
}

std::optional<Spread> ExperimentResult::spread(std::size_t target, std::size_t row, std::string_view metric) const {
  std::vector<double> values;
  for (std::size_t run = 0; run < targets[target].runs.size(); ++run)
    if (const auto value = metric_of(figures(target, row, run), metric)) values.push_back(*value);
  if (values.empty()) return std::nullopt;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return Spread{median_of(values), *least, *most, values.size()};
}

std::vector<ClaimResult> ExperimentResult::claims() const {
  std::vector<ClaimResult> all;
  for (const ExperimentClaim& claim : plan.spec.claims) {
    ClaimResult result;
    result.claim = &claim;
    const std::string& over_step = claim.over_step.empty() ? claim.step : claim.over_step;
    const std::string& over_target = claim.over_target.empty() ? claim.target : claim.over_target;
    const auto ours = spread(plan.target_of(claim.target), plan.row_of(claim.step), claim.metric);
    const auto over = spread(plan.target_of(over_target), plan.row_of(over_step), claim.metric);
    if (ours && !claim.is_ratio()) result.ours = ours->median;
    if (ours && over && claim.is_ratio() && over->median != 0) result.ours = ours->median / over->median;
    if (result.ours) result.verdict = judge(claim, *result.ours);
    all.push_back(result);
  }
  return all;
}

std::vector<std::string> ExperimentResult::conditions() const {
  std::vector<std::string> all;
  std::string cache;
  for (const PlannedStep& step : plan.steps)
    cache += fmt::format("{}{} {}{}", cache.empty() ? "" : ", ", step.label, step.cold ? "cold" : "hot",
                         step.fresh && !cache.empty() ? " on a new filesystem" : "");
  all.push_back(fmt::format("every run on a filesystem made for it, at the same place; caches: {}", cache));
  if (plan.spec.age)
    all.push_back(
        fmt::format("aged before the first step: files made and removed until {} % were in use (seed {}, {} % "
                    "replaced)",
                    plan.spec.age->fill_percent, plan.spec.age->seed, plan.spec.age->churn));
  std::size_t most = 0;
  bool real = false;
  bool simulated = false;
  for (const TargetResult& target : targets) {
    most = std::max(most, target.runs.size());
    (target.clock == ClockKind::kVirtual ? simulated : real) = true;
  }
  if (plan.targets.size() > 1 && most > 1)
    all.push_back(fmt::format("up to {} runs of each target, taken in turn", most));
  if (simulated) all.emplace_back("simulated time: it depends on nothing but the trace, the target and the seed");
  if (real) all.emplace_back("real time, of this machine and this moment");
  return all;
}

std::vector<std::string> ExperimentResult::warnings() const {
  std::vector<std::string> all;
  for (std::size_t target = 0; target < targets.size(); ++target) {
    const std::string& label = plan.targets[target].label;
    const TargetResult& result = targets[target];
    if (result.identical && !*result.identical)
      all.push_back(fmt::format("{}: two runs on a virtual clock differ; this is a bug of iotape", label));
    if (result.runs.empty()) continue;
    for (std::size_t step = 0; step < plan.steps.size(); ++step) {
      std::uint64_t calls = 0;
      std::uint64_t mismatches = 0;
      for (const PhaseFigures& phase : result.runs.front().steps[step])
        calls += phase.calls, mismatches += phase.mismatches;
      if (mismatches > 0)
        all.push_back(fmt::format("{}, {}: {} of {} calls ended otherwise than recorded", label, plan.steps[step].label,
                                  format_count(mismatches), format_count(calls)));
    }
    for (std::size_t row = 0; row < plan.rows.size(); ++row)
      if (figures(target, row, 0).calls == 0)
        all.push_back(fmt::format("{}: {} made no call", label, plan.rows[row].label));
  }
  return all;
}

}  // namespace iotape
