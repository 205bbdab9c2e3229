// Makes the files a replay expects to find on the built-in ext3.
#pragma once

#include "format/base/result.h"
#include "replayer/ext3/calls/call_issuer.h"
#include "replayer/ext3/volume.h"
#include "replayer/target/target.h"

namespace iotape {

// Missing parents are made (0755). Attributes of directories are set last, deepest first, since filling a directory
// changes them. REQUIRES: inside the volume's monitor. An Error names the node and what the filesystem answered.
Result<void> build_ext3_tree(ext3::Volume& volume, const InitialTree& tree, ext3::CallData& data,
                             const PrepareProgress& progress);

}  // namespace iotape
