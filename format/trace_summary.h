// What a trace holds in figures: who did what, on which devices and mounts. Fed with every event; knows no output.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "format/changing_roots.h"
#include "format/event.h"
#include "format/name_tracker.h"
#include "format/trace_header.h"

namespace iotape {

struct CallSummary {
  std::uint64_t calls = 0;
  std::uint64_t errors = 0;
  std::uint64_t unfinished = 0;
  std::uint64_t bytes = 0;  // read, written or transferred
  Nanoseconds time;
  bool operator==(const CallSummary&) const = default;
};

struct ProcessSummary {
  std::string command;
  std::uint64_t calls = 0;
  std::uint64_t requests = 0;  // whose first part it submitted
  Nanoseconds time;            // inside calls
};

struct DeviceSummary {
  std::string name;
  std::uint64_t requests = 0;
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t flushes = 0;
  std::uint64_t others = 0;
  std::uint64_t parts = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
};

class TraceSummary {
 public:
  void add(const EventBody& body, std::uint32_t recorder);

  std::uint64_t syscalls = 0;
  std::uint64_t requests = 0;
  std::uint64_t parts = 0;
  std::uint64_t states = 0;
  std::uint64_t stacks = 0;
  std::uint64_t markers = 0;
  std::uint32_t recorders = 0;
  bool any_time = false;
  Nanoseconds first;  // start of the first call or issue of the first request
  Nanoseconds last;
  std::map<std::uint32_t, CallSummary> calls;        // by number
  std::map<std::int32_t, ProcessSummary> processes;  // by process id
  std::map<DeviceId, DeviceSummary> devices;
  std::vector<MountInfo> mounts;                // at most kMaximumMounts
  std::vector<Loss> losses;                     // at most kMaximumLosses
  std::map<SkipReason, std::uint64_t> skipped;  // result traces
  std::uint64_t mismatches = 0;
  // The directories a replay would put on its target; pseudo filesystems (/proc) are none.
  [[nodiscard]] std::vector<ChangingRoots::Root> roots() const;

 private:
  struct Adder;
  void cover(Nanoseconds from, Nanoseconds to);
  void add_change(const PathArgument& path);

  NameTracker names_;
  ChangingRoots roots_;
};
inline constexpr std::size_t kMaximumLosses = 1000;
// More processes than this are not told apart; their calls go to process -1.
inline constexpr std::size_t kMaximumProcesses = 1U << 20U;
// Devices beyond these are counted as device 0, call numbers beyond as number -1, mounts not kept.
inline constexpr std::size_t kMaximumDevices = 4096;
inline constexpr std::size_t kMaximumCallNumbers = 4096;
inline constexpr std::size_t kMaximumMounts = 4096;

}  // namespace iotape
