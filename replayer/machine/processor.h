// Processor: the machine's CPUs. Whoever computes holds one of them for that long; those who find none free take turns,
// a slice at a time, in the order in which they came.
#pragma once

#include <cstdint>

#include "replayer/ext3/fiber_host.h"

namespace iotape::machine {

class Processor {
 public:
  // REQUIRES: host outlives this; count is at least 1.
  Processor(ext3::FiberHost& host, std::uint32_t count) : host_(host), free_(count) {}

  // Computes for that long. REQUIRES: a fiber calls.
  void use(Nanoseconds amount);
  // Whoever computes stops at the end of his slice, and nobody computes from then on: the run is broken off.
  void break_off() { broken_off_ = true; }
  // What all of them have computed together.
  [[nodiscard]] Nanoseconds busy() const { return busy_; }

 private:
  static constexpr Nanoseconds kSlice{10'000'000};
  void acquire();
  void release();

  ext3::FiberHost& host_;
  std::uint32_t free_;
  std::uint32_t waiting_ = 0;
  bool broken_off_ = false;
  Nanoseconds busy_;
};

}  // namespace iotape::machine
