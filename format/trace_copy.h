// Copying events from trace to trace while keeping count: what recover, cut, convert and merge have in common.
//
// The identity seen == written + lost holds in the result: what the source's recorder counted and no readable block
// holds becomes a Loss.
#pragma once

#include <cstdint>
#include <functional>

#include "format/base/result.h"
#include "format/trace_reader.h"
#include "format/trace_writer.h"

namespace iotape {

struct CopyCounts {
  std::uint64_t syscalls = 0;
  std::uint64_t requests = 0;
  std::uint64_t others = 0;
  Nanoseconds last;  // the latest time met
  [[nodiscard]] std::uint64_t events() const { return syscalls + requests; }
};

// Counts an event by its layer and notes its time.
void count_event(CopyCounts& counts, const EventBody& body);

// Copies every event for which keep says so (all without one); damage met on the way becomes Loss events where it lies.
Result<CopyCounts> copy_events(TraceReader& from, TraceWriter& to, const std::function<bool(const Event&)>& keep = {});

// The closing totals for a copy that kept everything readable. Appends the Loss event for what is missing.
Result<TraceTotals> totals_of_copy(const ReadReport& report, const CopyCounts& counts, TraceWriter& to);

}  // namespace iotape
