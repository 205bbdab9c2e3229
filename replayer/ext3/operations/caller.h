// On whose behalf an operation is done. Permission is checked above (the path layer, or the kernel in front of FUSE);
// here the caller decides owners, reserved blocks and which mode bits survive.
#pragma once

#include <cstdint>

namespace iotape::ext3 {

struct Caller {
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  bool privileged = true;  // may use the blocks kept for the superuser, and keeps set-id bits when writing
};

}  // namespace iotape::ext3
