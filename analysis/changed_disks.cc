#include "analysis/changed_disks.h"

#include <algorithm>

#include "analysis/trace_walk.h"
#include "format/block_names.h"
#include "format/trace_summary.h"

namespace iotape {
namespace {

DeviceId disk_under(const TraceSummary& summary, DeviceId filesystem) {
  const auto mount = std::find_if(summary.mounts.begin(), summary.mounts.end(),
                                  [&](const MountInfo& candidate) { return candidate.device == filesystem; });
  return mount == summary.mounts.end() ? DeviceId{} : mount->block_device;
}

ChangedDisks disks_of(const TraceSummary& summary) {
  ChangedDisks disks;
  for (const ChangingRoots::Root& root : summary.roots()) {
    const DeviceId disk = disk_under(summary, root.device);
    const std::string number = device_number_text(disk);
    if (disk == DeviceId{} || std::count(disks.devices.begin(), disks.devices.end(), number) != 0) continue;
    disks.devices.push_back(number);
    const auto device = summary.devices.find(disk);
    const bool named = device != summary.devices.end() && !device->second.name.empty();
    disks.names += (disks.names.empty() ? "" : ", ") + (named ? device->second.name : number);
  }
  return disks;
}

}  // namespace

Result<ChangedDisks> find_changed_disks(const std::string& path, const SelectionOptions& selection) {
  if (path == "-") return ChangedDisks{};
  TraceSummary summary;
  Event event;
  IOTAPE_ASSIGN(const WalkEnd end, walk_trace(path, selection, {true, false}, [&](const EventBody& body, Selected) {
                  event.body = body;
                  summary.add(event);
                }));
  // A replay records the disk of its target and nothing else, while its calls name the places of the source.
  if (!end.header.target.empty()) return ChangedDisks{};
  return disks_of(summary);
}

}  // namespace iotape
