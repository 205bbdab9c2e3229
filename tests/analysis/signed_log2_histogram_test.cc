#include "analysis/signed_log2_histogram.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace iotape {
namespace {

std::vector<std::int64_t> random_distances(std::uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> distances;
  for (int i = 0; i < count; ++i) {
    const auto shift = static_cast<unsigned>(random() % 64);
    distances.push_back(static_cast<std::int64_t>(random()) >> shift);
  }
  return distances;
}

TEST(SignedLog2Histogram, EveryDistanceLiesBetweenTheEdgesOfItsBin) {
  for (const std::int64_t distance : random_distances(1, 10'000)) {
    const int bin = SignedLog2Histogram::bin_of(distance);
    const std::uint64_t magnitude = SignedLog2Histogram::magnitude(distance);
    EXPECT_EQ(bin < 0, distance < 0);
    EXPECT_GE(magnitude, SignedLog2Histogram::lower_edge(bin));
    if (std::abs(bin) < 64) {
      EXPECT_LT(magnitude, SignedLog2Histogram::lower_edge(std::abs(bin) + 1));
    }
  }
}

TEST(SignedLog2Histogram, HoldsTheFarthestDistancesThereAre) {
  SignedLog2Histogram histogram;
  histogram.add(std::numeric_limits<std::int64_t>::min());
  histogram.add(std::numeric_limits<std::int64_t>::max());
  histogram.add(0);
  EXPECT_EQ(histogram.count(-64), 1U);
  EXPECT_EQ(histogram.count(63), 1U);
  EXPECT_EQ(histogram.count(0), 1U);
  EXPECT_EQ(histogram.used().lowest, -64);
  EXPECT_EQ(histogram.used().highest, 63);
}

TEST(SignedLog2Histogram, MergingIsCountingTogetherInAnyOrder) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto distances = random_distances(seed, 300);
    SignedLog2Histogram whole;
    std::array<SignedLog2Histogram, 3> parts;
    for (std::size_t i = 0; i < distances.size(); ++i) {
      whole.add(distances[i]);
      parts[(i * 7 + seed) % 3].add(distances[i]);
    }
    SignedLog2Histogram forwards = parts[0];
    forwards.merge(parts[1]);
    forwards.merge(parts[2]);
    SignedLog2Histogram backwards = parts[2];
    backwards.merge(parts[1]);
    backwards.merge(parts[0]);
    EXPECT_EQ(forwards, whole);
    EXPECT_EQ(backwards, whole);
    EXPECT_EQ(whole.total(), distances.size());
  }
}

TEST(SignedLog2Histogram, AnEmptyOneUsesNothing) {
  const SignedLog2Histogram histogram;
  EXPECT_EQ(histogram.total(), 0U);
  EXPECT_EQ(histogram.used().lowest, 0);
  EXPECT_EQ(histogram.used().highest, 0);
}

}  // namespace
}  // namespace iotape
