// What an experiment found: every figure of every run, and from them medians, spreads, ratios and what became of the
// published claims.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/trace_header.h"
#include "replayer/experiment/experiment_plan.h"
#include "replayer/experiment/step_figures.h"

namespace iotape {

// By step, then by phase of the step.
struct RunResult {
  std::vector<std::vector<PhaseFigures>> steps;
};

struct TargetResult {
  std::string description;  // fully resolved
  std::string filesystem;
  ClockKind clock = ClockKind::kUnknown;
  std::vector<std::string> notes;  // what the target says a reader must know
  std::vector<RunResult> runs;
  // On a virtual clock, with two runs: whether their result traces were the same, byte for byte.
  std::optional<bool> identical;
};

struct Spread {
  double median = 0;
  double least = 0;
  double most = 0;
  std::size_t runs = 0;

  // Half the range as a share of the median; 0 for a single run.
  [[nodiscard]] double half_range() const;
};

enum class Verdict : std::uint8_t { kInside, kOutside, kNoBand, kNotMeasured };
[[nodiscard]] std::string_view verdict_word(Verdict verdict);

struct ClaimResult {
  const ExperimentClaim* claim = nullptr;
  std::optional<double> ours;  // seconds for a time
  Verdict verdict = Verdict::kNotMeasured;
};

struct ExperimentResult {
  ExperimentPlan plan;
  std::vector<TargetResult> targets;  // as in the plan

  [[nodiscard]] const PhaseFigures& figures(std::size_t target, std::size_t row, std::size_t run) const;
  // A metric of a claim ("time" in seconds), over the runs; absent when it was not measured.
  [[nodiscard]] std::optional<Spread> spread(std::size_t target, std::size_t row, std::string_view metric) const;
  [[nodiscard]] std::vector<ClaimResult> claims() const;
  // Under what conditions the figures were taken; one sentence each.
  [[nodiscard]] std::vector<std::string> conditions() const;
  // What puts figures in doubt: calls that ended otherwise, runs that should be equal and are not, phases never met.
  [[nodiscard]] std::vector<std::string> warnings() const;
};

}  // namespace iotape
