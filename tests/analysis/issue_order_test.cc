#include "analysis/issue_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace iotape {
namespace {

HeadAccess access(std::int64_t time, std::int64_t sector) {
  HeadAccess made;
  made.time = Nanoseconds(time);
  made.start = Sectors(sector);
  return made;
}

using Seen = std::vector<std::pair<std::int64_t, std::int64_t>>;

Seen run(const std::vector<HeadAccess>& input, IssueOrder& order) {
  Seen seen;
  const auto give = [&](const HeadAccess& given) { seen.emplace_back(given.time.value, given.start.value); };
  for (const HeadAccess& one : input) order.add(one, give);
  order.finish(give);
  return seen;
}

TEST(IssueOrder, SortsByTimeAndKeepsTheOrderOfEqualTimes) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<HeadAccess> input;
    const std::int64_t depth =
        1 + static_cast<std::int64_t>(seed * seed);  // far beyond the steps searched from the end
    for (std::int64_t i = 0; i < 3000; ++i)
      input.push_back(access(i / 3 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(depth)), i));
    auto expected = input;
    std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
    IssueOrder order;
    const Seen seen = run(input, order);
    ASSERT_EQ(seen.size(), expected.size());
    for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i].second, expected[i].start.value) << "seed " << seed;
    EXPECT_EQ(order.violations(), 0U);
  }
}

TEST(IssueOrder, ASmallBoundIsEnoughForASmallDisorder) {
  std::mt19937_64 random(3);
  std::vector<HeadAccess> input;
  for (std::int64_t i = 0; i < 100'000; ++i) input.push_back(access(i + static_cast<std::int64_t>(random() % 100), i));
  IssueOrder order(200);
  const Seen seen = run(input, order);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end(), [](auto a, auto b) { return a.first < b.first; }));
  EXPECT_EQ(order.violations(), 0U);
}

TEST(IssueOrder, WhatComesTooLateIsCountedAndNotLost) {
  std::vector<HeadAccess> input;
  for (std::int64_t i = 0; i < 1000; ++i) input.push_back(access(i + 1000, i));
  input.push_back(access(5, -1));
  IssueOrder order(10);
  const Seen seen = run(input, order);
  EXPECT_EQ(seen.size(), input.size());
  EXPECT_EQ(order.violations(), 1U);
  EXPECT_EQ(seen[seen.size() - 11].second, -1) << "given out at once, before what still waits";
}

TEST(IssueOrder, NeverHoldsMoreThanItsBound) {
  IssueOrder order(50);
  for (std::int64_t i = 0; i < 10'000; ++i) {
    order.add(access(-i, i), [](const HeadAccess&) {});
    ASSERT_LE(order.waiting(), 50U);
  }
}

}  // namespace
}  // namespace iotape
