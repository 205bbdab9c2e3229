// Strangers: requests of processes that were not recorded. A recording holds all requests of the disks it changed,
// since they all move the one head; which of them the workload did not ask for is told by who dirtied or submitted
// their parts.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "format/event.h"

namespace iotape {

class Strangers {
 public:
  // Every event, in order.
  void learn(const EventBody& body);
  // Counts the request when none of its parts is a recorded process's or of a kernel thread that acts for nobody known.
  void add(const BlockRequest& request);

  [[nodiscard]] std::uint64_t requests() const { return requests_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  [[nodiscard]] bool is_stranger(ProcessId process);

  static constexpr std::size_t kMaximumProcesses = 1U << 20U;
  std::unordered_set<ProcessId> known_;  // recorded processes, and kernel threads
  bool any_recorded_ = false;
  ProcessId latest_;
  bool latest_is_stranger_ = false;
  std::uint64_t requests_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace iotape
