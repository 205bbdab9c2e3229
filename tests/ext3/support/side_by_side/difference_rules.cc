#include "tests/ext3/support/side_by_side/difference_rules.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace iotape::ext3::test {
namespace {

// Names that both have come in the same order.
bool same_order(std::vector<std::string> left, std::vector<std::string> right) {
  const auto lacks = [](const std::vector<std::string>& names) {
    return [&names](const std::string& name) { return std::find(names.begin(), names.end(), name) == names.end(); };
  };
  const std::vector<std::string> all_left = left;
  std::erase_if(left, lacks(right));
  std::erase_if(right, lacks(all_left));
  return left == right;
}

}  // namespace

Rule rule_for(const Step& step, const StepOutcome& ours, const StepOutcome& kernels) {
  // A fifo, a socket or a device has nobody behind it in the built-in ext3: opening one is ENXIO.
  if (std::holds_alternative<Open>(step.operation) && ours.error == ENXIO)
    return {"special files are not opened", kernels.ok() ? Mend::kCloseKernels : Mend::kNothing};
  // A kernel's protection of directories that everybody may write to: with O_CREAT nobody opens others' files there.
  if (const auto* const open = std::get_if<Open>(&step.operation);
      open != nullptr && (open->flags & O_CREAT) != 0 && kernels.error == EACCES && ours.error == ELOOP)
    return {"others' symbolic links in sticky directories"};
  // What is added while a directory is read may be told or not, and then not all fits into the buffer.
  if (std::holds_alternative<ReadDirectory>(step.operation) && same_order(ours.names, kernels.names))
    return {"names added to a directory being read", Mend::kRewindBoth};
  // The rights of somebody without privileges are looked at before the shape of the tree.
  if (std::holds_alternative<Rename>(step.operation) && step.user != 0 && ours.error != 0 && kernels.error != 0)
    return {"which of two errors of a rename is told"};
  return {};
}

Rule rule_for(const TreeDifference& difference, bool removed_in_use) {
  if (removed_in_use && difference.field.starts_with("free "))
    return {"removed directories above something removed in use", Mend::kNothing};
  return {};
}

}  // namespace iotape::ext3::test
