// Names for the bits and values of call arguments: 0101 as open flags is "O_WRONLY|O_CREAT". The data is in
// format/call_syntax.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace iotape {

enum class SymbolTable : std::uint8_t {
#define TABLE(name) name,
#include "format/call_syntax.def"
  kCount
};

// The table of that name, as written in call_syntax.def.
[[nodiscard]] std::optional<SymbolTable> symbol_table(std::string_view name);

// Appends the names joined by '|', then what has no name as 0x digits; "0" when nothing is set and zero has no name.
void append_symbols(std::string& out, SymbolTable table, std::int64_t value);

// "ENOENT" and "No such file or directory"; numbers without a name give "E<number>" and "Unknown error".
[[nodiscard]] std::string errno_name(std::int32_t number);
[[nodiscard]] std::string errno_text(std::int32_t number);
// "SIGKILL"; "SIG<number>" where there is no name.
[[nodiscard]] std::string signal_name(int number);

}  // namespace iotape
