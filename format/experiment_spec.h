// ExperimentSpec: what `iotape experiment` runs, read from and written as protobuf text (experiment.proto).
//
// Every entry knows the line it stands on, so that what is found wrong later (an unknown target key, a missing trace)
// is reported with file, line and key like what the parser finds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/base/result.h"

namespace iotape {

// Enough for a difference between two targets to be shown; on a virtual clock every run is the same and two are made.
inline constexpr std::uint32_t kDefaultRuns = 5;

struct ExperimentTarget {
  std::string label;
  std::string spec;
  int line = 0;  // of `spec`; 0: not from a file
};

enum class StepCache : std::uint8_t { kCold, kHot };

struct ExperimentPhase {
  std::string label;
  std::vector<std::string> until;  // names of system calls; empty: to the step's end
  bool shown = true;
  int line = 0;
};

struct ExperimentStep {
  std::string label;
  std::string trace;  // exactly one of these two
  std::string workload;
  StepCache cache = StepCache::kHot;
  bool fresh = false;
  std::string pace = "asap";
  std::string thinking;
  std::vector<ExperimentPhase> phases;
  int line = 0;  // of `trace` or `workload`
  int pace_line = 0;
  int thinking_line = 0;
};

struct ExperimentAge {
  std::uint32_t fill_percent = 0;
  std::uint64_t seed = 1;
  std::uint32_t churn = 100;
  int line = 0;
};

struct ExperimentClaim {
  std::string step;
  std::string target;
  std::string over_step;
  std::string over_target;
  std::string metric = "time";
  std::optional<double> published;
  std::optional<double> low;
  std::optional<double> high;
  std::string says;
  std::string outside;
  int line = 0;

  [[nodiscard]] bool is_ratio() const { return !over_step.empty() || !over_target.empty(); }
};

struct ExperimentSpec {
  std::string file;  // what errors call it
  std::string title;
  std::string summary;
  std::string source;
  std::vector<std::string> notes;
  std::vector<ExperimentTarget> targets;
  std::vector<ExperimentStep> steps;
  std::uint32_t runs = kDefaultRuns;
  std::optional<ExperimentAge> age;
  std::vector<std::string> positions;
  int position_line = 0;
  std::vector<std::string> maps;
  int map_line = 0;
  std::vector<ExperimentClaim> claims;

  // The targets at each of the positions, labelled so when there are several.
  [[nodiscard]] std::vector<ExperimentTarget> placed_targets() const;
  // "p1.experiment:12: step.cache: ..." with kUsage; line 0 leaves the line out.
  [[nodiscard]] tl::unexpected<Error> wrong(int line, std::string_view key, std::string_view what) const;
};

// What the text itself must satisfy: known keys, steps and targets with labels of their own, claims that name them.
// kUsage, naming file, line and key. The meaning of target specs, workloads and calls is judged by who runs it.
Result<ExperimentSpec> parse_experiment(std::string_view text, std::string file);
// Reads the file first. kNotFound, kIo.
Result<ExperimentSpec> read_experiment(const std::string& path);

// The text that parse_experiment reads back as the same.
[[nodiscard]] std::string experiment_text(const ExperimentSpec& spec);

}  // namespace iotape
