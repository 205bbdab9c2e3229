#include "replayer/target/space_guard.h"

#include <sys/statfs.h>

#include <algorithm>

namespace iotape {

std::uint64_t SpaceGuard::available() const {
  if (!place_) return UINT64_MAX;
  struct statfs state {};
  if (::fstatfs(place_.get(), &state) != 0) return 0;
  const std::uint64_t free = state.f_bavail * static_cast<std::uint64_t>(state.f_bsize);
  return free > reserve_ ? free - reserve_ : 0;
}

bool SpaceGuard::allows(std::uint64_t growth) {
  if (growth == 0) return true;
  // One byte written can take a whole block.
  constexpr std::uint64_t kBlock = 4096;
  const std::uint64_t cost = growth > UINT64_MAX - kBlock ? growth : growth + kBlock;
  if (cost > granted_) {
    const std::uint64_t free = available();
    if (cost > free) return false;
    // Others use the filesystem too: half of what is free may be used before it is asked again.
    granted_ = std::max(cost, free / 2);
  }
  granted_ -= cost;
  return true;
}

}  // namespace iotape
