// Whether a target answered a call as the recorded filesystem did.
#pragma once

#include "format/event.h"
#include "format/op_outcome.h"

namespace iotape {

enum class Agreement : std::uint8_t {
  kSame,
  kDifferent,
  // The recorded call succeeded and the target has no such operation (EOPNOTSUPP, ENOSYS, ENOTTY): a property of the
  // target rather than of the replay. Counted apart; only --strict fails for it.
  kUnsupported,
};

// Success or errno must agree; return values only where they mean the same everywhere: bytes moved, file offsets,
// lengths of link targets and attributes, the previous umask. Not descriptor numbers, not lengths of directory
// listings.
[[nodiscard]] Agreement compare_outcomes(const Syscall& recorded, const OpOutcome& got);

}  // namespace iotape
