// Which differences between the built-in ext3 and the kernel's driver are meant.
#pragma once

#include <string>

#include "tests/ext3/support/side_by_side/step.h"
#include "tests/ext3/support/side_by_side/tree_picture.h"

namespace iotape::ext3::test {

// What has to be done so that both sides are alike again.
enum class Mend : std::uint8_t { kNothing, kCloseKernels, kRewindBoth };

struct Rule {
  std::string name;  // empty: the difference is a fault
  Mend mend = Mend::kNothing;
};

Rule rule_for(const Step& step, const StepOutcome& ours, const StepOutcome& kernels);
// removed_in_use: see KernelSide::holds_removed.
Rule rule_for(const TreeDifference& difference, bool removed_in_use);

}  // namespace iotape::ext3::test
