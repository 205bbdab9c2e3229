// The push interface events flow through: a trace file, a statistics collector, a test's vector.
#pragma once

#include "format/base/result.h"
#include "format/event.h"

namespace iotape {

class EventSink {
 public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;

  // Takes one event. The sink assigns Event::id where ids matter.
  virtual Result<void> append(EventBody body) = 0;
};

}  // namespace iotape
