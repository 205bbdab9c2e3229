// The directions of the published results on small versions of them: simulated time, so the same on every machine.
#include <gmock/gmock.h>

#include "tests/experiment/experiment_fixtures.h"

namespace iotape::test {
namespace {

ExperimentResult run(const std::string& text) {
  const StopRequests stop;
  auto result = run_experiment(plan_of(text), {}, stop);
  EXPECT_TRUE(result) << result.error().message;
  if (!result) return {};
  EXPECT_THAT(result->warnings(), testing::IsEmpty());
  for (const TargetResult& target : result->targets) EXPECT_EQ(target.identical, true) << target.description;
  return std::move(*result);
}

// Of the second target over the first.
double ratio(const ExperimentResult& result, std::size_t row, std::string_view metric) {
  return result.spread(1, row, metric)->median / result.spread(0, row, metric)->median;
}

TEST(PublishedDirections, OrlovIsFasterInEveryStepOfASmallP1) {
  const std::string machine = ",size=1G,inode_size=128,reserve=off,disk=laptop-2002,memory=24M,cpu=5";
  const auto result = run("target { label: \"classic\" spec: \"ext3:" + machine +
                          ",alloc=classic\" }\n"
                          "target { label: \"orlov\" spec: \"ext3:" +
                          machine +
                          ",alloc=orlov\" }\n"
                          "step { label: \"unpack\" workload: \"tree files=1200 bytes=18M do=make\" }\n"
                          "step { label: \"cold\" workload: \"tree files=1200 bytes=18M do=read\" cache: \"cold\" }\n"
                          "step { label: \"hot\" workload: \"tree files=1200 bytes=18M do=read\" }\n"
                          "step { label: \"remove\" workload: \"tree files=1200 bytes=18M do=remove\" }\n"
                          "runs: 2\n");
  ASSERT_EQ(result.plan.rows.size(), 4U);
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_LT(ratio(result, row, "time"), row == 3 ? 1.0 : 0.95) << result.plan.rows[row].label;
    EXPECT_LT(ratio(result, row, "distance"), 0.5) << result.plan.rows[row].label;
  }
}

TEST(PublishedDirections, ASmallJournalIsBoundBySeeksWhereALargeOneIsNotInASmallP2) {
  const std::string machine =
      ",size=512M,block=4K,inode_size=128,inodes=40000,data=writeback,atime=off,disk=desktop-7200,memory=64M,cpu=57";
  const auto result = run("target { label: \"small\" spec: \"ext3:" + machine +
                          ",journal=4M\" }\n"
                          "target { label: \"large\" spec: \"ext3:" +
                          machine +
                          ",journal=24M\" }\n"
                          "step { label: \"create\" workload: \"manyfiles count=20000 do=create\" }\n"
                          "step { label: \"delete\" workload: \"manyfiles count=20000 do=delete order=readdir\" }\n"
                          "runs: 2\n");
  ASSERT_EQ(result.plan.rows.size(), 2U);
  EXPECT_LE(ratio(result, 0, "time"), 1.0);
  EXPECT_LT(ratio(result, 1, "time"), 0.6);
  EXPECT_LT(ratio(result, 1, "writes"), 0.1);
  const auto deletes_over_creates = [&](std::size_t target) {
    return result.spread(target, 1, "time")->median / result.spread(target, 0, "time")->median;
  };
  EXPECT_GT(deletes_over_creates(0), 1.0);
  EXPECT_LT(deletes_over_creates(1), 1.0);
}

}  // namespace
}  // namespace iotape::test
