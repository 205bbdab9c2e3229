// What takes the records of the kernel side that are not system calls: the block layer's assembler, for one.
#pragma once

#include <cstddef>
#include <span>

#include "format/base/result.h"
#include "format/event_sink.h"

namespace iotape {

class RecordHandler {
 public:
  RecordHandler() = default;
  RecordHandler(const RecordHandler&) = delete;
  RecordHandler& operator=(const RecordHandler&) = delete;
  virtual ~RecordHandler() = default;

  // One record, in the order of the ring; kind and size have been checked against the record's length.
  virtual Result<void> handle(std::span<const std::byte> record, EventSink& sink) = 0;
  // Recording has ended: whatever is still incomplete is given out now.
  virtual Result<void> finish(EventSink& sink) = 0;
};

}  // namespace iotape
