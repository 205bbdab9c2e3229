#include "analysis/changed_disks.h"

#include <algorithm>

#include "analysis/trace_walk.h"
#include "format/enum_names.h"
#include "format/trace_files.h"
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
  // A replay records the disk of its target and nothing else, while its calls name the places of the source. Its header
  // says so, and the rest need not be read.
  IOTAPE_ASSIGN(const auto reader, open_trace(path));
  if (!reader->header().target.empty()) return ChangedDisks{};
  TraceSummary summary;
  constexpr std::uint32_t kOnlyRecorder = 0;  // the disks are the same whoever recorded
  IOTAPE_TRY(walk_trace(path, selection, {true, false},
                        [&](const Event& event, Selected) { summary.add(event.body, kOnlyRecorder); }));
  return disks_of(summary);
}

}  // namespace iotape
