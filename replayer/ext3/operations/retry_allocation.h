// Space freed in a transaction that has not committed cannot be given out. An operation that found none commits and
// tries again, three times as ext3 does.
#pragma once

#include "replayer/ext3/volume.h"

namespace iotape::ext3 {

inline constexpr int kAllocationRetries = 3;

// operation: () -> Answer<T>; leaves no handle open and nothing half done when it answers ENOSPC. REQUIRES: no handle
// open.
template <typename Operation>
auto retry_allocation(Volume& volume, const Operation& operation) -> decltype(operation()) {
  for (int attempt = 0;; ++attempt) {
    auto answer = operation();
    if (answer || answer.error().value != ENOSPC || attempt == kAllocationRetries) return answer;
    const Answer<bool> committed = volume.journal->commit_running();
    if (!committed || !*committed) return answer;
  }
}

}  // namespace iotape::ext3
