// Makes the target a specification names.
//
// Nothing is written before make_target has checked everything it can: the place, the free space, the privileges, the
// tools. What is held (loop device, image, mount, worker process) is let go when the Target dies, also when the process
// is killed. Make targets on a thread that outlives them: the worker process ends with the thread that started it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "format/base/result.h"
#include "replayer/target/target.h"
#include "replayer/target/target_spec.h"

namespace iotape {

enum class TreePolicy : std::uint8_t {
  kPrepare,   // the target must be empty; prepare() fills it
  kExisting,  // what is there is used as it is
  kNone,      // the target must be empty and stays so
};

// What a replay may do that the sandbox refuses by default.
struct KeepPolicy {
  bool owner = false;    // chown to the recorded users (default: to the own user)
  bool special = false;  // device nodes (default: refused)
  bool setuid = false;   // setuid and setgid bits, security.* and trusted.* attributes (default: masked or refused)
};

struct TargetOptions {
  Fill fill = Fill::kRandom;
  KeepPolicy keep;
  TreePolicy tree = TreePolicy::kPrepare;
  std::vector<std::string> allow_writes;  // block devices that may be overwritten
  // Looked at while a target waits: once true, waiting calls return kInterrupted. Set it from a signal handler.
  const std::atomic<bool>* stop = nullptr;
};

Result<std::unique_ptr<Target>> make_target(const TargetSpec& spec, const TargetOptions& options);

}  // namespace iotape
