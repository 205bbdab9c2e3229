// RunFigures: the numbers by which one run is compared with another, each under a fixed name.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/call_statistics.h"
#include "analysis/repeated_calls.h"
#include "analysis/seek_analysis.h"
#include "format/base/result.h"
#include "format/selection.h"

namespace iotape {

enum class MetricUnit : std::uint8_t { kNanoseconds, kBytes, kCount, kSectors, kRatio };

struct Metric {
  std::string_view name;  // as in JSON and --fail-if
  MetricUnit unit;
  bool less_is_better;  // false: no direction is better
};
[[nodiscard]] std::span<const Metric> all_metrics();
[[nodiscard]] const Metric* find_metric(std::string_view name);
[[nodiscard]] std::string metric_text(const Metric& metric, double value);

// What a trace does not tell (no calls recorded, no request seen) is absent, not zero.
struct RunFigures {
  std::string trace;
  std::map<std::string, double, std::less<>> values;
  TraceCondition condition;
  std::string calls;  // which calls the figures are of, when they are not of all: those its replays repeat
  std::string disks;  // names of the disks the requests are of, when they are not of all: those under what was changed

  [[nodiscard]] std::optional<double> value(std::string_view metric) const;
};

// Of a trace file, its calls those that `repeated` holds (all without), its requests those of the disks that were
// changed unless the selection names devices; or of an earlier document of `iotape seeks --json` or `iotape compare
// --json` (which may hold several).
Result<std::vector<RunFigures>> read_figures(const std::string& path, const SelectionOptions& selection,
                                             std::uint64_t threshold, const RepeatedCalls* repeated = nullptr);

// The parts, for traces in memory.
RunFigures figures_of(CallStatistics& calls, SeekReport& seeks, bool has_calls, bool has_requests);

}  // namespace iotape
