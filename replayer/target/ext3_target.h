// ext3: the built-in filesystem, on a disk in memory or on an image. Without disk=, calls are carried out one at a time
// on the engine's own thread, and the block requests they cause are kept with their cause; with it, on the simulated
// machine (machine_target.h).
#pragma once

#include <memory>

#include "replayer/target/make_target.h"

namespace iotape {

// An image that does not exist is made (size=...); one that does must hold an ext2 or ext3, empty unless
// TreePolicy::kExisting. kUsage, kIo, kCorrupt, kUnsupported.
Result<std::unique_ptr<Target>> make_ext3_target(const TargetSpec& spec, const TargetOptions& options);

}  // namespace iotape
