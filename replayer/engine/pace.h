// Pace: when each call is due.
//
// asap: at once. recorded: at the anchor plus the call's recorded offset divided by the speed, so that no sleep depends
// on an earlier one. think: as long after the thread's previous call as its program thought in the recording; calls
// that are not issued count as thinking.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "format/base/result.h"
#include "format/base/strong_id.h"
#include "replayer/engine/timeline.h"

namespace iotape {

enum class PaceKind : std::uint8_t { kAsap, kThink, kRecorded };

struct PaceOptions {
  PaceKind kind = PaceKind::kAsap;
  double speed = 1.0;  // 2 is twice as fast; of recorded only
  std::optional<Nanoseconds> longest_gap;
};

// "asap", "think", "recorded" or a speed such as "2x".
Result<PaceOptions> parse_pace(std::string_view text);

class Pace {
 public:
  // What is known of the call's thread: when its previous issued call ended, in the trace and in the replay.
  struct Previous {
    Nanoseconds recorded_end;
    Nanoseconds end;
    Nanoseconds waited;  // since then, in calls that were not issued (on a pipe, say): no thinking either
  };

  // anchor: on the target's clock, what the trace's first moment corresponds to.
  Pace(PaceOptions options, Nanoseconds anchor) : options_(options), anchor_(anchor), timeline_(options.longest_gap) {}

  // On the target's clock; never before the anchor. To be asked for every call, in the order of the trace.
  Nanoseconds due(Nanoseconds recorded_start, const Previous& previous);
  // What the thread's program did between its previous call and this one; zero unless the pace is to think.
  [[nodiscard]] Nanoseconds thinking(Nanoseconds recorded_start, const Previous& previous) const;
  [[nodiscard]] std::uint64_t implausible() const { return timeline_.implausible(); }

 private:
  PaceOptions options_;
  Nanoseconds anchor_;
  Timeline timeline_;
};

// How long a replay of this span is expected to take; nullopt when only the target's speed decides.
[[nodiscard]] std::optional<Nanoseconds> expected_duration(const PaceOptions& options, Nanoseconds shortened_span);
// "trace 600 s -> about 300 s (2x = twice as fast)".
[[nodiscard]] std::string describe_expectation(const PaceOptions& options, Nanoseconds span,
                                               Nanoseconds shortened_span);

}  // namespace iotape
