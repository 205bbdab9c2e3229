// Short spellings for the tests of this room.
#pragma once

#include <string>
#include <vector>

#include "analysis/seek_analysis.h"
#include "format/event_sink.h"

namespace iotape::test {

inline constexpr DeviceId kDisk = DeviceId::of(8, 0);

inline BlockRequest issued(std::int64_t time, std::int64_t sector, std::int64_t sectors, DeviceId device = kDisk,
                           BlockOperation operation = BlockOperation::kRead) {
  BlockRequest request;
  request.device = request.partition = device;
  request.operation = operation;
  request.sector = Sectors(sector);
  request.bytes = sectors * kSectorBytes;
  request.issue = Nanoseconds(time);
  return request;
}

inline SeekReport analyse(const std::vector<EventBody>& events, SeekOptions options = {}) {
  SeekAnalysis analysis(options);
  if (options.by == GroupBy::kStack)
    for (const EventBody& event : events) analysis.learn(event);
  for (const EventBody& event : events) analysis.add(event);
  return analysis.finish("test");
}

class CollectingSink final : public EventSink {
 public:
  Result<void> append(EventBody body) override {
    events.push_back(std::move(body));
    return {};
  }
  std::vector<EventBody> events;
};

}  // namespace iotape::test
