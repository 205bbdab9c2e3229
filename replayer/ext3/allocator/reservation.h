// Reservation windows: stretches of blocks that each open regular file keeps for itself, in memory only, so that files
// written at the same time do not interleave. A window says "others, do not allocate here"; whether its blocks are free
// is the bitmap's business.
// Source: ext3's block reservation, Linux 2.6.10 to 2.6.39 (Cao, Ts'o and others, OLS 2005).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "replayer/ext3/types.h"

namespace iotape::ext3 {

class ReservationWindows;

inline constexpr std::uint32_t kFirstWindowBlocks = 8;
inline constexpr std::uint32_t kLargestWindowBlocks = 1027;

// One file's window. Leaves the set it is in when it is destroyed.
struct ReservationWindow {
  std::uint32_t first = 0;  // block numbers; [first, last], empty when last is 0
  std::uint32_t last = 0;
  std::uint32_t hits = 0;  // blocks that were allocated from it
  std::uint32_t goal_size = kFirstWindowBlocks;
  ReservationWindows* owner = nullptr;  // the set it is in, when not empty

  ReservationWindow() = default;
  ReservationWindow(const ReservationWindow&) = delete;
  ReservationWindow& operator=(const ReservationWindow&) = delete;
  ~ReservationWindow();

  [[nodiscard]] bool empty() const { return last == 0; }
  [[nodiscard]] std::uint32_t size() const { return empty() ? 0 : last - first + 1; }
  [[nodiscard]] bool covers(std::uint32_t block) const { return !empty() && first <= block && block <= last; }
  [[nodiscard]] bool overlaps(std::uint32_t begin, std::uint32_t end_inclusive) const {
    return !empty() && first <= end_inclusive && begin <= last;
  }
};

// All windows of a volume, none of which overlap. Finding a place costs a tree search and a step per window passed.
class ReservationWindows {
 public:
  // Moves the window to the first place of `size` blocks that no window touches, searching from `from` on; the place
  // begins at or before `limit` (and may reach beyond). As in ext3 the window's own old place is not taken again.
  // False: there is none; the window is then where it was.
  bool move(ReservationWindow& window, std::uint32_t from, std::uint32_t limit, std::uint32_t size);
  // Empties the window. Its goal size stays.
  void remove(ReservationWindow& window);
  [[nodiscard]] std::size_t count() const { return by_first_.size(); }

 private:
  std::map<std::uint32_t, ReservationWindow*> by_first_;
};

}  // namespace iotape::ext3
