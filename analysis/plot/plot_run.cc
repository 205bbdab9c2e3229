#include "analysis/plot/plot_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "analysis/trace_walk.h"
#include "format/base/units.h"

namespace iotape {
namespace {

struct TraceExtents {
  std::map<std::uint64_t, Extent> panels;
  SeekReport seeks;
};

constexpr std::size_t kMostExtents = 4096;

Result<TraceExtents> measure(PlotKind kind, const std::string& trace, const SelectionOptions& selection,
                             std::uint64_t threshold) {
  TraceExtents found;
  SeekAnalysis seeks({StreamOrder::kIssue, threshold, GroupBy::kOperation});
  const WalkNeeds needs{kind == PlotKind::kLatency, true};
  IOTAPE_ASSIGN(const WalkEnd end, walk_trace(trace, selection, needs, [&](const Event& event, Selected selected) {
                  seeks.add(event.body, selected == Selected::kYes);
                  if (selected != Selected::kYes) return;
                  const auto placed = mark_of(kind, event.body);
                  if (!placed || (found.panels.size() >= kMostExtents && !found.panels.contains(placed->panel))) return;
                  found.panels[placed->panel].include(placed->mark);
                }));
  seeks.condition().finish(end.header, end.report);
  found.seeks = seeks.finish(trace);
  return found;
}

const DeviceSeeks* device_of(const SeekReport& report, std::uint64_t panel) {
  for (const DeviceSeeks& device : report.devices)
    if (device.device.value == panel) return &device;
  return nullptr;
}

// The panels with the most marks, in the order of their numbers.
std::vector<std::uint64_t> busiest(const std::map<std::uint64_t, Extent>& extents, std::size_t room) {
  std::vector<std::uint64_t> keys;
  keys.reserve(extents.size());
  for (const auto& [key, extent] : extents) keys.push_back(key);
  std::stable_sort(keys.begin(), keys.end(),
                   [&](std::uint64_t a, std::uint64_t b) { return extents.at(a).marks > extents.at(b).marks; });
  keys.resize(std::min({keys.size(), room, kMostPanelsPerTrace}));
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::string caption_of(PlotKind kind, const DeviceSeeks* device, const Extent& extent) {
  if (kind == PlotKind::kLatency || device == nullptr) return format_count(extent.marks) + " drawn";
  return fmt::format("{} requests, {:.1f} % sequential, {} seeks", format_count(device->all.requests),
                     100 * device->all.share(device->all.sequential), format_count(device->all.seeks));
}

}  // namespace

Result<ScatterPlot> collect_scatter(PlotKind kind, const std::vector<std::string>& traces,
                                    const SelectionOptions& selection, std::uint64_t threshold, int columns, int rows) {
  ScatterPlot plot;
  plot.kind = kind;
  for (const std::string& trace : traces) {
    if (trace == "-") return failure(ErrorCode::kUsage, "plot reads a trace twice, so it needs a file and not a pipe");
    IOTAPE_ASSIGN(const TraceExtents extents, measure(kind, trace, selection, threshold));
    const auto keys = busiest(extents.panels, kMostPanels - plot.panels.size());
    const std::string name = std::filesystem::path(trace).filename().string();
    if (keys.size() < extents.panels.size())
      plot.remarks.push_back(fmt::format("{}: {} more devices are not drawn; --device chooses", name,
                                         extents.panels.size() - keys.size()));
    if (!extents.seeks.condition.complete())
      plot.remarks.push_back(fmt::format("{}: {}", name, extents.seeks.condition.sentence()));
    std::map<std::uint64_t, std::size_t> index;
    for (const std::uint64_t key : keys) {
      const Extent& extent = extents.panels.at(key);
      const DeviceSeeks* device = device_of(extents.seeks, key);
      index[key] = plot.panels.size();
      plot.panels.push_back({name,
                             key == kCallPanel   ? "system calls"
                             : device == nullptr ? ""
                                                 : device->name,
                             caption_of(kind, device, extent), extent,
                             Grid(columns, rows, categories_of(kind).size(), extent),
                             extents.seeks.condition.loss_events});
    }
    const WalkNeeds needs{kind == PlotKind::kLatency, true};
    IOTAPE_TRY(walk_trace(trace, selection, needs, [&](const Event& event, Selected selected) {
      const auto placed = selected == Selected::kYes ? mark_of(kind, event.body) : std::nullopt;
      if (!placed) return;
      if (const auto at = index.find(placed->panel); at != index.end()) plot.panels[at->second].grid.add(placed->mark);
    }));
  }
  return plot;
}

}  // namespace iotape
