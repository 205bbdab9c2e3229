// ext3's search for a free block within one group, with and without a reservation window. Pure: no I/O, no counters.
// Source: ext3_try_to_allocate and its neighbours, Linux 2.6.10 to 2.6.39.
#pragma once

#include <cstdint>
#include <optional>

#include "replayer/ext3/allocator/bitmap.h"
#include "replayer/ext3/allocator/reservation.h"

namespace iotape::ext3 {

struct GroupBits {
  BitmapView bits;
  std::uint32_t first_block = 0;  // what bit 0 stands for
  std::uint32_t count = 0;        // blocks of the group
  [[nodiscard]] std::uint32_t last_block() const { return first_block + count - 1; }
};

// The goal; else the next free one near it (find_near), backing up over at most 7 free blocks before it, so that
// stretches are filled from their start. Bits, not block numbers. No goal: from the group's start.
std::optional<std::uint32_t> search_group(const GroupBits& group, std::optional<std::uint32_t> goal);

// The same inside the file's window, which moves first when it does not hold the goal. nullopt: no window fits into
// this group with a free block in it.
std::optional<std::uint32_t> search_with_window(const GroupBits& group, std::optional<std::uint32_t> goal,
                                                ReservationWindow& window, ReservationWindows& windows);

}  // namespace iotape::ext3
