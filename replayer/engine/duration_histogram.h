// DurationHistogram: percentiles of many durations in fixed memory, each within 1.6 % of the true value.
// Buckets: exact below 64 ns, then 64 per power of two.
#pragma once

#include <array>
#include <cstdint>

#include "format/base/strong_id.h"

namespace iotape {

class DurationHistogram {
 public:
  void add(Nanoseconds duration);  // negative durations count as zero
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] Nanoseconds maximum() const { return maximum_; }
  [[nodiscard]] Nanoseconds total() const { return total_; }
  // The duration that `fraction` (0..1) of all do not exceed; zero when there are none.
  [[nodiscard]] Nanoseconds percentile(double fraction) const;

 private:
  static constexpr std::size_t kBuckets = std::size_t{64} * 59;
  std::array<std::uint32_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  Nanoseconds maximum_;
  Nanoseconds total_;
};

}  // namespace iotape
