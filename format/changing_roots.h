// ChangingRoots: per mount, the deepest directory that holds every changing call.
//
// The recorder prints it at the end of a recording and a replay takes it as the default for --map, so both must compute
// it alike. Pure: paths in, paths out, no file is touched. Paths are absolute and already resolved (no "..", no link).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "format/event.h"

namespace iotape {

class ChangingRoots {
 public:
  struct Root {
    DeviceId device;          // s_dev of the mount
    std::string path;         // the deepest directory that holds every changing call of this mount
    std::uint64_t calls = 0;  // how many changing calls that is
    bool operator==(const Root&) const = default;
  };

  // One changing call (or `calls` of them) whose effect lies in `directory`: the directory an entry was made, removed
  // or renamed in, the parent of a file that was written, or a directory whose own attributes changed. A rename counts
  // for both of its directories. Relative paths are ignored: where they lie is not known.
  void add(DeviceId device, std::string_view directory, std::uint64_t calls = 1);

  // Most changing calls first.
  [[nodiscard]] std::vector<Root> roots() const;

 private:
  std::map<DeviceId, Root> by_device_;
};

// The paths whose directory a successful call of this operation changes (none for calls by descriptor): what `record`
// and `info` count.
void for_each_changed_path(const Operation& operation, const std::function<void(const PathArgument&)>& visit);

// True for filesystems that hold no files of a disk (proc, sysfs, cgroup2, ...): changing calls there make no root.
[[nodiscard]] bool is_pseudo_filesystem(std::string_view filesystem);

}  // namespace iotape
