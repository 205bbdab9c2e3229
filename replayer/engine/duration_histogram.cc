#include "replayer/engine/duration_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace iotape {
namespace {

constexpr unsigned kSubBits = 6;
constexpr std::uint64_t kSubBuckets = 1ULL << kSubBits;

std::size_t bucket_of(std::uint64_t value) {
  if (value < kSubBuckets) return value;
  const auto shift = static_cast<unsigned>(std::bit_width(value)) - kSubBits - 1;
  return (shift + 1) * kSubBuckets + ((value >> shift) - kSubBuckets);
}

std::uint64_t upper_bound_of(std::size_t bucket) {
  if (bucket < kSubBuckets) return bucket;
  const std::uint64_t shift = bucket / kSubBuckets - 1;
  return ((kSubBuckets + bucket % kSubBuckets + 1) << shift) - 1;
}

}  // namespace

void DurationHistogram::add(Nanoseconds duration) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.value, 0));
  ++buckets_[std::min(bucket_of(value), kBuckets - 1)];
  ++count_;
  maximum_ = std::max(maximum_, Nanoseconds(static_cast<std::int64_t>(value)));
  total_ += Nanoseconds(static_cast<std::int64_t>(value));
}

Nanoseconds DurationHistogram::percentile(double fraction) const {
  const auto rank = static_cast<std::uint64_t>(std::ceil(fraction * static_cast<double>(count_)));
  std::uint64_t below = 0;
  for (std::size_t bucket = 0; bucket < kBuckets && count_ > 0; ++bucket) {
    below += buckets_[bucket];
    if (below >= std::max<std::uint64_t>(rank, 1))
      return std::min(maximum_, Nanoseconds(static_cast<std::int64_t>(upper_bound_of(bucket))));
  }
  return {};
}

}  // namespace iotape
