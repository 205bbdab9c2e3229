// Which contexts a trace has told already: a process has its parent's until it changes something, so that a shell that
// starts ten thousand commands does not tell its directory ten thousand times. Memory is bounded by the live processes,
// and by kMaximumProcesses whatever happens.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "format/event.h"

namespace iotape {

class KnownContexts {
 public:
  static constexpr std::size_t kMaximumProcesses = 1U << 16U;

  void started(const ProcessStart& start);
  void ended(const ProcessExit& exit);
  // Notes what is told of a process. False when it is what its reader knows.
  bool tell(const ProcessContext& context);

 private:
  std::unordered_map<ProcessId, ProcessContext> known_;
};

}  // namespace iotape
