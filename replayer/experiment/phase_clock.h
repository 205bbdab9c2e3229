// PhaseClock: finds during a replay where one phase of a step ends and the next begins, and passes everything on.
#pragma once

#include <vector>

#include "replayer/engine/replay_engine.h"
#include "replayer/experiment/experiment_plan.h"

namespace iotape {

class PhaseClock final : public ReplayObserver {
 public:
  // REQUIRES: both outlive this. told, when set, is called with the number of calls now and then.
  PhaseClock(const std::vector<PlannedPhase>& phases, ReplayObserver& onwards,
             std::function<void(std::uint64_t)> told = {})
      : phases_(phases), onwards_(onwards), told_(std::move(told)) {}

  Result<void> call(Syscall& call) override;
  Result<void> other(EventBody& event, Nanoseconds now) override { return onwards_.other(event, now); }

  // When each phase but the first began, on the target's clock: the start of the call that ended the one before. Fewer
  // than there are phases when a call that ends one was never met.
  [[nodiscard]] const std::vector<Nanoseconds>& boundaries() const { return boundaries_; }

 private:
  const std::vector<PlannedPhase>& phases_;
  ReplayObserver& onwards_;
  std::function<void(std::uint64_t)> told_;
  std::vector<Nanoseconds> boundaries_;
  std::uint64_t calls_ = 0;
};

}  // namespace iotape
