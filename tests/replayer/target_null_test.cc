#include <gtest/gtest.h>

#include "replayer/target/host_clock.h"
#include "replayer/target/make_target.h"

namespace iotape {
namespace {

std::unique_ptr<Target> null_target() {
  auto target = make_target(parse_target_spec("null:").value(), {});
  return target ? std::move(*target) : nullptr;
}

Completion complete(Target& target, Operation operation, Nanoseconds not_before = {}) {
  EXPECT_TRUE(target.submit({TargetThread(1), 7, 0, std::move(operation), not_before}).has_value());
  return target.next_completion().value();
}

TEST(NullTarget, HasNoSpace) { EXPECT_EQ(null_target()->space_used().value(), std::nullopt); }

TEST(NullTarget, AnswersInTheShapeOfSuccess) {
  const auto target = null_target();
  ASSERT_TRUE(target);
  EXPECT_FALSE(target->facts().answers);
  Write write;
  write.length = 4096;
  EXPECT_EQ(complete(*target, write).outcome, (OpOutcome{4096, 0}));
  const auto first = complete(*target, Open{}).outcome.value;
  EXPECT_NE(complete(*target, Open{}).outcome.value, first);
  EXPECT_EQ(complete(*target, MakeDirectory{}).outcome, (OpOutcome{0, 0}));
  EXPECT_EQ(complete(*target, MakeDirectory{}).cookie, 7U);
}

TEST(NullTarget, NeverStartsBeforeTheDeadlineAndTakesTheEarliestFirst) {
  const auto target = null_target();
  const Nanoseconds start = target->now();
  const Nanoseconds late = start + Nanoseconds(4'000'000);
  const Nanoseconds early = start + Nanoseconds(2'000'000);
  ASSERT_TRUE(target->submit({TargetThread(1), 1, 0, Seek{}, late}).has_value());
  ASSERT_TRUE(target->submit({TargetThread(2), 2, 0, Seek{}, early}).has_value());
  const Completion first = target->next_completion().value();
  const Completion second = target->next_completion().value();
  EXPECT_EQ(first.cookie, 2U);
  EXPECT_GE(first.start, early);
  EXPECT_GE(second.start, late);
  EXPECT_LE(second.start, second.end);
}

TEST(NullTarget, NothingInFlightIsAnError) { EXPECT_FALSE(null_target()->next_completion().has_value()); }

}  // namespace
}  // namespace iotape
