// Packs a sequence of events into the body of one block. Private to the codec: TraceWriter uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "format/event.h"

namespace iotape {

class BlockEncoder {
 public:
  explicit BlockEncoder(Nanoseconds resolution);
  ~BlockEncoder();
  BlockEncoder(const BlockEncoder&) = delete;
  BlockEncoder& operator=(const BlockEncoder&) = delete;

  // Adds one event to the open block. Nothing of the event is kept by reference; it is not const only because one piece
  // of code serves encoding and decoding.
  void add(Nanoseconds time, std::uint32_t recorder, EventBody& body);
  [[nodiscard]] std::size_t events() const;
  // A lower bound of the body's size: names and rare events.
  [[nodiscard]] std::size_t weight() const;

  // The serialised wire::Body of all events added; the next add() begins a new block. Valid until then.
  std::span<const std::uint8_t> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace iotape
