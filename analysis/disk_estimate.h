// DiskEstimate: what a stream of accesses would have cost on a modelled disk, whatever it was recorded on.
//
// Each device gets a disk of its own, at rest and with empty caches. Accesses go to it in order, each at its recorded
// time or when the disk is done with the one before; the time between is the disk's to read ahead and to destage. What
// is added up is the disk's own time, not the requests' waiting for each other. Writes are charged with their destaging
// whenever it was done, also after the last access. Discards and flushes cost nothing here.
#pragma once

#include <array>
#include <cstdint>

#include "analysis/disk/disk_model.h"
#include "analysis/head_access.h"

namespace iotape {

// Increased when the same profile and trace give other figures.
inline constexpr int kDiskModelVersion = 1;

struct DiskTime {  // nanoseconds
  std::uint64_t requests = 0;
  std::uint64_t cached = 0;  // answered without waiting for the platter
  std::uint64_t overhead = 0;
  std::uint64_t seek = 0;
  std::uint64_t rotation = 0;
  std::uint64_t transfer = 0;
  [[nodiscard]] std::uint64_t total() const { return overhead + seek + rotation + transfer; }
  [[nodiscard]] std::uint64_t mean() const { return requests == 0 ? 0 : total() / requests; }
  void merge(const DiskTime& other);
};

class DiskEstimate {
 public:
  explicit DiskEstimate(const DiskModel& model) : model_(&model) {}

  void add(const HeadAccess& access);
  // Destages what is left. The estimate is used up.
  void finish();

  [[nodiscard]] const DiskTime& of(AccessClass kind) const { return times_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] DiskTime all() const;
  // Accesses that begin or end beyond the disk's end and were placed modulo its size.
  [[nodiscard]] std::uint64_t beyond() const { return state_.beyond; }

 private:
  const DiskModel* model_;
  DiskState state_;
  std::array<DiskTime, kAccessClassCount> times_;
  bool started_ = false;
  Nanoseconds first_;
};

}  // namespace iotape
