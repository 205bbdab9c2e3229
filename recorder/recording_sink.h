// Where a recording's events go: an EventSink that is also told, at least once a second, how many calls and requests
// the kernel side has counted, so that what is there so far can be made safe.
#pragma once

#include <cstdint>

#include "format/event_sink.h"
#include "format/trace_writer.h"

namespace iotape {

class RecordingSink : public EventSink {
 public:
  virtual Result<void> checkpoint(std::uint64_t seen, std::uint64_t lost) = 0;
};

// Into a trace file. The writer is the caller's.
class WriterSink final : public RecordingSink {
 public:
  explicit WriterSink(TraceWriter& writer) : writer_(writer) {}
  Result<void> append(EventBody body) override { return writer_.append(std::move(body)); }
  Result<void> checkpoint(std::uint64_t seen, std::uint64_t lost) override {
    writer_.set_counts(seen, lost);
    return writer_.flush();
  }

 private:
  TraceWriter& writer_;
};

}  // namespace iotape
