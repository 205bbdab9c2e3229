// Runs a piece of work in a process of its own inside a sandbox, and brings its error home.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "format/base/result.h"
#include "replayer/target/sandbox.h"
#include "replayer/target/target.h"

namespace iotape {

// The work may count what it has done; progress (when set) is called with the count a few times a second. stop (when
// set) ends the work early with kInterrupted.
Result<void> run_confined(const SandboxPlan& plan,
                          const std::function<Result<void>(std::atomic<std::uint64_t>& done)>& work,
                          const PrepareProgress& progress, const std::atomic<bool>* stop);

}  // namespace iotape
