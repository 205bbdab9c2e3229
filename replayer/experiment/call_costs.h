// What one call costs the kernel's processor when it waits for nothing.
//
// Medians of the sample traces in traces/ (Linux 6.18, ext4 driver in its ext3 mode, one virtual CPU of a 2020s server,
// what recording cost taken off), rounded. They say how calls stand to each other, not what a machine of 2002 took: a
// target's cpu= multiplies them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "format/base/strong_id.h"

namespace iotape {

struct CallCost {
  std::uint32_t number = 0;  // x86-64 system call
  std::int64_t nanoseconds = 0;
};

inline constexpr std::array<CallCost, 12> kCallCosts{{
    {0, 500},       // read
    {1, 2'500},     // write
    {3, 600},       // close
    {8, 200},       // lseek
    {217, 90'000},  // getdents64, a buffer of 32 KiB full of entries
    {257, 9'000},   // openat that creates; one that finds is cheaper, which matters little beside it
    {258, 16'000},  // mkdirat
    {262, 1'500},   // newfstatat
    {263, 8'000},   // unlinkat
    {264, 12'000},  // renameat
    {306, 10'000},  // syncfs
    {316, 12'000},  // renameat2
}};
inline constexpr std::int64_t kOtherCallCost = 1'000;
inline constexpr std::int64_t kCostPerKibibyte = 60;  // of copying: read and write

[[nodiscard]] constexpr Nanoseconds call_cost(std::uint32_t number, std::uint64_t bytes) {
  const auto* known = std::find_if(kCallCosts.begin(), kCallCosts.end(),
                                   [number](const CallCost& cost) { return cost.number == number; });
  const std::int64_t base = known == kCallCosts.end() ? kOtherCallCost : known->nanoseconds;
  return Nanoseconds(base + static_cast<std::int64_t>(bytes / 1024) * kCostPerKibibyte);
}

}  // namespace iotape
