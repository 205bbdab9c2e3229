#include "analysis/run_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "analysis/changed_disks.h"
#include "analysis/trace_walk.h"
#include "format/base/units.h"

namespace iotape {
namespace {

using enum MetricUnit;
constexpr auto kMetrics = std::to_array<Metric>({
    {"wall_time", kNanoseconds, true},
    {"synced_time", kNanoseconds, true},
    {"system_cpu", kNanoseconds, true},
    {"read_p50", kNanoseconds, true},
    {"read_p99", kNanoseconds, true},
    {"read_p999", kNanoseconds, true},
    {"write_p50", kNanoseconds, true},
    {"write_p99", kNanoseconds, true},
    {"write_p999", kNanoseconds, true},
    {"fsync_p50", kNanoseconds, true},
    {"fsync_p99", kNanoseconds, true},
    {"fsync_p999", kNanoseconds, true},
    {"open_p50", kNanoseconds, true},
    {"open_p99", kNanoseconds, true},
    {"open_p999", kNanoseconds, true},
    {"unlink_p50", kNanoseconds, true},
    {"unlink_p99", kNanoseconds, true},
    {"unlink_p999", kNanoseconds, true},
    {"calls", kCount, false},
    {"errors", kCount, false},
    {"skipped", kCount, false},
    {"mismatches", kCount, true},
    {"requests", kCount, true},
    {"device_read_bytes", kBytes, true},
    {"device_write_bytes", kBytes, true},
    {"flushes", kCount, true},
    {"write_amplification", kRatio, true},
    {"space_after", kBytes, true},
    {"space_change", kBytes, true},
    {"seeks", kCount, true},
    {"seek_distance", kSectors, true},
    {"mean_distance", kSectors, true},
    {"median_distance", kSectors, true},
    {"p90_distance", kSectors, true},
    {"p99_distance", kSectors, true},
    {"sequential_share", kRatio, false},
    {"backward_share", kRatio, false},
});

struct Latency {
  std::string_view name;
  std::vector<std::uint32_t> operations;
};

void put_latencies(RunFigures& figures, const CallStatistics& calls) {
  const std::array<Latency, 5> latencies{{{"read", {Read::kWireNumber}},
                                          {"write", {Write::kWireNumber}},
                                          {"fsync", {Sync::kWireNumber}},
                                          {"open", {Open::kWireNumber}},
                                          {"unlink", {Unlink::kWireNumber}}}};
  for (const Latency& latency : latencies) {
    CallFigures sum = calls.of_operations(latency.operations);
    if (sum.durations.count() == 0) continue;
    const auto put = [&](std::string_view suffix, double q) {
      figures.values[fmt::format("{}_{}", latency.name, suffix)] = static_cast<double>(sum.durations.percentile(q));
    };
    put("p50", 0.5), put("p99", 0.99), put("p999", 0.999);
  }
}

void put_seeks(RunFigures& figures, SeekReport& seeks) {
  const auto put = [&](std::string_view name, auto value) {
    figures.values[std::string(name)] = static_cast<double>(value);
  };
  std::uint64_t read_bytes = 0;
  std::uint64_t write_bytes = 0;
  for (const DeviceSeeks& device : seeks.devices) {
    read_bytes += device.by_class[static_cast<std::size_t>(AccessClass::kRead)].bytes;
    write_bytes += device.by_class[static_cast<std::size_t>(AccessClass::kWrite)].bytes;
  }
  SeekStatistics& total = seeks.total;
  put("requests", total.requests), put("flushes", seeks.counts.flushes);
  put("device_read_bytes", read_bytes), put("device_write_bytes", write_bytes);
  put("seeks", total.seeks), put("seek_distance", total.total_distance), put("mean_distance", total.mean_distance());
  put("median_distance", total.magnitudes.percentile(0.5)), put("p90_distance", total.magnitudes.percentile(0.9));
  put("p99_distance", total.magnitudes.percentile(0.99));
  put("sequential_share", total.share(total.sequential)), put("backward_share", total.share(total.backward));
}

// What is known after a walk over a trace: its calls, its requests, or both.
struct Walked {
  SeekAnalysis seeks;
  CallStatistics calls;
  WalkEnd end;
  const RepeatedCalls* repeated = nullptr;  // only these calls count
};

Result<void> walk_into(Walked& walked, const std::string& path, const SelectionOptions& selection, WalkNeeds needs) {
  IOTAPE_ASSIGN(walked.end, walk_trace(path, selection, needs, [&](const Event& event, Selected selected) {
                  const auto* call = std::get_if<Syscall>(&event.body);
                  if (call == nullptr && needs.requests) walked.seeks.add(event.body, selected == Selected::kYes);
                  if (call == nullptr || selected != Selected::kYes) return;
                  if (walked.repeated == nullptr || walked.repeated->contains(event.id)) walked.calls.add(*call);
                }));
  return {};
}

// Devices narrow the requests down and leave the calls alone: a run's time is that of all its calls.
Result<void> walk_layers(Walked& walked, const std::string& path, const SelectionOptions& selection,
                         const std::vector<std::string>& devices) {
  if (devices.empty()) return walk_into(walked, path, selection, {true, true});
  SelectionOptions calls = selection;
  calls.devices.clear();
  IOTAPE_TRY(walk_into(walked, path, calls, {true, false}));
  SelectionOptions requests = selection;
  requests.devices = devices;
  requests.syscalls.clear();
  return walk_into(walked, path, requests, {false, true});
}

// What only the end of a replay's trace tells.
void put_totals(RunFigures& figures, const Walked& walked) {
  const auto& totals = walked.end.report.totals;
  if (!totals || walked.end.header.target.empty()) return;
  if (walked.calls.wall_time() > 0)
    figures.values["synced_time"] = static_cast<double>((totals->end - walked.calls.first()).value);
  if (!totals->space_after) return;
  figures.values["space_after"] = static_cast<double>(*totals->space_after);
  if (totals->space_before)
    figures.values["space_change"] =
        static_cast<double>(*totals->space_after) - static_cast<double>(*totals->space_before);
}

Result<std::vector<RunFigures>> figures_of_trace(const std::string& path, const SelectionOptions& selection,
                                                 std::uint64_t threshold, const RepeatedCalls* repeated) {
  ChangedDisks disks;
  if (selection.devices.empty()) {
    IOTAPE_ASSIGN(disks, find_changed_disks(path, selection));
  }
  Walked walked{SeekAnalysis({StreamOrder::kIssue, threshold, GroupBy::kOperation}), {}, {}, repeated};
  IOTAPE_TRY(walk_layers(walked, path, selection, selection.devices.empty() ? disks.devices : selection.devices));
  walked.seeks.condition().finish(walked.end.header, walked.end.report);
  if (!selection.empty()) walked.seeks.condition().unmatched = walked.end.unmatched;
  SeekReport report = walked.seeks.finish(path);
  RunFigures figures = figures_of(walked.calls, report, walked.end.header.has_syscalls || !walked.calls.calls().empty(),
                                  walked.end.header.has_block || report.counts.requests > 0);
  figures.disks = disks.names;
  if (repeated != nullptr)
    figures.calls =
        fmt::format("{} of {} calls, those its replays repeat (left out: {})", format_count(repeated->issued()),
                    format_count(repeated->calls()), repeated->left_out());
  put_totals(figures, walked);
  return std::vector<RunFigures>{std::move(figures)};
}

using Json = nlohmann::json;

void put_number(RunFigures& figures, std::string_view metric, const Json& from, const char* key) {
  if (from.contains(key) && from[key].is_number()) figures.values[std::string(metric)] = from[key].get<double>();
}

RunFigures from_seeks_document(const Json& trace) {
  RunFigures figures;
  static constexpr std::array<std::pair<std::string_view, const char*>, 8> kKeys{
      {{"requests", "requests"},
       {"seeks", "seeks"},
       {"seek_distance", "total_distance"},
       {"mean_distance", "mean_distance"},
       {"median_distance", "median_distance"},
       {"p90_distance", "p90_distance"},
       {"p99_distance", "p99_distance"},
       {"sequential_share", "sequential_share"}}};
  if (trace.contains("total") && trace["total"].is_object()) {
    for (const auto& [metric, key] : kKeys) put_number(figures, metric, trace["total"], key);
    put_number(figures, "backward_share", trace["total"], "backward_share");
  }
  put_number(figures, "flushes", trace, "flushes");
  return figures;
}

RunFigures from_compare_document(const Json& run) {
  RunFigures figures;
  if (!run.contains("figures") || !run["figures"].is_object()) return figures;
  for (const auto& [name, value] : run["figures"].items())
    if (find_metric(name) != nullptr && value.is_number()) figures.values[name] = value.get<double>();
  return figures;
}

// Json::value would throw at a value of another type.
bool flag_of(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  return found != entry.end() && found->is_boolean() && found->get<bool>();
}
std::uint64_t count_of(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  return found != entry.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

void read_condition(const Json& entry, RunFigures& figures) {
  if (const auto name = entry.find("trace"); name != entry.end() && name->is_string())
    figures.trace = name->get<std::string>();
  figures.condition.interrupted = flag_of(entry, "interrupted");
  figures.condition.lost = count_of(entry, "lost");
  figures.condition.damaged = count_of(entry, "damaged");
  figures.condition.serialised = flag_of(entry, "latencies_serialised");
  figures.condition.simulated = flag_of(entry, "simulated");
  if (const auto order = entry.find("order"); order != entry.end() && order->is_string())
    figures.condition.order = order->get<std::string>();
}

Result<std::vector<RunFigures>> figures_of_document(const std::string& path) {
  std::ifstream file(path);
  const Json document = Json::parse(file, nullptr, false);
  const bool is_object = document.is_object() && document.contains("schema") && document["schema"].is_string();
  const std::string schema = is_object ? document["schema"].get<std::string>() : "";
  const bool of_seeks = schema == "iotape.seeks/1";
  const char* list = of_seeks ? "traces" : "runs";
  if ((!of_seeks && schema != "iotape.compare/1") || !document.contains(list) || !document[list].is_array())
    return failure(ErrorCode::kCorrupt,
                   fmt::format("{} is neither a trace nor a document of iotape seeks --json or compare --json", path));
  std::vector<RunFigures> all;
  for (const Json& entry : document[list]) {
    if (!entry.is_object()) return failure(ErrorCode::kCorrupt, fmt::format("{}: '{}' holds no objects", path, list));
    all.push_back(of_seeks ? from_seeks_document(entry) : from_compare_document(entry));
    read_condition(entry, all.back());
  }
  return all;
}

bool looks_like_json(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char first = 0;
  file >> first;  // skips white space
  return file && first == '{';
}

}  // namespace

std::span<const Metric> all_metrics() { return kMetrics; }

const Metric* find_metric(std::string_view name) {
  const auto found = std::find_if(kMetrics.begin(), kMetrics.end(), [&](const Metric& m) { return m.name == name; });
  return found == kMetrics.end() ? nullptr : &*found;
}

std::string metric_text(const Metric& metric, double value) {
  constexpr double kLargest = 9.2e18;  // what a 64-bit integer holds; a document may say anything
  value = std::clamp(value, -kLargest, kLargest);
  switch (metric.unit) {
    case kNanoseconds:
      return format_duration(Nanoseconds(static_cast<std::int64_t>(value)));
    case kBytes:
      return (value < 0 ? "-" : "") + format_size(static_cast<std::uint64_t>(std::abs(value)));
    case kCount:
    case kSectors:
      return format_count(static_cast<std::uint64_t>(std::llround(std::max(value, 0.0))));
    case kRatio:
      return fmt::format("{:.3f}", value);
  }
  return {};
}

std::optional<double> RunFigures::value(std::string_view metric) const {
  const auto found = values.find(metric);
  if (found == values.end()) return std::nullopt;
  return found->second;
}

RunFigures figures_of(CallStatistics& calls, SeekReport& seeks, bool has_calls, bool has_requests) {
  RunFigures figures;
  figures.trace = seeks.trace;
  figures.condition = seeks.condition;
  const CallFigures total = calls.total();
  if (has_calls) {
    const auto put = [&](const char* name, auto value) { figures.values[name] = static_cast<double>(value); };
    put("wall_time", calls.wall_time());
    put("system_cpu", total.total_time - total.blocked_time);
    put("calls", total.count), put("errors", total.errors), put("skipped", total.skipped);
    put("mismatches", total.mismatches);
    put_latencies(figures, calls);
  }
  if (has_requests) put_seeks(figures, seeks);
  if (has_requests && !has_calls)
    figures.values["wall_time"] = static_cast<double>((seeks.total.last - seeks.total.first).value);
  if (const auto written = calls.of_operations({Write::kWireNumber, Transfer::kWireNumber}).bytes;
      has_requests && written > 0)
    figures.values["write_amplification"] = figures.values["device_write_bytes"] / static_cast<double>(written);
  return figures;
}

Result<std::vector<RunFigures>> read_figures(const std::string& path, const SelectionOptions& selection,
                                             std::uint64_t threshold, const RepeatedCalls* repeated) {
  return path != "-" && looks_like_json(path) ? figures_of_document(path)
                                              : figures_of_trace(path, selection, threshold, repeated);
}

}  // namespace iotape
