// What the words of `iotape mount` ask for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/base/command.h"
#include "replayer/ext3/mount_options.h"

namespace iotape::fuse_mount {

struct MountRequest {
  std::string image;
  std::string directory;
  bool foreground = false;
  bool unmount = false;  // `image` is then empty
  ext3::MountOptions options;
  std::vector<std::string> kernel_options;
  std::string words;  // of -o, as given
  std::string trace;  // where the block requests are written; empty: nowhere
  bool force = false;
};

// Nothing: the command is done, with this status (help, usage).
std::optional<MountRequest> parse_mount_request(CommandCall& call, int& status);

}  // namespace iotape::fuse_mount
