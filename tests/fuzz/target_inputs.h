// What is fuzzed of the replayer: target specifications, and operations as they lie in the memory shared with the
// process that issues them.
#pragma once

#include <cstdint>
#include <span>

namespace iotape::fuzz {

void read_target(std::span<const std::uint8_t> bytes);

}  // namespace iotape::fuzz
