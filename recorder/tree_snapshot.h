// --snapshot tree=DIR: everything below a directory as FileState events, each directory's entries in the order the
// filesystem gives them. Walks at idle I/O class and stays on the filesystem DIR is on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "format/base/result.h"
#include "format/event_sink.h"

namespace iotape {

struct TreeWalkReport {
  std::uint64_t entries = 0;
  bool complete = true;  // false: stopped at the bound or by the caller
};
inline constexpr std::uint64_t kMaximumTreeEntries = 10'000'000;

// Asked now and then during a walk: true ends it as the bound does.
using StopWalking = std::function<bool()>;

Result<TreeWalkReport> snapshot_tree(const std::string& directory, EventSink& sink, const StopWalking& stop = {},
                                     std::uint64_t bound = kMaximumTreeEntries);

}  // namespace iotape
