// What is fuzzed of the recorder: one ring record of any bytes, as the kernel side would hand it over.
#pragma once

#include <cstdint>
#include <span>

namespace iotape::fuzz {

void decode_record(std::span<const std::uint8_t> bytes);

}  // namespace iotape::fuzz
