// What a trace file says of itself before its first event and after its last.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format/base/strong_id.h"
#include "format/event.h"

namespace iotape {

inline constexpr std::uint32_t kFormatVersion = 1;

enum class ClockKind : std::uint8_t { kUnknown = 0, kBootTime = 1, kVirtual = 2, kMonotonic = 3 };
enum class CacheCondition : std::uint8_t { kAsFound = 0, kCold = 1 };

// One command that had a part in making the file, e.g. {"record", "record --cold -- tar xf a.tar"}.
// Paths of the machine are not kept here: only file names without their directories.
struct HistoryEntry {
  std::string command;
  std::string tool_version;
  bool operator==(const HistoryEntry&) const = default;
};

// A recorder hook that could not be attached, and why. The layer it feeds is incomplete without it.
struct MissingHook {
  std::string name;
  std::string reason;
  bool operator==(const MissingHook&) const = default;
};

struct TraceHeader {
  std::uint32_t format_version = kFormatVersion;
  std::string tool_version;
  std::array<std::uint8_t, 16> trace_id{};  // random, or derived from the inputs of a simulation
  ClockKind clock = ClockKind::kUnknown;
  Nanoseconds anchor_time;          // on the trace's clock ...
  std::int64_t anchor_wall_ns = 0;  // ... and at the same moment, nanoseconds since 1970 UTC; 0 = not given
  Nanoseconds resolution{1};        // times are multiples of this
  bool has_syscalls = false;        // layers that were recorded
  bool has_block = false;
  CacheCondition cache = CacheCondition::kAsFound;
  std::uint64_t ring_bytes = 0;
  Nanoseconds calibrated_cost;  // what recording one call costs the traced thread
  std::uint32_t cpus = 0;
  std::uint64_t memory_bytes = 0;
  std::string kernel;                                     // "6.18", never a host name
  std::string target;                                     // result traces: the target, fully resolved
  std::optional<std::array<std::uint8_t, 16>> source_id;  // result traces: trace_id of what was replayed
  std::string source_command;                             // the recorded command's own words, by --args
  std::vector<MissingHook> missing_hooks;
  std::vector<HistoryEntry> history;
  bool operator==(const TraceHeader&) const = default;
};

// Loss counts by cause; index with static_cast<size_t>(LossCause).
using LossCounts = std::array<std::uint64_t, kLossCauseCount>;

// The end of a file that was closed properly. Identity: seen == written + lost (sum of counts that are losses).
struct TraceTotals {
  std::uint64_t seen = 0;     // calls and requests the kernel side counted
  std::uint64_t written = 0;  // calls and requests in the file
  std::uint64_t syscalls = 0;
  std::uint64_t requests = 0;
  LossCounts losses{};
  Nanoseconds end;                   // when recording stopped
  Nanoseconds recorder_cpu;          // CPU time the recorder itself used
  std::int32_t workload_status = 0;  // as wait(2) reports it, -1 when there was no command
  std::uint64_t own_calls = 0;       // the tool's own calls and requests, left out
  std::uint64_t own_requests = 0;
  // Result traces: bytes in use on the target's filesystem before the first call and after the last sync.
  std::optional<std::uint64_t> space_before;
  std::optional<std::uint64_t> space_after;
  bool operator==(const TraceTotals&) const = default;

  [[nodiscard]] std::uint64_t lost() const;
};

// Whether a cause means that events are missing from `written` (kOrphanExit, kNotCaptured and kPartMap do not: a part
// is no event of its own).
[[nodiscard]] bool counts_as_lost(LossCause cause);

}  // namespace iotape
