#include "analysis/magnitude_distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace iotape {
namespace {

std::vector<std::uint64_t> random_values(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> values(count);
  for (auto& value : values) value = random() >> (random() % 64);
  return values;
}

// The definition, word for word: the smallest value that at least q of all values do not exceed.
std::uint64_t brute_force(const std::vector<std::uint64_t>& values, double q) {
  std::uint64_t best = *std::max_element(values.begin(), values.end());
  for (const std::uint64_t candidate : values) {
    const auto not_above = std::count_if(values.begin(), values.end(), [&](auto v) { return v <= candidate; });
    if (static_cast<double>(not_above) >= q * static_cast<double>(values.size())) best = std::min(best, candidate);
  }
  return best;
}

TEST(MagnitudeDistribution, PercentilesEqualTheDefinition) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const auto values = random_values(seed, 1 + seed * 7);
    MagnitudeDistribution distribution;
    for (const auto value : values) distribution.add(value);
    for (const double q : {0.0, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0})
      EXPECT_EQ(distribution.percentile(q), brute_force(values, q)) << "seed " << seed << " q " << q;
    EXPECT_TRUE(distribution.exact());
  }
}

TEST(MagnitudeDistribution, CollapsedPercentilesStayWithinTheStatedError) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const auto values = random_values(seed, 500);
    MagnitudeDistribution exact;
    MagnitudeDistribution collapsed;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i == 200) collapsed.collapse();
      exact.add(values[i]);
      collapsed.add(values[i]);
    }
    EXPECT_FALSE(collapsed.exact());
    for (const double q : {0.1, 0.5, 0.9, 0.99}) {
      const auto truth = static_cast<double>(exact.percentile(q));
      EXPECT_NEAR(static_cast<double>(collapsed.percentile(q)), truth, truth * MagnitudeDistribution::kCollapsedError);
    }
  }
}

TEST(MagnitudeDistribution, MergingIsAddingAll) {
  const auto values = random_values(5, 400);
  for (const bool collapse_first : {false, true}) {
    for (const bool collapse_second : {false, true}) {
      MagnitudeDistribution first;
      MagnitudeDistribution second;
      MagnitudeDistribution whole;
      for (std::size_t i = 0; i < values.size(); ++i) {
        (i % 3 == 0 ? first : second).add(values[i]);
        whole.add(values[i]);
      }
      if (collapse_first) first.collapse();
      if (collapse_second) second.collapse();
      if (collapse_first || collapse_second) whole.collapse();
      first.merge(second);
      EXPECT_EQ(first.count(), values.size());
      for (const double q : {0.1, 0.5, 0.9}) EXPECT_EQ(first.percentile(q), whole.percentile(q));
    }
  }
}

TEST(MagnitudeDistribution, BucketsHoldTheirMiddleAndAreOrdered) {
  std::uint32_t before = 0;
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint32_t bucket = MagnitudeDistribution::bucket_of(std::uint64_t{1} << bit);
    EXPECT_EQ(MagnitudeDistribution::bucket_of(MagnitudeDistribution::bucket_middle(bucket)), bucket);
    EXPECT_GT(bucket, before);
    before = bucket;
  }
  EXPECT_GE(MagnitudeDistribution::bucket_of(~std::uint64_t{0}), before);
}

TEST(MagnitudeDistribution, OfNothingIsZero) {
  MagnitudeDistribution distribution;
  EXPECT_EQ(distribution.percentile(0.5), 0U);
}

}  // namespace
}  // namespace iotape
