#include "analysis/seek_analysis.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/text_table.h"
#include "format/base/units.h"
#include "format/enum_names.h"

namespace iotape {

std::string_view stream_order_name(StreamOrder order) {
  static constexpr std::array<std::string_view, 3> kNames{"issue", "queue", "complete"};
  return kNames[static_cast<std::size_t>(order)];
}

std::string_view group_by_name(GroupBy by) {
  static constexpr std::array<std::string_view, 5> kNames{"op", "process", "file", "cause", "stack"};
  return kNames[static_cast<std::size_t>(by)];
}

std::string_view access_class_name(AccessClass kind) {
  static constexpr std::array<std::string_view, kAccessClassCount> kNames{"read", "write", "discard"};
  return kNames[static_cast<std::size_t>(kind)];
}

SeekAnalysis::SeekAnalysis(const SeekOptions& options)
    : options_(options),
      groups_(options.by),
      order_(
          options.order, [this](const HeadAccess& access) { take(access); },
          options.by == GroupBy::kOperation
              ? AccessOrder::GroupOf()
              : [this](const BlockRequest&, const RequestPart* part) { return groups_.group_of(part); }) {}

SeekAnalysis::DeviceState* SeekAnalysis::state_of(DeviceId device) {
  if (latest_state_ != nullptr && latest_device_ == device) return latest_state_;
  auto found = devices_.find(device);
  if (found == devices_.end()) {
    if (devices_.size() >= kMaximumDevices) return nullptr;
    found = devices_.try_emplace(device).first;
    if (options_.disk) found->second.estimate.emplace(*options_.disk);
  }
  latest_device_ = device;
  return latest_state_ = &found->second;
}

void SeekAnalysis::take(const HeadAccess& access) {
  DeviceState* state = state_of(access.device);
  if (state == nullptr) {
    ++devices_left_out_;
    return;
  }
  const std::int64_t sectors = (access.bytes - 1) / kSectorBytes + 1;
  SeekDistance& head = access.kind == AccessClass::kDiscard ? state->discards : state->head;
  const auto distance = head.advance(access.start.value, sectors);
  state->by_class[static_cast<std::size_t>(access.kind)].add(access, distance, options_.threshold);
  if (state->estimate) state->estimate->add(access);
  ++kept_values_;
  const bool grouped = options_.by != GroupBy::kOperation && access.kind != AccessClass::kDiscard;
  if (grouped && (backing_.empty() || images_on(access.device).empty())) {
    if (group_statistics_.size() <= access.group) group_statistics_.resize(access.group + 1);
    group_statistics_[access.group].add(access, distance, options_.threshold);
    ++kept_values_;
  }
  if (kept_values_ > kExactValueBudget) keep_within_budget();
  if (observer_) observer_(access);
}

// Distributions that appear later start out exact, so the budget is counted anew and enforced again.
void SeekAnalysis::keep_within_budget() {
  for (auto& [device, state] : devices_)
    for (SeekStatistics& statistics : state.by_class) statistics.magnitudes.collapse();
  for (SeekStatistics& statistics : group_statistics_) statistics.magnitudes.collapse();
  kept_values_ = 0;
}

void SeekAnalysis::add(const EventBody& body, bool selected) {
  if (const auto* request = std::get_if<BlockRequest>(&body)) {
    if (!selected) return;
    order_.add(*request);
    strangers_.add(*request);
    return;
  }
  if (const auto* loss = std::get_if<Loss>(&body)) condition_.add(*loss);
  if (const auto* marker = std::get_if<Marker>(&body)) condition_.add(*marker);
  if (const auto* info = std::get_if<DeviceInfo>(&body); info != nullptr && names_.size() < kMaximumDevices) {
    names_[info->device] = info->name;
    if (info->backing) backing_[info->device] = *info->backing;
  }
  strangers_.learn(body);
  if (options_.by != GroupBy::kOperation && options_.by != GroupBy::kStack) groups_.learn(body);
}

// A disk that is its own image's disk, by a trace's claim, holds nothing.
std::string SeekAnalysis::images_on(DeviceId disk) const {
  std::string images;
  for (const auto& [loop, backing] : backing_)
    if (backing == disk && loop != disk && devices_.contains(loop))
      images += (images.empty() ? "" : ", ") + names_.at(loop);
  return images;
}

SeekReport SeekAnalysis::finish(std::string name) {
  order_.finish();
  SeekReport report;
  report.trace = std::move(name);
  report.options = options_;
  report.counts = order_.counts();
  report.devices_left_out = devices_left_out_;
  report.condition = condition_;
  if (!condition_.replay) {
    report.stranger_requests = strangers_.requests();
    report.stranger_bytes = strangers_.bytes();
  }
  for (auto& [device, state] : devices_) {
    DeviceSeeks seeks;
    seeks.device = device;
    const auto known = names_.find(device);
    seeks.name = known == names_.end() ? device_number_text(device) : known->second;
    seeks.holds = images_on(device);
    seeks.by_class = std::move(state.by_class);
    seeks.all.merge(seeks.by_class[static_cast<std::size_t>(AccessClass::kRead)]);
    seeks.all.merge(seeks.by_class[static_cast<std::size_t>(AccessClass::kWrite)]);
    if (state.estimate) state.estimate->finish();
    seeks.estimate = std::move(state.estimate);
    report.devices.push_back(std::move(seeks));
  }
  std::sort(report.devices.begin(), report.devices.end(),
            [](const DeviceSeeks& a, const DeviceSeeks& b) { return a.device < b.device; });
  for (const DeviceSeeks& seeks : report.devices)
    if (seeks.holds.empty()) report.total.merge(seeks.all);
  const auto labels = groups_.labels();
  for (std::size_t i = 0; i < group_statistics_.size(); ++i)
    if (group_statistics_[i].requests > 0) report.groups.push_back({labels[i], std::move(group_statistics_[i])});
  std::stable_sort(report.groups.begin(), report.groups.end(), [](const SeekGroup& a, const SeekGroup& b) {
    return a.statistics.total_distance > b.statistics.total_distance;
  });
  return report;
}

std::vector<std::string> SeekReport::remarks() const {
  std::vector<std::string> all;
  const auto remark = [&all](std::uint64_t count, std::string_view text) {
    if (count > 0) all.push_back(format_count(count) + " " + std::string(text));
  };
  for (const std::string& word : condition.unmatched)
    all.push_back(fmt::format("nothing of the trace matches {}", word));
  remark(counts.substituted, fmt::format("accesses have no {} time and are placed by the nearest time they have",
                                         stream_order_name(options.order)));
  remark(counts.without_time, "requests were never seen to be issued and are left out");
  remark(counts.violations, "accesses came later in the file than the reordering bound allows");
  remark(counts.flushes, "flushes without sectors are left out");
  remark(counts.other, "driver and zone commands are left out");
  for (const DeviceSeeks& device : devices)
    if (!device.holds.empty())
      all.push_back(fmt::format("{} holds the image of {}: its requests repeat those, so no sum counts them",
                                printable(device.name), printable(device.holds)));
  remark(stranger_requests,
         fmt::format("requests ({}) are of processes that were not recorded; they move the same head, so the figures "
                     "hold them (--process leaves them out)",
                     format_size(stranger_bytes)));
  remark(devices_left_out,
         fmt::format("accesses of devices beyond the first {} are left out", SeekAnalysis::kMaximumDevices));
  std::uint64_t beyond = 0;
  for (const DeviceSeeks& device : devices)
    if (device.estimate) beyond += device.estimate->beyond();
  if (beyond > 0)
    remark(beyond, fmt::format("accesses lie beyond the end of {} ({}); the estimate places them modulo its size",
                               printable(options.disk->profile().name),
                               format_size(static_cast<std::uint64_t>(options.disk->profile().capacity()) * 512)));
  if (std::any_of(devices.begin(), devices.end(), [](const auto& d) { return !d.all.magnitudes.exact(); }))
    all.emplace_back("percentiles are within 0.2 %: too many distances to keep each one");
  return all;
}

}  // namespace iotape
