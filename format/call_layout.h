// The shape of a call in text, from format/call_syntax.def: which stored arguments appear, in which order, with which
// symbols, and how the result is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/symbols.h"

namespace iotape {

enum class ArgumentForm : std::uint8_t {
  kPlain,          // by the argument's own style
  kSymbols,        // by a symbol table
  kOctal,          // 0644
  kHex,            // 0x1f
  kPointerValue,   // 0x7f.., NULL for 0
  kWithDirectory,  // AT_FDCWD</tmp>, "name"
  kOffsetPointer,  // [123] or NULL by the field NAME_explicit
  kSegments,       // [{iov_len=1}, ...], 1
  kTimes,          // [{tv_sec=, tv_nsec=}, UTIME_OMIT]
  kCreationMode,   // ", 0644" when flags create
  kDevice,         // ", makedev(0x1, 0x3)" unless 0
};

enum class ResultForm : std::uint8_t { kDecimal, kDescriptor, kHex, kOctal };

struct LayoutPiece {
  std::string_view literal;  // printed before the argument
  std::string_view field;    // empty: nothing but the literal
  ArgumentForm form = ArgumentForm::kPlain;
  SymbolTable table = SymbolTable::kCount;
};

struct CallLayout {
  std::vector<LayoutPiece> pieces;
  ResultForm result = ResultForm::kDecimal;
};

// The layout of the call of that name, as x86-64 has it; nullopt when call_syntax.def gives none. A mistake in the file
// (an unknown form or table) is found by a test through malformed_layouts().
[[nodiscard]] std::optional<CallLayout> call_layout(std::string_view call);
[[nodiscard]] std::vector<std::string> malformed_layouts();
// The names of all calls that have one.
[[nodiscard]] std::vector<std::string_view> calls_with_layout();

}  // namespace iotape
