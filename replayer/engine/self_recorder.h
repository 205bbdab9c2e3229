// What a replay needs of a recorder that watches the replay's own block requests. The recorder itself is another
// room's; iotape.cc hands one in. A replay without one still writes a result trace, of calls only.
#pragma once

#include <functional>
#include <memory>

#include "format/base/result.h"
#include "format/event_sink.h"
#include "format/trace_header.h"

namespace iotape {

struct SelfRecorderTotals {
  std::uint64_t seen = 0;  // requests the kernel side counted; seen == requests + losses
  std::uint64_t requests = 0;
  LossCounts losses{};
  Nanoseconds recorder_cpu;
  std::vector<MissingHook> missing_hooks;
};

class SelfRecorder {
 public:
  SelfRecorder() = default;
  SelfRecorder(const SelfRecorder&) = delete;
  SelfRecorder& operator=(const SelfRecorder&) = delete;
  virtual ~SelfRecorder() = default;

  // From now on the requests of this device (its whole disk) are kept, whoever makes them. replayer is the process
  // that replays; its own bookkeeping writes (the result trace) go to other devices or are told apart by it.
  virtual Result<void> start(DeviceId device, ProcessId replayer) = 0;
  // Gives what has come in so far: BlockRequest, DeviceInfo, MountInfo, Loss and Stack events, on CLOCK_BOOTTIME, at
  // most kDrainDelay late.
  virtual Result<void> drain(EventSink& sink) = 0;
  // The last drain, and the end.
  virtual Result<SelfRecorderTotals> stop(EventSink& sink) = 0;
};
inline constexpr Nanoseconds kDrainDelay{500'000'000};

using SelfRecorderFactory = std::function<Result<std::unique_ptr<SelfRecorder>>()>;

}  // namespace iotape
