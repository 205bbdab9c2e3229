// A system call exactly as numbered, past the C library, and the moments at which it began and ended.
//
// The library would replace open by openat, retry, allocate or cancel; a replay issues the recorded number.
#pragma once

#include <cstdint>
#include <type_traits>

#include "format/base/strong_id.h"
#include "replayer/target/host_clock.h"

namespace iotape {

#if !defined(__x86_64__)
#error "traces number their calls as x86-64 does; another machine needs a translation table here"
#endif

inline std::int64_t raw_system_call(std::int64_t number, std::int64_t a = 0, std::int64_t b = 0, std::int64_t c = 0,
                                    std::int64_t d = 0, std::int64_t e = 0, std::int64_t f = 0) {
  std::int64_t result = 0;
  register std::int64_t r10 asm("r10") = d;
  register std::int64_t r8 asm("r8") = e;
  register std::int64_t r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

template <typename T>
std::int64_t system_call_argument(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(value));
  } else if constexpr (std::is_null_pointer_v<T>) {
    return 0;
  } else {
    return static_cast<std::int64_t>(value);
  }
}

// What the kernel answered (negated errno included) and when.
struct IssuedCall {
  std::int64_t raw = 0;
  Nanoseconds start;
  Nanoseconds end;
};

template <typename... Arguments>
IssuedCall issue_system_call(std::int64_t number, Arguments... arguments) {
  IssuedCall issued;
  issued.start = host_now();
  issued.raw = raw_system_call(number, system_call_argument(arguments)...);
  issued.end = host_now();
  return issued;
}

}  // namespace iotape
