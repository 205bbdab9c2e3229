// ReplayEngine: the second pass. Takes the events in their order, translates each call, submits it when it is due,
// compares what comes back and tells an observer.
//
// Order strict: one call after the other, in the order in which the recorded ones ended (so two calls that did not
// overlap keep their order, and a call that waited for another comes after it). A lock request that may wait is not
// waited for: later calls of other threads overtake it when it does not complete at once.
// Order thread: every thread at its own pace, see CallQueues. Names are resolved as they stood when the call was
// recorded, whatever the target's threads have done by then; what they meet there may therefore differ.
// The engine never asks the host's clock, only the target's.
#pragma once

#include <functional>
#include <memory>

#include "format/base/result.h"
#include "replayer/engine/event_source.h"
#include "replayer/engine/pace.h"
#include "replayer/engine/replay_report.h"
#include "replayer/engine/replay_roots.h"
#include "replayer/engine/trace_survey.h"
#include "replayer/target/target.h"

namespace iotape {

// Told of everything a replay does, in the order in which it happened.
class ReplayObserver {
 public:
  ReplayObserver() = default;
  ReplayObserver(const ReplayObserver&) = delete;
  ReplayObserver& operator=(const ReplayObserver&) = delete;
  virtual ~ReplayObserver() = default;

  // A call of the trace, issued or skipped: start, duration and outcome are the replay's, `replay` says what was
  // expected. The observer may move from it.
  virtual Result<void> call(Syscall& call) = 0;
  // Any other event of the trace (processes, states, markers, losses), with the replay's time of it.
  virtual Result<void> other(EventBody& event, Nanoseconds now) = 0;
};

enum class ReplayOrder : std::uint8_t { kStrict, kThread };

struct EngineOptions {
  PaceOptions pace;
  ReplayOrder order = ReplayOrder::kStrict;
  // In thread order: how many calls (and starts and ends of threads) may have been read and not be done.
  std::size_t read_ahead = 65'536;
  // Asked between calls; true stops the replay cleanly.
  std::function<bool()> stop_requested;
  // Lets real time pass, in steps of at most this call's argument; only for targets on a real clock. Without it the
  // target alone waits, and a stop request is seen only between calls.
  std::function<void(Nanoseconds)> wait;
};

// names: the namespace as it was before the first call (NameSpace::rewound), roots already chosen.
Result<ReplayReport> run_replay_pass(EventSource& source, NameSpace names, const ReplayRoots& roots, Target& target,
                                     const EngineOptions& options, ReplayObserver* observer);

}  // namespace iotape
