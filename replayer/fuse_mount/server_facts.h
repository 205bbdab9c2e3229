// Who serves a mount, asked of the mount itself: an image's path may have become another file's since.
#pragma once

#include <sys/ioctl.h>

#include <cstdint>

namespace iotape::fuse_mount {

struct ServerFacts {
  std::uint32_t process = 0;
  std::int32_t image = -1;  // the server's descriptor of its image
};
static_assert(sizeof(ServerFacts) == 8);

inline constexpr unsigned kGetServerFacts = _IOR('j', 0x51, ServerFacts);

}  // namespace iotape::fuse_mount
