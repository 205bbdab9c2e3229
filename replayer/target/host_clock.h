// CLOCK_BOOTTIME, and waiting for a moment on it.
#pragma once

#include "format/base/strong_id.h"

namespace iotape {

[[nodiscard]] Nanoseconds host_now();

// What the calling thread has computed so far. A system call, unlike host_now().
[[nodiscard]] Nanoseconds thread_computed();

// Sleeps until shortly before the deadline, then spins; returns the time at which it came back. A deadline in the past
// costs one clock reading. Wants PR_SET_TIMERSLACK 1 on the calling thread (keep_timers_sharp), else it is 50 us late.
Nanoseconds wait_until(Nanoseconds deadline);
void keep_timers_sharp();

}  // namespace iotape
