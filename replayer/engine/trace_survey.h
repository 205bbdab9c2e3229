// TraceSurvey: the first pass of a replay. Reads the whole trace once and learns what existed before it, which
// directories it changes, how long it took and what is in it. Memory grows with files and processes, not with events.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "format/base/result.h"
#include "format/changing_roots.h"
#include "format/event.h"
#include "replayer/engine/event_source.h"
#include "replayer/engine/replay_roots.h"
#include "replayer/engine/timeline.h"
#include "replayer/engine/trace_model.h"

namespace iotape {

// Calls that change (or, in a trace that changes nothing, read) something in one directory.
struct DirectoryUse {
  std::uint64_t calls = 0;
  std::string path;  // when it was first met
};
using DirectoryUses = std::unordered_map<std::uint32_t, DirectoryUse>;  // by FileIndex

// A directory that calls used and whose place no event told. It stands under kUnplacedDirectory in the trace's names.
struct UnplacedDirectory {
  std::string path;         // as --map takes it
  std::uint64_t calls = 0;  // that changed or read something in it or below
};

struct SurveyResult {
  TraceHeader header;
  std::unique_ptr<TraceModel> model;  // as it stood after the last call
  std::map<std::uint32_t, std::uint64_t> calls_by_number;
  std::uint64_t calls = 0;       // selected ones; the figures below are of these
  std::uint64_t unselected = 0;  // calls the selection leaves out
  std::uint64_t bytes_written = 0;
  std::uint64_t bytes_read = 0;
  DirectoryUses changes;
  DirectoryUses readings;
  std::uint64_t changing_calls = 0;
  std::map<FileIndex, DeviceId> mounts;
  std::uint64_t processes = 0;
  std::uint64_t threads = 0;
  std::uint64_t threads_with_calls = 0;
  std::uint64_t most_threads = 0;          // alive at once
  Nanoseconds span;                        // from the first call's start to the last one's
  Nanoseconds shortened_span;              // the same with gaps cut to the limit
  std::vector<EventId> implausible_times;  // the first few
  std::uint64_t implausible_count = 0;
  ReadReport read_report;
  LossCounts losses{};

  // Per mount the deepest directory that holds every changing call; without any change, every directory read.
  [[nodiscard]] std::vector<ChangingRoots::Root> default_roots() const;
  // The most used first.
  [[nodiscard]] std::vector<UnplacedDirectory> unplaced() const;
  // Changing calls that lie outside the roots.
  [[nodiscard]] std::uint64_t changes_outside(const ReplayRoots& roots) const;
};

Result<SurveyResult> survey_trace(EventSource& source, std::optional<Nanoseconds> longest_gap);

struct RootOptions {
  std::vector<PathMapping> mappings;  // replaces the default roots when not empty
  bool external = false;              // replay what lies outside every root too, under kExternalDirectory
};
inline constexpr std::string_view kExternalDirectory = "/external";

// Chooses the roots and marks them in the survey's names. Fails when more than 1 % of the changing calls would fall
// outside, naming the --map that is missing.
Result<ReplayRoots> choose_roots(SurveyResult& survey, const RootOptions& options);

}  // namespace iotape
