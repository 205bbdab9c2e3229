// TraceCondition: how far a trace can be trusted. Every figure and picture carries it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/event.h"
#include "format/trace_header.h"
#include "format/trace_reader.h"

namespace iotape {

struct TraceCondition {
  bool interrupted = false;       // the file was not closed
  std::uint64_t damaged = 0;      // places in the file that could not be read
  std::uint64_t lost = 0;         // calls and requests that are missing
  LossCounts losses{};            // by cause
  std::vector<Loss> loss_events;  // when; at most kMaximumLossEvents, the rest widen the last one
  std::uint64_t not_captured = 0;
  std::vector<MissingHook> missing_hooks;
  bool replay = false;      // a replay's trace: processes are the recorded ones, requests this machine's
  bool simulated = false;   // in virtual time: the same again gives the same
  bool serialised = false;  // a strict replay of several processes: latencies are not those of a parallel run
  // Of a replay: "strict", or "thread" when its threads ran at once.
  std::string order;
  std::vector<std::string> unmatched;  // words of the selection that nothing agreed with
  static constexpr std::size_t kMaximumLossEvents = 1000;

  void add(const Loss& loss);
  // A replay says in markers of its result that its latencies are serialised, or that calls kept another order.
  void add(const Marker& marker);
  // Takes over what the reader knows at the end of a file.
  void finish(const TraceHeader& header, const ReadReport& report);

  [[nodiscard]] bool complete() const { return !interrupted && damaged == 0 && lost == 0; }
  // "complete", or "INCOMPLETE: 30 events lost (ring_full 30), interrupted".
  [[nodiscard]] std::string sentence() const;
};

}  // namespace iotape
