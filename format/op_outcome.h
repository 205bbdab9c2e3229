// What a filesystem answered to a call. Data to record and compare, never a tool error.
#pragma once

#include <cstdint>

namespace iotape {

struct OpOutcome {
  std::int64_t value = 0;  // the return value when error_number is 0
  std::int32_t error_number = 0;

  [[nodiscard]] constexpr bool ok() const { return error_number == 0; }
  constexpr bool operator==(const OpOutcome&) const = default;

  // The kernel's convention, where -4095..-1 is a negated errno.
  static constexpr OpOutcome from_kernel(std::int64_t raw) {
    constexpr std::int64_t kMaxErrno = 4095;
    if (raw < 0 && raw >= -kMaxErrno) return {-1, static_cast<std::int32_t>(-raw)};
    return {raw, 0};
  }
  [[nodiscard]] constexpr std::int64_t to_kernel() const { return ok() ? value : -std::int64_t{error_number}; }
};

}  // namespace iotape
