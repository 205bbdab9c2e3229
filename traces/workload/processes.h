// Several processes doing the same work at once.
#pragma once

#include <functional>

#include "format/base/result.h"
#include "traces/workload/worksite.h"

namespace iotape::workload {

// Forks count processes, each running work(index); returns their totals added up, or the first error any of them met.
Result<Totals> run_in_processes(unsigned count, const std::function<Result<Totals>(unsigned)>& work);

}  // namespace iotape::workload
