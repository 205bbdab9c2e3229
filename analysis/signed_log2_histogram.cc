#include "analysis/signed_log2_histogram.h"

#include <algorithm>
#include <numeric>

namespace iotape {

void SignedLog2Histogram::merge(const SignedLog2Histogram& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

std::uint64_t SignedLog2Histogram::total() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

std::uint64_t SignedLog2Histogram::largest_count() const { return *std::max_element(counts_.begin(), counts_.end()); }

SignedLog2Histogram::Range SignedLog2Histogram::used() const {
  int lowest = -kLargestBin;
  int highest = kLargestBin;
  while (lowest <= highest && count(lowest) == 0) ++lowest;
  if (lowest > highest) return {};
  while (count(highest) == 0) --highest;
  return {lowest, highest};
}

}  // namespace iotape
