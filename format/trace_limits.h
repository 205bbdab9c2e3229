// Lengths inside an event that a trace may hold. A writer refuses more and a reader believes no more, so that neither
// allocates by what it is told.
#pragma once

#include <cstddef>

namespace iotape {

inline constexpr std::size_t kMaximumRequestParts = 65'536;  // the largest merged requests have fewer bios
inline constexpr std::size_t kMaximumCallSegments = 1024;    // UIO_MAXIOV; the kernel refuses more

}  // namespace iotape
