#include "format/syscall_table.h"

#include <fmt/format.h>

#include <array>

namespace iotape {
namespace {

using Table = std::array<SyscallDescription, kSyscallNumberLimit>;

constexpr Table make_table() {
  Table table{};
#define CALL(number, name, Operation) table[number] = {#name, true, Operation::kWireNumber};
#define NAME(number, name) table[number] = {#name, false, OtherCall::kWireNumber};
#include "format/syscalls.def"
#undef CALL
#undef NAME
  return table;
}
constexpr Table kTable = make_table();
constexpr SyscallDescription kUnknown{};

}  // namespace

const SyscallDescription& syscall_description(std::uint32_t number) {
  return number < kTable.size() ? kTable[number] : kUnknown;
}

std::optional<std::uint32_t> syscall_number(std::string_view name) {
  for (std::uint32_t number = 0; number < kTable.size(); ++number)
    if (!name.empty() && kTable[number].name == name) return number;
  return std::nullopt;
}

std::string syscall_display_name(std::uint32_t number) {
  const auto& description = syscall_description(number);
  return description.name.empty() ? fmt::format("syscall_{}", number) : std::string(description.name);
}

}  // namespace iotape
