// The feature large_file: a file of 2 GiB or more is on the volume (drivers of Linux 2.2 could not read one).
#pragma once

#include <cstdint>

#include "replayer/ext3/types.h"

namespace iotape::ext3 {

struct Volume;

// Sets the feature, in a transaction of its own, before a regular file grows to that many bytes; does nothing when they
// are fewer or it is set. It stays when the file shrinks again. EFBIG on a volume of revision 0, which has no features.
// REQUIRES: no handle open. May wait.
Answer<void> allow_file_size(Volume& volume, std::uint64_t bytes);

}  // namespace iotape::ext3
