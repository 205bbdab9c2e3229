// What a replay did: counts that must add up, mismatches, lateness, latencies.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "format/event.h"
#include "replayer/engine/duration_histogram.h"

namespace iotape {

struct CallTally {
  std::uint64_t issued = 0;
  std::uint64_t skipped = 0;
  std::uint64_t mismatched = 0;
  std::uint64_t unsupported = 0;
  Nanoseconds recorded_time;  // of the issued calls, in the trace
  std::unique_ptr<DurationHistogram> latency = std::make_unique<DurationHistogram>();
};

struct Mismatch {
  EventId source;
  std::uint32_t number = 0;
  OpOutcome expected;
  OpOutcome got;
  std::string what;  // the path or file it was about, as recorded
};
inline constexpr std::size_t kListedMismatches = 10;

struct ReplayReport {
  std::uint64_t calls = 0;  // met in the trace
  std::uint64_t issued = 0;
  std::array<std::uint64_t, kSkipReasonCount> skipped{};  // by SkipReason
  std::map<std::uint32_t, CallTally> by_number;
  std::uint64_t mismatches = 0;
  std::uint64_t unsupported = 0;
  std::vector<Mismatch> first_mismatches;
  std::uint64_t adjusted = 0;           // issued in the weaker form the sandbox allows
  std::uint64_t interrupted_calls = 0;  // waited beyond the target's limit
  std::uint64_t overtaken = 0;          // blocking calls that later ones had to pass
  std::uint64_t housekeeping = 0;       // closes and opens of our own, not calls of the trace
  std::uint64_t implausible_times = 0;
  std::uint64_t threads = 0;
  bool serialised = false;  // more than one thread made calls, and they were issued one after the other
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  Nanoseconds anchor;  // on the target's clock
  Nanoseconds end;     // of the last call
  std::unique_ptr<DurationHistogram> lateness = std::make_unique<DurationHistogram>();
  bool stopped = false;  // by the user, before the end of the trace

  [[nodiscard]] std::uint64_t skipped_total() const;
  // issued + skipped == calls: checked at the end of every replay.
  [[nodiscard]] bool adds_up() const { return issued + skipped_total() == calls; }
  // Not as recorded: any mismatch; under strict also unsupported calls, lost handles and unresolved paths.
  [[nodiscard]] bool diverged(bool strict) const;
};

// "external", "not_a_file", ...: as in JSON and summaries.

}  // namespace iotape
