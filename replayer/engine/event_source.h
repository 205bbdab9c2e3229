// Where a replay's events come from: a trace file, or a test's vector. A replay reads its source twice (survey, then
// replay), so what is handed to it is a way to open one.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "format/base/result.h"
#include "format/event.h"
#include "format/trace_header.h"
#include "format/trace_reader.h"

namespace iotape {

class EventSource {
 public:
  EventSource() = default;
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;
  virtual ~EventSource() = default;

  [[nodiscard]] virtual const TraceHeader& header() const = 0;
  // The next event, valid until the next call and free to be moved from; nullptr at the end.
  virtual Result<Event*> next() = 0;
  // Complete once next() has returned nullptr.
  [[nodiscard]] virtual const ReadReport& report() const = 0;
};

using EventSourceOpener = std::function<Result<std::unique_ptr<EventSource>>()>;

// Opens the file anew each time. Block requests are left out: a replay does not need them.
EventSourceOpener open_trace_file(std::string path);
// The events are numbered in their order.
EventSourceOpener open_events(TraceHeader header, std::vector<EventBody> events);

}  // namespace iotape
