#include "replayer/machine/processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace iotape::machine {
namespace {

constexpr Nanoseconds kMillisecond{1'000'000};
constexpr Nanoseconds kStart{0};

Nanoseconds milliseconds(std::int64_t count) { return Nanoseconds(count * kMillisecond.value); }

TEST(Processor, OneThreadComputesAsLongAsItAskedFor) {
  ext3::FiberHost host(kStart);
  Processor processor(host, 1);
  host.spawn(1, [&] {
    processor.use(milliseconds(25));
    processor.use({});
  });
  ASSERT_TRUE(host.run());
  EXPECT_EQ(host.now(), milliseconds(25));
  EXPECT_EQ(processor.busy(), milliseconds(25));
}

TEST(Processor, TwoThreadsOnOneTakeTurnsOfTenMilliseconds) {
  ext3::FiberHost host(kStart);
  Processor processor(host, 1);
  std::array<Nanoseconds, 2> ends{};
  for (std::uint32_t i = 0; i < 2; ++i)
    host.spawn(i + 1, [&, i] {
      processor.use(milliseconds(25));
      ends[i] = host.now();
    });
  ASSERT_TRUE(host.run());
  // A B A B a b: 10 10 10 10 5 5
  EXPECT_EQ(ends[0], milliseconds(45));
  EXPECT_EQ(ends[1], milliseconds(50));
}

TEST(Processor, AShortOneWaitsForATurnAndNotForTheEnd) {
  ext3::FiberHost host(kStart);
  Processor processor(host, 1);
  Nanoseconds end;
  host.spawn(1, [&] { processor.use(milliseconds(1000)); });
  host.spawn(2, [&] {
    processor.use(milliseconds(1));
    end = host.now();
  });
  ASSERT_TRUE(host.run());
  EXPECT_EQ(end, milliseconds(11));
  EXPECT_EQ(host.now(), milliseconds(1001));
}

TEST(Processor, TwoOfThemComputeAtOnce) {
  ext3::FiberHost host(kStart);
  Processor processor(host, 2);
  for (std::uint32_t i = 1; i <= 2; ++i) host.spawn(i, [&] { processor.use(milliseconds(25)); });
  ASSERT_TRUE(host.run());
  EXPECT_EQ(host.now(), milliseconds(25));
  EXPECT_EQ(processor.busy(), milliseconds(50));
}

TEST(Processor, WhoSleepsDoesNotHoldIt) {
  ext3::FiberHost host(kStart);
  Processor processor(host, 1);
  host.spawn(1, [&] {
    processor.use(milliseconds(1));
    host.sleep_until(milliseconds(20));
    processor.use(milliseconds(1));
  });
  host.spawn(2, [&] { processor.use(milliseconds(15)); });
  ASSERT_TRUE(host.run());
  EXPECT_EQ(host.now(), milliseconds(21));
}

}  // namespace
}  // namespace iotape::machine
