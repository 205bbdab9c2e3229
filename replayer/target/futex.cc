#include "replayer/target/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "replayer/target/host_clock.h"

namespace iotape {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(std::atomic<std::uint32_t>) == 4);

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, Nanoseconds timeout) {
  const timespec limit{timeout.value / kNanosecondsPerSecond, timeout.value % kNanosecondsPerSecond};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, &limit, nullptr, 0);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::uint32_t WaitWord::wait_while(std::uint32_t old, Nanoseconds spin, Nanoseconds timeout) {
  constexpr int kPausesPerClockReading = 32;
  std::uint32_t now = value.load(std::memory_order_acquire);
  if (now == old && spin.value > 0) {
    const Nanoseconds end = host_now() + spin;
    do {
      for (int i = 0; i < kPausesPerClockReading && now == old; ++i) {
        __builtin_ia32_pause();
        now = value.load(std::memory_order_acquire);
      }
    } while (now == old && host_now() < end);
  }
  if (now != old) return now;
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  if (value.load(std::memory_order_seq_cst) == old) futex_wait(value, old, timeout);
  sleepers.fetch_sub(1, std::memory_order_seq_cst);
  return value.load(std::memory_order_acquire);
}

}  // namespace iotape
