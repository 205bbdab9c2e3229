#include "format/event.h"

namespace iotape {
namespace {

struct TimeOf {
  Nanoseconds operator()(const Syscall& call) const { return call.start + call.duration; }
  Nanoseconds operator()(const BlockRequest& request) const {
    if (request.complete) return *request.complete;
    if (request.issue) return *request.issue;
    return request.parts.empty() ? Nanoseconds{} : request.parts.front().queue;
  }
  Nanoseconds operator()(const DeviceInfo&) const { return {}; }
  Nanoseconds operator()(const MountInfo&) const { return {}; }
  Nanoseconds operator()(const Stack&) const { return {}; }
  Nanoseconds operator()(const Loss& loss) const { return loss.last; }
  template <typename Timed>
  Nanoseconds operator()(const Timed& event) const {
    return event.time;
  }
};

}  // namespace

Nanoseconds event_time(const EventBody& body) { return std::visit(TimeOf{}, body); }

}  // namespace iotape
