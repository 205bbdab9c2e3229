// SeekStatistics: what is said of one set of accesses, e.g. the reads of one device.
//
// Every figure rests on the distance definition of seek_distance.h: 0 is sequential, up to the threshold (128 sectors
// unless asked otherwise) near, beyond it a seek. Shares are of the accesses that have a distance.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/head_access.h"
#include "analysis/magnitude_distribution.h"
#include "analysis/signed_log2_histogram.h"

namespace iotape {

inline constexpr std::int64_t kSectorBytes = 512;
inline constexpr std::uint64_t kDefaultThresholdSectors = 128;

struct SeekStatistics {
  std::uint64_t requests = 0;  // accesses; in queue order these are bios
  std::uint64_t bytes = 0;
  std::uint64_t distances = 0;  // accesses that had a predecessor on their device
  std::uint64_t sequential = 0;
  std::uint64_t near = 0;
  std::uint64_t seeks = 0;
  std::uint64_t backward = 0;        // distances below zero
  std::uint64_t total_distance = 0;  // sectors; saturates
  Nanoseconds first;                 // times of the first and last access
  Nanoseconds last;
  SignedLog2Histogram histogram;
  MagnitudeDistribution magnitudes;  // |distance| in sectors

  void add(const HeadAccess& access, std::optional<std::int64_t> distance, std::uint64_t threshold);
  void merge(const SeekStatistics& other);

  [[nodiscard]] double share(std::uint64_t part) const {
    return distances == 0 ? 0 : static_cast<double>(part) / static_cast<double>(distances);
  }
  [[nodiscard]] double mean_distance() const {
    return distances == 0 ? 0 : static_cast<double>(total_distance) / static_cast<double>(distances);
  }
  [[nodiscard]] double seconds() const;
  // Seeks in the time from the first to the last access; 0 when there is no such time.
  [[nodiscard]] double seeks_per_second() const;
};

}  // namespace iotape
