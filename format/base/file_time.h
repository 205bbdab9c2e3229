// A file's time stamp in nanoseconds. Filesystems keep seconds of up to 64 bits, more than nanoseconds can tell.
#pragma once

#include <cstdint>
#include <limits>

#include "format/base/strong_id.h"

namespace iotape {

// What does not fit becomes the nearest that does.
constexpr std::int64_t file_time_nanoseconds(std::int64_t seconds, std::int64_t nanoseconds) {
  std::int64_t whole = 0;
  if (__builtin_mul_overflow(seconds, kNanosecondsPerSecond, &whole) ||
      __builtin_add_overflow(whole, nanoseconds, &whole))
    return seconds < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
  return whole;
}

}  // namespace iotape
