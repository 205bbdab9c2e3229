// Sizes, durations and speeds as people type and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "format/base/result.h"
#include "format/base/strong_id.h"

namespace iotape {

// "64K", "1.5G", "4096": K M G T are powers of 1024; an optional B or iB is accepted.
Result<std::uint64_t> parse_size(std::string_view text);
// "100ns", "5us", "2ms", "1.5s", "10m", "1h"; a bare number is seconds.
Result<Nanoseconds> parse_duration(std::string_view text);
// "2x" is twice as fast: 2.0.
Result<double> parse_speed(std::string_view text);

std::string format_size(std::uint64_t bytes);       // "4.0 KiB"
std::string format_duration(Nanoseconds duration);  // "1.23 ms"
std::string format_count(std::uint64_t count);      // "12,345"

}  // namespace iotape
