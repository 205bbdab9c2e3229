// Where a replay's events come from: a trace file, or a test's vector. A replay reads its source twice (survey, then
// replay), so what is handed to it is a way to open one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "format/base/result.h"
#include "format/event.h"
#include "format/selection.h"
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
  // Whether the last event is to be replayed. A call that is not counts as if it had been cut away before: nothing is
  // learned from it, and it is skipped as kNotSelected.
  [[nodiscard]] virtual bool selected() const { return true; }
  // Complete once next() has returned nullptr.
  [[nodiscard]] virtual const ReadReport& report() const = 0;
  // Words of the selection that nothing of the trace agreed with; complete likewise.
  [[nodiscard]] virtual std::vector<std::string> unmatched() const { return {}; }
};

using EventSourceOpener = std::function<Result<std::unique_ptr<EventSource>>()>;

// Opens the file anew each time. Block requests are left out: a replay does not need them.
EventSourceOpener open_trace_file(std::string path);
// Replays only what the selection asks for.
EventSourceOpener select_events(EventSourceOpener from, SelectionOptions selection);
// The events are numbered in their order.
EventSourceOpener open_events(TraceHeader header, std::vector<EventBody> events);

}  // namespace iotape
