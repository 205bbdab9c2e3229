// A control group of version 2, as the kernel side tells its members by.
#pragma once

#include <cstdint>
#include <string>

#include "format/base/result.h"

namespace iotape {

struct ControlGroup {
  std::uint64_t id = 0;    // the inode number of its directory
  std::uint8_t level = 0;  // below the root of the hierarchy, which is 0
};

// By the path of its directory, or by its name within the hierarchy as /proc/PID/cgroup shows it ("/system.slice/x").
// kUsage when there is none, also when the directory is of another hierarchy.
Result<ControlGroup> find_control_group(const std::string& path);

}  // namespace iotape
