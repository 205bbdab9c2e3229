// Adds processor time to a recorded program that the published one had and the recorded one had not (it unpacked a
// compressed archive; the recording's was not compressed): spread over the bytes it wrote, before each write.
#pragma once

#include "replayer/engine/event_source.h"

namespace iotape {

// written: bytes the trace writes in all, as its survey tells; nothing is added when that is 0.
EventSourceOpener add_thinking(EventSourceOpener from, Nanoseconds thinking, std::uint64_t written);

}  // namespace iotape
