// ReplaySession: one trace made ready to be replayed, as often as wanted and on any targets: surveyed, its roots
// chosen, the tree it expects known. What `iotape replay` does once, an experiment does for every step, target and run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "replayer/engine/initial_tree.h"
#include "replayer/engine/replay_engine.h"
#include "replayer/engine/stop_requests.h"
#include "replayer/engine/trace_survey.h"

namespace iotape {

class ReplaySession {
 public:
  // name is what errors call the trace.
  ReplaySession(EventSourceOpener open, std::string name) : open_(std::move(open)), name_(std::move(name)) {}

  // The first pass. kUsage when the selection leaves nothing, kUnsupported for a trace without calls.
  Result<void> survey(std::optional<Nanoseconds> longest_gap);
  // After survey(): where in the target it is replayed, and what must be there before.
  Result<void> choose(const RootOptions& options);
  // A sandboxed target carries a bounded number of threads; found out before anything is made. kLimit.
  [[nodiscard]] Result<void> check_threads() const;

  // The second pass. `this` must outlive it.
  Result<ReplayReport> replay(Target& target, const EngineOptions& options, ReplayObserver* observer) const;

  [[nodiscard]] const SurveyResult& surveyed() const { return survey_; }
  [[nodiscard]] const ReplayRoots& roots() const { return roots_; }
  [[nodiscard]] const BuiltTree& tree() const { return tree_; }
  // Words of the selection that nothing of the trace agreed with.
  [[nodiscard]] const std::vector<std::string>& unmatched() const { return unmatched_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // What a reader of the result must know: the mapping, serialised latencies or the order, damage of the source.
  [[nodiscard]] std::vector<std::string> notes(ReplayOrder order = ReplayOrder::kStrict) const;

 private:
  EventSourceOpener open_;
  std::string name_;
  SurveyResult survey_;
  ReplayRoots roots_;
  BuiltTree tree_;
  std::vector<std::string> unmatched_;
};

// The same events; kInterrupted instead of the next one once `stop` was seen, which must outlive what is opened. For a
// survey, which looks at nothing else.
[[nodiscard]] EventSourceOpener stoppable(EventSourceOpener from, const StopRequests& stop);

// Stops when `stop` was seen, and lets real time pass where the target's clock is real. stop must outlive its use.
[[nodiscard]] EngineOptions engine_options(const PaceOptions& pace, ClockKind clock, const StopRequests& stop);

}  // namespace iotape
