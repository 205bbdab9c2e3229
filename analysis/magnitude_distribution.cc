#include "analysis/magnitude_distribution.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

namespace iotape {
namespace {

constexpr unsigned kSubBucketBits = 8;
constexpr std::uint64_t kSubBuckets = 1U << kSubBucketBits;
constexpr std::uint64_t kExactBelow = 2 * kSubBuckets;

std::uint64_t nearest_rank(double q, std::uint64_t count) {
  const double rank = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count));
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(rank), 1, count);
}

}  // namespace

std::uint32_t MagnitudeDistribution::bucket_of(std::uint64_t value) {
  if (value < kExactBelow) return static_cast<std::uint32_t>(value);
  const auto shift = static_cast<unsigned>(std::bit_width(value)) - kSubBucketBits - 1;
  const std::uint64_t within = (value >> shift) - kSubBuckets;
  return static_cast<std::uint32_t>(kExactBelow + (shift - 1) * kSubBuckets + within);
}

std::uint64_t MagnitudeDistribution::bucket_middle(std::uint32_t bucket) {
  if (bucket < kExactBelow) return bucket;
  const std::uint64_t above = bucket - kExactBelow;
  const auto shift = static_cast<unsigned>(above / kSubBuckets) + 1;
  const std::uint64_t lower = (above % kSubBuckets + kSubBuckets) << shift;
  return lower + (std::uint64_t{1} << (shift - 1));
}

void MagnitudeDistribution::collapse() {
  if (!exact_) return;
  exact_ = false;
  for (const std::uint64_t value : values_) ++buckets_[bucket_of(value)];
  std::exchange(values_, {}).clear();
}

void MagnitudeDistribution::merge(const MagnitudeDistribution& other) {
  count_ += other.count_;
  if (exact_ && other.exact_) {
    values_.insert(values_.end(), other.values_.begin(), other.values_.end());
    sorted_ = false;
    return;
  }
  collapse();
  for (const auto& [bucket, count] : other.buckets_) buckets_[bucket] += count;
  for (const std::uint64_t value : other.values_) ++buckets_[bucket_of(value)];
}

std::uint64_t MagnitudeDistribution::percentile(double q) {
  if (count_ == 0) return 0;
  const std::uint64_t rank = nearest_rank(q, count_);
  if (exact_) {
    if (!sorted_) std::sort(values_.begin(), values_.end());
    sorted_ = true;
    return values_[rank - 1];
  }
  std::vector<std::pair<std::uint32_t, std::uint64_t>> ordered(buckets_.begin(), buckets_.end());
  std::sort(ordered.begin(), ordered.end());
  std::uint64_t passed = 0;
  for (const auto& [bucket, count] : ordered)
    if ((passed += count) >= rank) return bucket_middle(bucket);
  return bucket_middle(ordered.back().first);
}

}  // namespace iotape
