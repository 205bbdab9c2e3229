// Confines the calling process to one directory or one freshly mounted filesystem, for good.
//
// A mount namespace of its own, the target mounted alone, pivot_root into it, the old root detached, no /proc, no
// descriptor left open, no capability that reaches beyond files (no mount, no handles, no raw devices). Without root
// the same happens inside a user namespace that knows only the own user, and every capability is dropped. What each
// call that takes a path can then reach is listed in SANDBOX.md and tried in target_hostile_test.cc.
#pragma once

#include <string>

#include "format/base/result.h"
#include "replayer/target/make_target.h"

namespace iotape {

struct SandboxPlan {
  std::string directory;  // absolute: what to confine to, or where the device is mounted
  // When set, this is mounted on directory first, in the private namespace only.
  std::string device;
  std::string filesystem;
  unsigned long mount_flags = 0;
  std::string mount_data;
  KeepPolicy keep;
};

// REQUIRES: called in a process of its own with one thread. On success the root is the target, the working directory
// its top, and no descriptor is open. After an error the process is good for nothing but exiting.
Result<void> enter_sandbox(const SandboxPlan& plan);

}  // namespace iotape
