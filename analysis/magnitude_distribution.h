// Percentiles of unsigned 64-bit magnitudes (sectors, nanoseconds) in bounded memory.
//
// Exact while the values fit: every value is kept, 8 bytes each. collapse() replaces them by counts in log-linear
// buckets: values below 512 stay exact, larger ones are known to within 1/512 of themselves (kCollapsedError). The
// owner decides when (MagnitudeBudget), and results say which of the two they are.
//
// percentile(q) is the nearest-rank one: the smallest value that at least the fraction q of all values does not exceed.
// It is always a value that occurred (exact) or its bucket's middle (collapsed).
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>

namespace iotape {

class MagnitudeDistribution {
 public:
  static constexpr double kCollapsedError = 1.0 / 512;

  void add(std::uint64_t value) {
    ++count_;
    if (exact_) {
      values_.push_back(value);
      sorted_ = false;
    } else {
      ++buckets_[bucket_of(value)];
    }
  }
  // The result is exact when both were.
  void merge(const MagnitudeDistribution& other);
  void collapse();

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] bool exact() const { return exact_; }
  // q in 0..1; 0 when there are no values. Sorts the kept values on first use.
  [[nodiscard]] std::uint64_t percentile(double q);

  static std::uint32_t bucket_of(std::uint64_t value);
  static std::uint64_t bucket_middle(std::uint32_t bucket);

 private:
  std::uint64_t count_ = 0;
  bool exact_ = true;
  bool sorted_ = true;
  std::deque<std::uint64_t> values_;
  std::unordered_map<std::uint32_t, std::uint64_t> buckets_;
};

// How many exact values a whole analysis may keep, over all its distributions: 32 MB.
inline constexpr std::uint64_t kExactValueBudget = 4'000'000;

}  // namespace iotape
