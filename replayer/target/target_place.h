// Where a sandboxed target lives: a directory, a loop image, a device. Holds what must be held while it is in use.
#pragma once

#include <memory>

#include "format/base/result.h"
#include "replayer/target/sandbox.h"
#include "replayer/target/space_guard.h"
#include "replayer/target/target.h"

namespace iotape {

class TargetPlace {
 public:
  TargetPlace() = default;
  TargetPlace(const TargetPlace&) = delete;
  TargetPlace& operator=(const TargetPlace&) = delete;
  virtual ~TargetPlace() = default;

  [[nodiscard]] virtual TargetFacts facts() const = 0;
  [[nodiscard]] virtual SandboxPlan sandbox() const = 0;
  // What a replay could fill up.
  [[nodiscard]] virtual SpaceGuard& space() = 0;
  // Writes back and forgets what is cached. No process of ours is inside.
  virtual Result<void> make_cold() = 0;
  // A process that was inside has just ended: waits until the kernel has let go of the filesystem too.
  virtual Result<void> settle() { return {}; }
};

}  // namespace iotape
