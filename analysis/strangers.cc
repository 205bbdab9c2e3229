#include "analysis/strangers.h"

#include <algorithm>

namespace iotape {

void Strangers::learn(const EventBody& body) {
  constexpr ProcessId kKthreadd(2);
  const auto know = [this](ProcessId process) {
    if (known_.size() < kMaximumProcesses) known_.insert(process);
    latest_ = ProcessId();
  };
  if (const auto* start = std::get_if<ProcessStart>(&body)) {
    know(start->thread.process);
    any_recorded_ = any_recorded_ || start->parent.process != kKthreadd;
  } else if (const auto* exec = std::get_if<ProcessExec>(&body)) {
    know(exec->thread.process);
    any_recorded_ = true;
  } else if (const auto* context = std::get_if<ProcessContext>(&body)) {
    know(context->thread.process);
    any_recorded_ = true;
  }
}

bool Strangers::is_stranger(ProcessId process) {
  if (process == latest_) return latest_is_stranger_;
  latest_ = process;
  return latest_is_stranger_ = !known_.contains(process);
}

void Strangers::add(const BlockRequest& request) {
  // A trace that tells of no process (blktrace's, a replay's disk) tells of no strangers either.
  if (!any_recorded_ || request.parts.empty()) return;
  const bool strange = std::all_of(request.parts.begin(), request.parts.end(), [&](const RequestPart& part) {
    const ProcessId owner = part.dirtier.process.value != 0 ? part.dirtier.process : part.submitter.process;
    return owner.value != 0 && is_stranger(owner);
  });
  if (!strange) return;
  ++requests_;
  bytes_ += static_cast<std::uint64_t>(std::max<std::int64_t>(request.bytes, 0));
}

}  // namespace iotape
