// ExperimentRunner: runs a plan. Each run of each target begins with a target made for it; the steps go one after the
// other on that target; runs of different targets are taken in turn, so that what drifts on the machine meets them all.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "replayer/engine/replay_session.h"
#include "replayer/engine/self_recorder.h"
#include "replayer/experiment/experiment_results.h"
#include "replayer/target/make_target.h"

namespace iotape {

struct ExperimentProgress {
  std::size_t run = 0;  // from 1
  std::size_t runs = 0;
  std::string target;
  std::string step;
  double share = 0;  // of the whole that is done
};

struct RunnerOptions {
  std::vector<std::string> allow_writes;
  std::string keep;  // a directory for the result traces; empty: they are not kept
  bool force = false;
  std::uint64_t threshold = 128;  // sectors
  SelfRecorderFactory make_recorder;
  std::function<Result<std::unique_ptr<Target>>(const TargetSpec&, const TargetOptions&)> make = make_target;
  std::function<void(const ExperimentProgress&)> progress;
  std::function<void(const std::string&)> say;  // what the user should know at once
};

// stop: looked at between and during calls; once seen the answer is kInterrupted and no trace of an unfinished step is
// left.
Result<ExperimentResult> run_experiment(ExperimentPlan plan, const RunnerOptions& options, const StopRequests& stop);

}  // namespace iotape
