#include "analysis/seek_statistics.h"

#include <algorithm>
#include <limits>

namespace iotape {
namespace {

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}

}  // namespace

void SeekStatistics::add(const HeadAccess& access, std::optional<std::int64_t> distance, std::uint64_t threshold) {
  if (requests == 0) first = last = access.time;
  last = std::max(last, access.time);
  ++requests;
  bytes += static_cast<std::uint64_t>(access.bytes);
  if (!distance) return;
  const std::uint64_t magnitude = SignedLog2Histogram::magnitude(*distance);
  ++distances;
  sequential += magnitude == 0 ? 1 : 0;
  seeks += magnitude > threshold ? 1 : 0;
  near += magnitude != 0 && magnitude <= threshold ? 1 : 0;
  backward += *distance < 0 ? 1 : 0;
  total_distance = saturating_sum(total_distance, magnitude);
  histogram.add(*distance);
  magnitudes.add(magnitude);
}

void SeekStatistics::merge(const SeekStatistics& other) {
  if (other.requests == 0) return;
  first = requests == 0 ? other.first : std::min(first, other.first);
  last = requests == 0 ? other.last : std::max(last, other.last);
  requests += other.requests;
  bytes += other.bytes;
  distances += other.distances;
  sequential += other.sequential;
  near += other.near;
  seeks += other.seeks;
  backward += other.backward;
  total_distance = saturating_sum(total_distance, other.total_distance);
  histogram.merge(other.histogram);
  magnitudes.merge(other.magnitudes);
}

double SeekStatistics::seconds() const {
  return requests == 0 ? 0 : static_cast<double>((last - first).value) / kNanosecondsPerSecond;
}

double SeekStatistics::seeks_per_second() const {
  const double time = seconds();
  return time > 0 ? static_cast<double>(seeks) / time : 0;
}

}  // namespace iotape
