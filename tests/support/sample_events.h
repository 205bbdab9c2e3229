// Events with every field at a value of its own, for tests that write and read them back.
#pragma once

#include <string>
#include <vector>

#include "format/event.h"
#include "format/trace_header.h"

namespace iotape::test {

// At least one of each kind of event, with all fields filled and with none.
[[nodiscard]] std::vector<EventBody> sample_events();
// For each stored argument of each operation (and each part of such an argument): the operation at its defaults but for
// that one.
[[nodiscard]] std::vector<Operation> operations_with_one_argument_changed();
// Spaces, newlines, quotes, 0xff, UTF-8, a component of 255 bytes, a path of 4,095.
[[nodiscard]] std::vector<std::string> difficult_names();
[[nodiscard]] TraceHeader sample_header();
[[nodiscard]] TraceTotals sample_totals();

// Equality of all fields (Syscall and BlockRequest have no operator==).
[[nodiscard]] bool same_event(const EventBody& a, const EventBody& b);

}  // namespace iotape::test
