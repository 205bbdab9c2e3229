#include "replayer/engine/timeline.h"

#include <algorithm>

namespace iotape {
namespace {

constexpr std::int64_t kImplausibleGap = std::int64_t{31} * 24 * 3600 * 1'000'000'000;

// a - b without overflow: far enough apart is all that matters then.
std::int64_t difference(Nanoseconds a, Nanoseconds b) {
  std::int64_t result = 0;
  if (__builtin_sub_overflow(a.value, b.value, &result)) return a > b ? INT64_MAX : INT64_MIN;
  return result;
}

}  // namespace

Nanoseconds Timeline::offset(Nanoseconds moment) {
  if (!first_) {
    first_ = latest_ = moment;
    return {};
  }
  const std::int64_t gap = difference(moment, latest_);
  if (gap > kImplausibleGap) {
    ++implausible_;
    return latest_offset_;
  }
  if (gap < -kImplausibleGap) {  // either this one is wrong or the one everything was measured from
    ++implausible_;
    if (latest_ == *first_) first_ = latest_ = moment;
    return latest_offset_;
  }
  if (gap <= 0) return std::max(Nanoseconds{}, latest_offset_ + Nanoseconds(gap));
  latest_ = moment;
  latest_offset_ += longest_gap_ ? std::min(Nanoseconds(gap), *longest_gap_) : Nanoseconds(gap);
  return latest_offset_;
}

}  // namespace iotape
