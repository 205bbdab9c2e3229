// The sandboxed process that carries out replayed calls: one thread of its own per replayed thread.
//
// A replayed thread is created by its parent's thread and then takes its descriptors (unshare CLONE_FILES) and its
// filesystem context (CLONE_FS) apart unless the recorded clone shared them; the parent waits meanwhile, so the copies
// are what fork would have copied. POSIX locks belong to a descriptor table, so they conflict between replayed
// processes as they must. The first thread, the warden, owns no descriptor, starts threads that have no parent, and
// interrupts calls that wait too long.
#pragma once

#include <cstdint>

#include "replayer/target/channel.h"
#include "replayer/target/sandbox.h"
#include "replayer/target/target.h"

namespace iotape {

struct BlockLimits {
  Nanoseconds each;   // a call that waits longer is interrupted
  Nanoseconds total;  // once those have waited this long together, a further one gets kShortestWait: a trace of many
                      // such calls must end too
};
inline constexpr Nanoseconds kShortestWait{50'000'000};

struct WorkerPlan {
  SandboxPlan sandbox;
  Fill fill = Fill::kRandom;
  std::uint64_t seed = 0;
  BlockLimits block_limits;
};

// The whole life of the worker process; returns its exit status. The channel's state word tells how far it came.
int run_worker(Channel& channel, const WorkerPlan& plan);

}  // namespace iotape
