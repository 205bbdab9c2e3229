// One row per system call that is recorded: its shape (what the kernel side takes, see wire_shape) and how the record
// becomes an Operation. Numbers and names are format/syscalls.def's; a test compares the two.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/operations.h"
#include "recorder/wire.h"

namespace iotape {

// A call's record, taken apart and checked. Arguments that were not kept read as 0.
struct CallView {
  wire_call fixed{};  // args beyond fixed.arguments are 0
  FileReference file;
  FileReference file_b;
  Text text_a{TextState::kFault, {}};
  Text text_b{TextState::kFault, {}};
  Text value{TextState::kNull, {}};
  std::array<std::int64_t, 4> numbers{};
  std::uint32_t number_bytes = 0;  // how much of numbers was in the record
  std::uint8_t have_numbers = 0;   // WIRE_ITEM_NUMBERS: the item's state
  SegmentLengths segments;

  [[nodiscard]] std::int64_t arg(unsigned index) const { return static_cast<std::int64_t>(fixed.args[index]); }
  // For int arguments: the kernel looks at 32 bits only.
  [[nodiscard]] std::int64_t int_arg(unsigned index) const { return static_cast<std::int32_t>(fixed.args[index]); }
  [[nodiscard]] std::int64_t unsigned_arg(unsigned index) const {
    return static_cast<std::int64_t>(static_cast<std::uint32_t>(fixed.args[index]));
  }
};

struct CallRow {
  std::uint32_t number;
  wire_shape shape;
  Operation (*build)(CallView& call);
};

// nullptr for a number that is not recorded.
[[nodiscard]] const CallRow* call_row(std::uint32_t number);
[[nodiscard]] std::span<const CallRow> call_rows();

// The table the kernel side works from: WIRE_SHAPE_SLOTS rows.
void fill_call_shapes(std::span<wire_shape> shapes);

// A call of a foreign ABI or unknown number.
[[nodiscard]] Operation build_other(CallView& call);

}  // namespace iotape
