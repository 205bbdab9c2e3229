// ExperimentPlan: a specification made ready to run: its targets understood, its traces found, its phases named by
// system call number, its rows in order. Everything that can be wrong with a specification is found here, before
// anything runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/experiment_spec.h"
#include "replayer/engine/pace.h"
#include "replayer/engine/replay_roots.h"
#include "replayer/experiment/synthetic_workload.h"
#include "replayer/target/target_spec.h"

namespace iotape {

struct PlannedTarget {
  std::string label;
  TargetSpec spec;
};

struct PlannedPhase {
  std::string label;
  std::vector<std::uint32_t> until;  // system call numbers; empty for the last
  bool shown = true;
};

struct PlannedStep {
  std::string label;
  std::string trace;  // the file; empty for a workload
  std::optional<SyntheticWorkload> workload;
  bool cold = false;
  bool fresh = false;  // begins on a new filesystem; the first step always does
  PaceOptions pace;
  Nanoseconds thinking;
  std::vector<PlannedPhase> phases;  // at least one
};

// A line of the tables: a shown phase of a step.
struct ExperimentRow {
  std::size_t step = 0;
  std::size_t phase = 0;
  std::string label;
};

struct ExperimentPlan {
  ExperimentSpec spec;
  std::vector<PlannedTarget> targets;
  std::vector<PlannedStep> steps;
  std::vector<ExperimentRow> rows;
  std::vector<PathMapping> mappings;

  [[nodiscard]] std::size_t row_of(const std::string& label) const;
  [[nodiscard]] std::size_t target_of(const std::string& label) const;
};

// directories: where relative traces are looked for, the first that has it. kUsage naming file, line and key.
Result<ExperimentPlan> plan_experiment(ExperimentSpec spec, const std::vector<std::string>& directories);

}  // namespace iotape
