// How much a call may grow the target by: what the space guard is asked for before the call is issued.
#include <gtest/gtest.h>

#include <limits>

#include "replayer/target/policy.h"

namespace iotape {
namespace {

TEST(TargetPolicy, AVectoredWriteGrowsByItsSegmentsWhateverItsLengthSays) {
  Write lying;
  lying.length = 1;
  lying.segments.assign(400, 2 << 20);
  EXPECT_EQ(growth_of(lying), std::uint64_t{400} * (2 << 20));
  Write honest;
  honest.length = 4096;
  EXPECT_EQ(growth_of(honest), 4096U);
}

TEST(TargetPolicy, ANegativeLengthGrowsNothingAndOthersAreNotHiddenByIt) {
  Write negative;
  negative.length = -1;
  negative.segments = {-5, 10};
  EXPECT_EQ(growth_of(negative), 10U);
  Write wrapping;
  wrapping.segments.assign(4, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(growth_of(wrapping), std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace iotape
