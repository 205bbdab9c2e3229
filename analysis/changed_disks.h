// Which disks a recorded workload is to be judged by: those under the filesystems it changed. What else it read (the
// archive it unpacked, the programs it ran) lies on other disks, which a replay does not have.
#pragma once

#include <string>
#include <vector>

#include "format/base/result.h"
#include "format/selection.h"

namespace iotape {

struct ChangedDisks {
  std::vector<std::string>
      devices;        // "7:0", as --device takes them; empty when the trace does not tell, or is a replay's
  std::string names;  // for people: "loop0"
};

// Reads a recording once, of a replay only the header; answers nothing for "-", which cannot be read twice.
Result<ChangedDisks> find_changed_disks(const std::string& path, const SelectionOptions& selection);

}  // namespace iotape
