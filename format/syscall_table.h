// The x86-64 system calls by number: name and the Operation that carries them. The data is in syscalls.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "format/operations.h"

namespace iotape {

inline constexpr std::uint32_t kSyscallNumberLimit = 512;  // numbers at or above are foreign or nonsense

struct SyscallDescription {
  std::string_view name;                               // empty for a number without a call
  bool recorded = false;                               // whether it is in the default selection
  std::uint32_t wire_number = OtherCall::kWireNumber;  // kWireNumber of the Operation that carries it
};

// For any number; unknown ones have an empty name.
[[nodiscard]] const SyscallDescription& syscall_description(std::uint32_t number);
[[nodiscard]] std::optional<std::uint32_t> syscall_number(std::string_view name);
// "openat", or "syscall_471" for a number without a name.
[[nodiscard]] std::string syscall_display_name(std::uint32_t number);

}  // namespace iotape
