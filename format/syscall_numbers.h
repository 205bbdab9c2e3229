// The numbers of the x86-64 system calls by name: call_number::openat. The data is in syscalls.def.
#pragma once

#include <cstdint>

namespace iotape::call_number {

#define CALL(number, name, Operation) inline constexpr std::uint32_t name = number;
#define NAME(number, name) inline constexpr std::uint32_t name = number;
#include "format/syscalls.def"
#undef CALL
#undef NAME

}  // namespace iotape::call_number
