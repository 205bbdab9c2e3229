// Comparison: groups of runs side by side, and what can be concluded from them. The first group is what the others are
// held against.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/run_figures.h"
#include "format/base/command.h"

namespace iotape {

struct RunGroup {
  std::string label;
  std::vector<RunFigures> runs;

  [[nodiscard]] std::vector<double> values(std::string_view metric) const;
  // All in virtual time: each repeats exactly, and one says as much as many.
  [[nodiscard]] bool simulated() const;
};

struct Cell {
  double median = 0;
  double least = 0;
  double most = 0;
  std::size_t n = 0;
};

struct Difference {
  std::string_view metric;
  std::size_t group = 0;         // held against group 0
  std::optional<double> change;  // (median - first median) / first median; absent when the first is 0
  std::optional<double> p;       // absent with one run on either side
  std::size_t n = 0;             // runs of this group, and ...
  std::size_t m = 0;             // ... of the first
  bool shown = false;            // p < 0.05, or both sides are simulated and differ
  bool exact = false;            // both sides are simulated: there is no chance in it
};

// "seeks>+2%" (the median against the first group's) or "errors>0" (every group's median).
struct FailLimit {
  std::string text;
  std::string_view metric;
  bool above = true;
  bool relative = false;
  double bound = 0;  // a share when relative
};
Result<FailLimit> parse_fail_limit(const std::string& text);

struct Comparison {
  std::vector<RunGroup> groups;
  std::vector<std::string> broken_limits;  // one sentence each

  // Some runs are simulated and some are not.
  [[nodiscard]] bool mixes_clocks() const;
  [[nodiscard]] std::optional<Cell> cell(std::size_t group, std::string_view metric) const;
  [[nodiscard]] std::optional<Difference> difference(std::size_t group, std::string_view metric) const;
  // Who won and what cannot be concluded, in one sentence.
  [[nodiscard]] std::string conclusion() const;
  // What was left out of the figures on purpose, and what their names mean.
  [[nodiscard]] std::vector<std::string> notes() const;
  // Losses, damage and serialised latencies of the inputs, one sentence each.
  [[nodiscard]] std::vector<std::string> warnings() const;
};

// Fails with kUsage when a relative limit has nothing to be held against.
Result<void> check_limits(Comparison& comparison, const std::vector<FailLimit>& limits);

[[nodiscard]] std::string comparison_text(const Comparison& comparison, const Terminal& terminal);
// "schema": "iotape.compare/1".
[[nodiscard]] std::string comparison_json(const Comparison& comparison);

}  // namespace iotape
