#include <nlohmann/json.hpp>

#include "analysis/seek_text.h"
#include "format/enum_names.h"

namespace iotape {
namespace {

using Json = nlohmann::ordered_json;

Json statistics_json(SeekStatistics& s) {
  Json json{{"requests", s.requests},
            {"bytes", s.bytes},
            {"distances", s.distances},
            {"sequential", s.sequential},
            {"near", s.near},
            {"seeks", s.seeks},
            {"backward", s.backward},
            {"sequential_share", s.share(s.sequential)},
            {"near_share", s.share(s.near)},
            {"seek_share", s.share(s.seeks)},
            {"backward_share", s.share(s.backward)},
            {"mean_distance", s.mean_distance()},
            {"median_distance", s.magnitudes.percentile(0.5)},
            {"p90_distance", s.magnitudes.percentile(0.9)},
            {"p99_distance", s.magnitudes.percentile(0.99)},
            {"percentiles_exact", s.magnitudes.exact()},
            {"total_distance", s.total_distance},
            {"first_ns", s.first.value},
            {"last_ns", s.last.value},
            {"seeks_per_second", s.seeks_per_second()}};
  Json bins = Json::array();
  const auto used = s.histogram.used();
  for (int bin = used.lowest; bin <= used.highest; ++bin)
    bins.push_back(
        {{"bin", bin}, {"least_sectors", SignedLog2Histogram::lower_edge(bin)}, {"count", s.histogram.count(bin)}});
  json["histogram"] = std::move(bins);
  return json;
}

Json estimate_json(const DiskTime& time, const DiskProfile& profile) {
  return {{"disk", profile.name},         {"model", kDiskModelVersion},   {"requests", time.requests},
          {"cached", time.cached},        {"overhead_ns", time.overhead}, {"seek_ns", time.seek},
          {"rotation_ns", time.rotation}, {"transfer_ns", time.transfer}, {"total_ns", time.total()},
          {"mean_ns", time.mean()}};
}

Json device_json(DeviceSeeks& device, const DiskModel* disk) {
  Json json{{"device", device.name}, {"number", device_number_text(device.device)}, {"holds", device.holds}};
  Json operations{{"all", statistics_json(device.all)}};
  for (std::size_t i = 0; i < kAccessClassCount; ++i)
    operations[std::string(access_class_name(static_cast<AccessClass>(i)))] = statistics_json(device.by_class[i]);
  json["operations"] = std::move(operations);
  if (device.estimate) {
    const DiskProfile& profile = disk->profile();
    json["estimate"] = {{"all", estimate_json(device.estimate->all(), profile)},
                        {"read", estimate_json(device.estimate->of(AccessClass::kRead), profile)},
                        {"write", estimate_json(device.estimate->of(AccessClass::kWrite), profile)},
                        {"beyond_the_end", device.estimate->beyond()}};
  }
  return json;
}

Json report_json(SeekReport& report) {
  const TraceCondition& condition = report.condition;
  Json json{{"trace", report.trace},
            {"complete", condition.complete()},
            {"interrupted", condition.interrupted},
            {"lost", condition.lost},
            {"damaged", condition.damaged},
            {"order", condition.order},
            {"flushes", report.counts.flushes},
            {"requeues", report.counts.requeues},
            {"other_commands", report.counts.other},
            {"without_time", report.counts.without_time},
            {"stranger_requests", report.stranger_requests},
            {"stranger_bytes", report.stranger_bytes},
            {"substituted_times", report.counts.substituted},
            {"reorder_violations", report.counts.violations}};
  json["total"] = statistics_json(report.total);
  json["devices"] = Json::array();
  for (DeviceSeeks& device : report.devices) json["devices"].push_back(device_json(device, report.options.disk.get()));
  json["groups"] = Json::array();
  for (SeekGroup& group : report.groups) {
    Json entry = statistics_json(group.statistics);
    entry["label"] = group.label;
    json["groups"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace

std::string seek_json(std::vector<SeekReport>& reports) {
  Json json{{"schema", "iotape.seeks/1"}};
  const SeekOptions options = reports.empty() ? SeekOptions() : reports.front().options;
  json["event"] = stream_order_name(options.order);
  json["threshold_sectors"] = options.threshold;
  json["by"] = group_by_name(options.by);
  if (options.disk) {
    const DiskProfile& profile = options.disk->profile();
    json["disk"] = {{"profile", profile.name}, {"model", kDiskModelVersion}, {"sources", profile.sources}};
  }
  json["traces"] = Json::array();
  for (SeekReport& report : reports) json["traces"].push_back(report_json(report));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace iotape
