#include "replayer/engine/outcome_comparison.h"

#include <unistd.h>

#include <cerrno>

namespace iotape {
namespace {

constexpr std::uint32_t kGetxattrNumbers[] = {191, 192, 193, 464};

bool is_getxattr(std::uint32_t number) {
  for (const std::uint32_t known : kGetxattrNumbers)
    if (known == number) return true;
  return false;
}

struct ValueMatters {
  std::uint32_t number;
  bool operator()(const Read&) const { return true; }
  bool operator()(const Write&) const { return true; }
  bool operator()(const Transfer&) const { return true; }
  bool operator()(const ReadLink&) const { return true; }
  bool operator()(const SetFileCreationMask&) const { return true; }
  bool operator()(const QueryXattrPath&) const { return is_getxattr(number); }
  bool operator()(const QueryXattrDescriptor&) const { return is_getxattr(number); }
  // A directory's offsets and the places of holes are the filesystem's own.
  bool operator()(const Seek& op) const {
    return op.descriptor.file.kind != FileKind::kDirectory && op.whence <= SEEK_END;
  }
  template <typename Other>
  bool operator()(const Other&) const {
    return false;
  }
};

bool lacks_operation(int error_number) {
  return error_number == EOPNOTSUPP || error_number == ENOSYS || error_number == ENOTTY;
}

}  // namespace

Agreement compare_outcomes(const Syscall& recorded, const OpOutcome& got) {
  const OpOutcome& expected = recorded.outcome;
  if (expected.error_number != got.error_number)
    return expected.ok() && lacks_operation(got.error_number) ? Agreement::kUnsupported : Agreement::kDifferent;
  if (!expected.ok()) return Agreement::kSame;
  const bool matters = std::visit(ValueMatters{recorded.number}, recorded.operation);
  return !matters || expected.value == got.value ? Agreement::kSame : Agreement::kDifferent;
}

}  // namespace iotape
