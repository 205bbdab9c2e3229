// SeekDistance: the head of one device. Distances are in 512-byte sectors from the end of the previous access to the
// start of this one, signed; the first access has none. Traces are untrusted: sums that do not fit saturate.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace iotape {

class SeekDistance {
 public:
  // sector is the start, sectors the length of the access. Returns the distance the head had to move to reach it.
  std::optional<std::int64_t> advance(std::int64_t sector, std::int64_t sectors) {
    std::optional<std::int64_t> distance;
    if (end_) distance = difference(sector, *end_);
    end_ = sum(sector, sectors);
    return distance;
  }

 private:
  using Limits = std::numeric_limits<std::int64_t>;
  static std::int64_t difference(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    return __builtin_sub_overflow(a, b, &result) ? (a < b ? Limits::min() : Limits::max()) : result;
  }
  static std::int64_t sum(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    return __builtin_add_overflow(a, b, &result) ? (b < 0 ? Limits::min() : Limits::max()) : result;
  }
  std::optional<std::int64_t> end_;
};

}  // namespace iotape
