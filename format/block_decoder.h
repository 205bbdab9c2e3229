// Unpacks the body of one block into events. Private to the codec: TraceReader uses it.
// Everything in a body is checked before it is used; a body that lies ends in an Error, never in a wild read.
#pragma once

#include <memory>
#include <span>

#include "format/base/result.h"
#include "format/event.h"

namespace iotape {

class BlockDecoder {
 public:
  BlockDecoder();
  ~BlockDecoder();
  BlockDecoder(const BlockDecoder&) = delete;
  BlockDecoder& operator=(const BlockDecoder&) = delete;

  struct Selection {
    bool syscalls = true;
    bool requests = true;
  };

  // Takes a serialised wire::Body with events; they are then taken one by one with next().
  Result<void> open(std::span<const std::uint8_t> body, std::uint64_t first_event, Selection selection);
  // False at the end of the block. `event` is overwritten.
  Result<bool> next(Event& event);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace iotape
