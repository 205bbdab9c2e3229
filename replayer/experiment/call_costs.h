// What one call costs the kernel's processor when it waits for nothing.
//
// Medians of the sample traces in traces/ (Linux 6.18, the ext4 driver in its ext3 mode, a virtual CPU of the 2020s;
// what was waited and what recording cost taken off), rounded. They say how calls stand to each other, not what a
// machine of 2002 took: a target's cpu= multiplies them. From files300k: openat that creates, close, unlinkat; from
// p1_untar and dd: mkdirat, write; from p1_traverse_cold and p1_rm: read, openat that finds, newfstatat, getdents64. A
// rename is in none of them; it is given what an unlink and finding a name cost.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "format/base/strong_id.h"
#include "format/syscall_numbers.h"

namespace iotape {

struct CallCost {
  std::uint32_t number = 0;  // x86-64 system call
  std::int64_t nanoseconds = 0;
};

inline constexpr std::array<CallCost, 10> kCallCosts{{
    {0, 300},       // read, beside the bytes
    {1, 3'300},     // write, beside the bytes
    {3, 200},       // close
    {217, 2'500},   // getdents64, beside the names
    {257, 800},     // openat that finds
    {258, 8'300},   // mkdirat
    {262, 200},     // newfstatat
    {263, 4'800},   // unlinkat
    {264, 9'000},   // renameat
    {306, 10'000},  // syncfs, beside what it writes
}};
inline constexpr std::int64_t kCreationCost = 6'200;  // openat that creates
inline constexpr std::int64_t kOtherCallCost = 1'000;
inline constexpr std::int64_t kReadCostPerKibibyte = 200;
inline constexpr std::int64_t kWriteCostPerKibibyte = 340;
inline constexpr std::int64_t kListCostPerName = 60;

// units: KiB of a read or write, names of a directory.
[[nodiscard]] constexpr Nanoseconds call_cost(std::uint32_t number, std::uint64_t units, bool creates) {
  if (creates) return Nanoseconds(kCreationCost);
  const auto* known = std::find_if(kCallCosts.begin(), kCallCosts.end(),
                                   [number](const CallCost& cost) { return cost.number == number; });
  const std::int64_t base = known == kCallCosts.end() ? kOtherCallCost : known->nanoseconds;
  const std::int64_t each = number == call_number::write        ? kWriteCostPerKibibyte
                            : number == call_number::getdents64 ? kListCostPerName
                                                                : kReadCostPerKibibyte;
  return Nanoseconds(base + static_cast<std::int64_t>(units) * each);
}

}  // namespace iotape
