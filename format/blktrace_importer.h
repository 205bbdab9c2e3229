// Reads traces of blktrace(8) in its binary format, version 7, and gives them out as BlockRequests with parts.
//
// Accepted: one file (raw or merged by blkparse -d), a file NAME.blktrace.N (its siblings of the other CPUs are read
// too), a prefix NAME of such files, a directory holding them, or "-". Either byte order. Files of several CPUs are
// merged by time; a single file may be out of order by up to a few ten thousand records.
//
// How requests are made: a bio ("Q") waits until an issued request ("D") of its direction covers its sectors, and
// becomes a part of it; one that is cut gives a part to each. So merges of any kind need no following. A completion
// ("C") ends the request that holds its sectors. A requeue ("R") is counted and the last issue time kept. Without D
// (bio-based devices) bios are completed directly; without C requests come without completion; a bio nothing took
// becomes a request of its own without issue time. Completions of no sectors that end no flush are ignored, counted.
//
// Losses: gaps in the sequence numbers of a CPU, unreadable stretches and a torn end become Loss events.
#pragma once

#include <cstdint>
#include <string>

#include "format/base/result.h"
#include "format/event_sink.h"
#include "format/trace_header.h"

namespace iotape {

struct BlktraceSummary {
  std::uint64_t records = 0;   // of the input
  std::uint64_t requests = 0;  // given to the sink
  std::uint64_t lost = 0;      // records missing by sequence number
  std::uint64_t ignored_completions = 0;
  std::uint64_t queue_events = 0;
  std::uint64_t issue_events = 0;
  std::uint64_t complete_events = 0;
};

// A header for the trace to be written: clock and the wall-clock anchor where the input has one.
Result<TraceHeader> blktrace_header(const std::string& path);

// Feeds the whole trace to the sink. Memory: the requests and bios in flight, at most about 100 MB.
Result<BlktraceSummary> import_blktrace(const std::string& path, EventSink& sink);

// Whether a file begins like a blktrace file. False when it cannot be read.
[[nodiscard]] bool looks_like_blktrace(const std::string& path);

}  // namespace iotape
