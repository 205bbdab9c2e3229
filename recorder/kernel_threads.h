// The names of the kernel threads that submit requests (kworker, jbd2, kswapd): no process event tells of them, and
// once they are gone nobody can. Asked for the first time a thread is met, while it lives.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>

#include "format/event.h"

namespace iotape {

// The comm of a thread when it is a kernel thread; reads /proc.
std::optional<std::string> kernel_thread_name(ThreadId thread);

class KernelThreads {
 public:
  // A ProcessStart (already running, child of kthreadd) the first time the submitter is met and is a kernel thread.
  std::optional<ProcessStart> meet(ThreadKey submitter, Nanoseconds time);

 private:
  std::unordered_set<std::int32_t> met_;
};

}  // namespace iotape
