// Where a new filesystem goes: a file that may have to be made or grown, or a block device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format/base/result.h"
#include "replayer/ext3/device/file_device.h"

namespace iotape {

struct ImagePlace {
  std::string path;
  std::optional<std::uint64_t> bytes;     // nullopt: as large as it is
  bool force = false;                     // over what is there
  std::vector<std::string> allow_writes;  // block devices that may be overwritten
};

// Opens the place for writing, making or growing a file where bytes ask for it (what is there is kept). Refuses a
// device that allow_writes does not name or somebody uses, an image that a loop device or another iotape uses, and,
// without force, one that holds data: anything but zeros in its first 128 KiB, where every filesystem has its mark.
Result<ext3::FileDevice> open_for_new_filesystem(const ImagePlace& place);

}  // namespace iotape
