// How much a call may grow the target by: what the space guard is asked for before the call is issued.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

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

TEST(TargetPolicy, WhatMakesANameGrowsToo) {
  Open reading;
  reading.flags = O_RDONLY | O_DIRECTORY;
  EXPECT_EQ(growth_of(reading), 0U);
  Open creating;
  creating.flags = O_CREAT | O_WRONLY;
  Open unnamed;
  unnamed.flags = O_TMPFILE | O_WRONLY;
  SetXattrPath attribute;
  attribute.size = 60'000;
  EXPECT_EQ(growth_of(attribute), 60'000U);
  SetXattrDescriptor small;
  small.size = 1;
  for (const Operation& operation : std::vector<Operation>{creating, unnamed, MakeDirectory{}, MakeNode{},
                                                           SymbolicLink{}, HardLink{}, Rename{}, small})
    EXPECT_GT(growth_of(operation), 0U) << operation.index();
  EXPECT_EQ(growth_of(Unlink{}), 0U);
}

}  // namespace
}  // namespace iotape
