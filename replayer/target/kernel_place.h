// A kernel filesystem made fresh on a loop image or a named device, mounted only where the replay can see it.
//
// The mount lives in the mount namespace of the confined process and nowhere else: when that process ends, however it
// ends, the kernel unmounts, and when the last descriptor goes, the loop device lets go of its nameless image. Two at
// once share nothing. Each confined process mounts anew, so a replay after prepare() starts with cold caches.
#pragma once

#include <memory>

#include "replayer/target/make_target.h"
#include "replayer/target/target_place.h"

namespace iotape {

Result<std::unique_ptr<TargetPlace>> make_kernel_place(const TargetSpec& spec, const TargetOptions& options);

struct MountOptions {
  unsigned long flags = 0;
  std::string data;  // what only the filesystem understands
};
// "noatime,data=journal" -> MS_NOATIME and "data=journal".
MountOptions parse_mount_options(std::string_view text);

}  // namespace iotape
