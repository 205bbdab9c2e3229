// For a target that makes its own block requests (the built-in ext3): they come from the target, not from a recorder.
#pragma once

#include "replayer/engine/self_recorder.h"
#include "replayer/target/target.h"

namespace iotape {

class TargetRequests final : public SelfRecorder {
 public:
  // REQUIRES: target outlives this.
  explicit TargetRequests(Target& target) : target_(target) {}
  Result<void> start(DeviceId /*device*/, ProcessId /*replayer*/) override { return target_.watch_requests(); }
  Result<void> drain(EventSink& sink) override { return take(sink); }
  Result<SelfRecorderTotals> stop(EventSink& sink) override {
    IOTAPE_TRY(take(sink));
    return totals_;
  }

 private:
  Result<void> take(EventSink& sink) {
    IOTAPE_ASSIGN(const std::uint64_t taken, target_.take_requests(sink));
    totals_.seen += taken;
    totals_.requests += taken;
    return {};
  }
  Target& target_;
  SelfRecorderTotals totals_;
};

}  // namespace iotape
