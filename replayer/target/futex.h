// Waiting for a 32-bit word to change, between threads and, in shared memory, between processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "format/base/strong_id.h"

namespace iotape {

// Sleeps while the word holds expected; also returns on a signal, on a spurious wake-up and after the timeout.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, Nanoseconds timeout);
void futex_wake_all(const std::atomic<std::uint32_t>& word);

// A word that one side changes and the other waits for. The waiter spins first: handing a call to a thread that sleeps
// costs 5 to 50 us, to one that spins 0.2 us.
struct WaitWord {
  std::atomic<std::uint32_t> value{0};
  std::atomic<std::uint32_t> sleepers{0};

  void set(std::uint32_t next) {
    value.store(next, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) != 0) futex_wake_all(value);
  }
  // Waits until the word differs from what is given, at most for the timeout; returns what it then holds.
  std::uint32_t wait_while(std::uint32_t old, Nanoseconds spin, Nanoseconds timeout);
};

}  // namespace iotape
