// The words by which a mount is told what it is told: of `iotape mount -o` and of targets, the same everywhere.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "format/base/result.h"
#include "replayer/ext3/mount_options.h"

namespace iotape::ext3 {

// One word, "key" or "key=value". False: it is none of these. kUsage: its value is none that the key takes.
Result<bool> read_mount_word(std::string_view word, MountOptions& options);

struct MountWord {
  std::string_view key;
  std::string_view values;  // empty: it takes none
  std::string_view meaning;
};
// All of them, for help and for the nearest one of a typo.
std::span<const MountWord> mount_words();

}  // namespace iotape::ext3
