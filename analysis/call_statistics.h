// CallStatistics: per system call how often, how it ended and how long it took. Skipped calls of a replay are counted
// apart; a mismatch is a repeated call whose answer differs from the recorded one: another errno, or for reads, writes
// and copies another number of bytes (numbers of descriptors and addresses differ without meaning).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/magnitude_distribution.h"
#include "format/base/command.h"
#include "format/event.h"

namespace iotape {

struct CallFigures {
  std::uint64_t count = 0;
  std::uint64_t errors = 0;
  std::uint64_t skipped = 0;  // not issued by a replay, not in count
  std::uint64_t mismatches = 0;
  std::uint64_t unfinished = 0;
  std::int64_t total_time = 0;    // ns
  std::int64_t blocked_time = 0;  // ns, the part off the CPU
  std::uint64_t bytes = 0;        // moved by reads, writes and copies
  MagnitudeDistribution durations;

  void merge(const CallFigures& other);
};

class CallStatistics {
 public:
  void add(const Syscall& call);

  // By system call number.
  [[nodiscard]] std::map<std::uint32_t, CallFigures>& calls() { return calls_; }
  [[nodiscard]] CallFigures total() const;
  // The sum over all calls whose Operation is one of the named kinds, e.g. every way to open a file.
  [[nodiscard]] CallFigures of_operations(const std::vector<std::uint32_t>& wire_numbers) const;
  // From the beginning of the first call to the end of the last, ns; 0 without calls.
  [[nodiscard]] std::int64_t wall_time() const { return any_ ? last_ - first_ : 0; }
  [[nodiscard]] Nanoseconds first() const { return Nanoseconds(first_); }

 private:
  std::map<std::uint32_t, CallFigures> calls_;
  std::uint64_t kept_values_ = 0;
  bool any_ = false;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
};

[[nodiscard]] bool is_mismatch(const Syscall& call);

// A table of the calls, the most time first.
[[nodiscard]] std::string call_text(CallStatistics& statistics, const Terminal& terminal);

}  // namespace iotape
