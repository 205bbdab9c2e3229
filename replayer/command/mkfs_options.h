// The command line of iotape mkfs: mke2fs's letters, where it has them.
#pragma once

#include <optional>
#include <string>

#include "format/base/command.h"
#include "replayer/command/image_place.h"
#include "replayer/ext3/make_filesystem.h"

namespace iotape {

struct MkfsOptions {
  ImagePlace place;
  ext3::FilesystemOptions filesystem;
  bool json = false;
  std::string trace;  // empty: none
};

// nullopt when the command ends here with `status`: help was asked for, or the command line is wrong.
std::optional<MkfsOptions> parse_mkfs_options(CommandCall& call, int& status);

}  // namespace iotape
