// On whose behalf an operation is done. Permission is checked above (the path layer, or the kernel in front of FUSE);
// here the caller decides owners, reserved blocks and which mode bits survive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace iotape::ext3 {

struct Caller {
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  bool privileged = true;  // may use the blocks kept for the superuser, and keeps set-id bits when writing
  std::span<const std::uint32_t> groups{};  // supplementary; whoever makes the caller keeps them

  [[nodiscard]] bool in_group(std::uint32_t wanted) const {
    return group == wanted || std::ranges::find(groups, wanted) != groups.end();
  }
};

}  // namespace iotape::ext3
