// Timeline: when a recorded moment is due in a replay, as an offset from the replay's single anchor.
//
// Every offset is computed from the first moment, never from the previous event, so sleeps cannot add up. Gaps longer
// than the limit are shortened to it. A moment that cannot be right (a jump of more than a month) counts as the latest
// one before it: one wrong timestamp must neither hang a replay nor shift what follows.
#pragma once

#include <cstdint>
#include <optional>

#include "format/base/strong_id.h"

namespace iotape {

class Timeline {
 public:
  explicit Timeline(std::optional<Nanoseconds> longest_gap = std::nullopt) : longest_gap_(longest_gap) {}

  // Offset of a moment from the first one, gaps shortened. Moments may go backwards; the offset then does too, but
  // never below zero.
  Nanoseconds offset(Nanoseconds moment);

  [[nodiscard]] Nanoseconds furthest() const { return latest_offset_; }
  [[nodiscard]] std::uint64_t implausible() const { return implausible_; }

 private:
  std::optional<Nanoseconds> longest_gap_;
  std::optional<Nanoseconds> first_;
  Nanoseconds latest_;         // latest plausible moment
  Nanoseconds latest_offset_;  // its offset
  std::uint64_t implausible_ = 0;
};

}  // namespace iotape
