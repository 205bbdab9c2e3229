// RequestFeed: the block requests of one target over several result traces. A target tells only once what its device
// is; every step's trace needs to know.
#pragma once

#include <memory>
#include <vector>

#include "replayer/engine/self_recorder.h"
#include "replayer/target/target.h"

namespace iotape {

class RequestFeed {
 public:
  // REQUIRES: target outlives this, and this outlives the recorders it gives.
  explicit RequestFeed(Target& target) : target_(target) {}
  RequestFeed(const RequestFeed&) = delete;
  RequestFeed& operator=(const RequestFeed&) = delete;

  // Begins keeping requests, and forgets those that came since the last step.
  Result<void> skip();
  // For one result trace: what it drains begins with what the target said of its device.
  std::unique_ptr<SelfRecorder> recorder();

 private:
  class Step;
  Result<std::uint64_t> take(EventSink* sink);

  Target& target_;
  bool watching_ = false;
  std::vector<EventBody> description_;  // what the target said of itself: devices, the mount, threads of its own
};

}  // namespace iotape
