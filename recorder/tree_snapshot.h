// --snapshot tree=DIR: everything below a directory as FileState events, each directory's entries in the order the
// filesystem gives them. Walks at idle I/O class and stays on the filesystem DIR is on.
#pragma once

#include <cstdint>
#include <string>

#include "format/base/result.h"
#include "format/event_sink.h"

namespace iotape {

struct TreeWalkReport {
  std::uint64_t entries = 0;
  bool complete = true;  // false: stopped at the bound
};
inline constexpr std::uint64_t kMaximumTreeEntries = 10'000'000;

Result<TreeWalkReport> snapshot_tree(const std::string& directory, EventSink& sink,
                                     std::uint64_t bound = kMaximumTreeEntries);

}  // namespace iotape
