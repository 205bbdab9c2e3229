// What a trace says of the machine it was made on: nothing that names it.
#pragma once

#include "format/trace_header.h"

namespace iotape {

// Processors, memory, the kernel's series.
void describe_machine(TraceHeader& header);
// CLOCK_BOOTTIME.
[[nodiscard]] Nanoseconds boot_time();
// A fresh trace on the boot clock: its id, the clock and its anchor, and the machine.
[[nodiscard]] TraceHeader header_of_now();

}  // namespace iotape
