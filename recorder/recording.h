// Recording: one run of the recorder, from loading the kernel side to the last event. What iotape.cc hands to `stat`
// and to a replay that records itself.
//
//   auto recording = Recording::prepare(options);      // loads, attaches, calibrates; nothing is recorded yet
//   recording->follow_process(pid);                    // this process, its threads and all their descendants
//   recording->begin(sink);                            // events flow to sink from a thread of the recording
//   ... the workload runs ...
//   auto totals = recording->stop();                   // after this, sink is no longer used
//
// Identity, checked by tests: totals.seen == totals.written + totals.lost(). When the sink fails (a full disk),
// recording goes on counting: what is not written is lost with cause kDiskFull, and failure() holds the sink's error.
// The workload is never touched.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "format/base/result.h"
#include "format/base/strong_id.h"
#include "format/trace_header.h"
#include "recorder/probe.h"
#include "recorder/record_handler.h"
#include "recorder/recording_sink.h"

namespace iotape {

class Recording {
 public:
  // handler takes the block layer's records; it is the caller's, may be null and must outlive the recording.
  static Result<std::unique_ptr<Recording>> prepare(const ProbeOptions& options, RecordHandler* handler = nullptr);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Fills in what the recorder knows of itself: clock, layers, ring, cost, missing hooks, machine.
  void describe(TraceHeader& header) const;

  // A thread that runs this program's code until it calls execve; its recording starts there.
  Result<void> follow_command(ProcessId child);
  // A running process: all its threads, repeated until no new one turns up.
  Result<void> follow_process(ProcessId process);
  // One thread of a process, e.g. a worker of this very program.
  Result<void> follow_thread(ThreadId thread);

  // Notes contexts and descriptors of the followed threads and starts the flow of events.
  Result<void> begin(RecordingSink& sink);
  Result<TraceTotals> stop();

  [[nodiscard]] std::optional<Error> failure() const;
  [[nodiscard]] std::uint64_t uncaptured_uring() const;
  [[nodiscard]] std::uint64_t uncaptured_aio() const;

 private:
  struct State;
  explicit Recording(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace iotape
