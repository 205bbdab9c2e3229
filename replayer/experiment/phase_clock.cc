#include "replayer/experiment/phase_clock.h"

#include <algorithm>

namespace iotape {

Result<void> PhaseClock::call(Syscall& call) {
  constexpr std::uint64_t kTellEvery = 1024;
  const std::size_t phase = boundaries_.size();
  if (phase + 1 < phases_.size() && std::ranges::find(phases_[phase].until, call.number) != phases_[phase].until.end())
    boundaries_.push_back(call.start);
  if (told_ && ++calls_ % kTellEvery == 0) told_(kTellEvery);
  return onwards_.call(call);
}

}  // namespace iotape
