#include "format/trace_header.h"

namespace iotape {

bool counts_as_lost(LossCause cause) {
  return cause != LossCause::kOrphanExit && cause != LossCause::kNotCaptured && cause != LossCause::kPartMap;
}

std::uint64_t TraceTotals::lost() const {
  std::uint64_t sum = 0;
  for (std::size_t cause = 0; cause < losses.size(); ++cause)
    if (counts_as_lost(static_cast<LossCause>(cause))) sum += losses[cause];
  return sum;
}

}  // namespace iotape
