// Makes a planned tree for real; shared by the workloads that need one.
#pragma once

#include <string>

#include "format/base/result.h"
#include "traces/workload/tree_plan.h"
#include "traces/workload/worksite.h"

namespace iotape::workload {

// Below "below" (made first; "" is the worksite itself), in the plan's order, block bytes to a write.
Result<void> make_tree(Worksite& site, const std::string& below, const TreeShape& shape, std::uint64_t block);

}  // namespace iotape::workload
