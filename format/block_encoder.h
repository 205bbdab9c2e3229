// Packs a sequence of events into the body of one block. Private to the codec: TraceWriter uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "format/event.h"

namespace iotape {

struct PendingEvent {
  Nanoseconds time;
  std::uint32_t recorder = 0;
  EventBody body;
};

class BlockEncoder {
 public:
  BlockEncoder();
  ~BlockEncoder();
  BlockEncoder(const BlockEncoder&) = delete;
  BlockEncoder& operator=(const BlockEncoder&) = delete;

  // The serialised wire::Body. The events are only read, but not const because they share code with the decoder.
  // Valid until the next call.
  std::span<const std::uint8_t> encode(std::span<PendingEvent* const> events, Nanoseconds resolution);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Roughly how many bytes of a block's body an event needs beyond a handful: what keeps bodies below the format's limit.
[[nodiscard]] std::size_t event_weight(const EventBody& body);

}  // namespace iotape
