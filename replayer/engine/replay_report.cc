#include "replayer/engine/replay_report.h"

#include <numeric>

namespace iotape {

std::uint64_t ReplayReport::skipped_total() const {
  return std::accumulate(skipped.begin(), skipped.end(), std::uint64_t{0});
}

bool ReplayReport::diverged(bool strict) const {
  if (mismatches > 0 || interrupted_calls > 0) return true;
  if (!strict) return false;
  return unsupported > 0 || adjusted > 0 || skipped[static_cast<std::size_t>(SkipReason::kLostHandle)] > 0 ||
         skipped[static_cast<std::size_t>(SkipReason::kUnresolvedPath)] > 0 ||
         skipped[static_cast<std::size_t>(SkipReason::kRefused)] > 0;
}

}  // namespace iotape
