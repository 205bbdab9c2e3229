// Single requests worked out by hand, and the properties that every disk must have.
#include "analysis/disk/disk_model.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/analysis/disk_fixtures.h"

namespace iotape {
namespace {

using test::kHandDisk;
using test::parsed;
using test::request;

constexpr std::int64_t kMicro = 1000;
// The bus of the hand-made disk carries a sector in 10 us.
const std::string kNoCaches = kHandDisk + "segments = 0\nwrite_cache = 0\n";

TEST(DiskModel, TheFirstSectorAtRestCostsOverheadAndTheRestOfTheTurn) {
  const DiskModel disk(parsed(kNoCaches));
  DiskState state;
  const RequestCost cost = disk.serve(state, request(0, 0, 10));
  EXPECT_EQ(cost.overhead, 100 * kMicro);
  EXPECT_EQ(cost.seek, 0);
  EXPECT_EQ(cost.rotation, 9900 * kMicro);  // sector 0 passed 0.1 ms ago
  EXPECT_EQ(cost.transfer, 1010 * kMicro);  // ten sectors, and the bus has the last one still to carry
  EXPECT_EQ(cost.end().value, 11'010 * kMicro);
}

TEST(DiskModel, ASectorThatIsAboutToPassCostsNoTurn) {
  const DiskModel disk(parsed(kNoCaches));
  DiskState state;
  const RequestCost cost = disk.serve(state, request(0, 50, 1));
  EXPECT_EQ(cost.rotation, 4900 * kMicro);
  EXPECT_EQ(cost.transfer, 110 * kMicro);
}

TEST(DiskModel, ASeekTakesItsCurvesTimeAndAnArmThatIsLateWaitsOn) {
  const DiskModel disk(parsed(kNoCaches));
  DiskState state;
  // Cylinder 50 begins 50 cylinders of two turns, one track skew (1 ms) and one cylinder skew (2 ms) after sector 0.
  const RequestCost cost = disk.serve(state, request(0, 50 * 200, 1));
  EXPECT_EQ(cost.seek, 1500 * kMicro);
  const std::int64_t position = 50 * (2 * 10'000 + 1000 + 2000) * kMicro;
  EXPECT_EQ(cost.rotation, (position - 1600 * kMicro) % (10'000 * kMicro));
}

TEST(DiskModel, AHeadSwitchAloneCostsItsTimeAndAWriteAfterASeekSettles) {
  const DiskModel disk(parsed(kNoCaches));
  DiskState state;
  EXPECT_EQ(disk.serve(state, request(0, 100, 1)).seek, 500 * kMicro);
  EXPECT_EQ(disk.serve(state, request(50'000, 0, 1)).seek, 500 * kMicro);
  EXPECT_EQ(disk.serve(state, request(100'000, 200 * 10, 1, DiskAction::kWrite)).seek, 1400 * kMicro);
}

TEST(DiskModel, AReadOverTracksAndZonesCostsItsSkewsOnly) {
  const DiskModel disk(parsed(kNoCaches));
  DiskState state;
  // 100 sectors, the track skew of 10, 100 sectors, the cylinder skew of 20, 10 sectors: 240 sectors of 0.1 ms.
  EXPECT_EQ(disk.serve(state, request(0, 0, 210)).transfer, (24'000 + 10) * kMicro);
  // The last ten sectors of the outer zone and the first ten of the inner one, which take twice as long.
  DiskState other;
  EXPECT_EQ(disk.serve(other, request(0, 20'000 - 10, 20)).transfer, (1000 + 2000 + 2000 + 10) * kMicro);
}

TEST(DiskModel, ASkewShorterThanTheSwitchLosesATurn) {
  std::string text = kNoCaches;
  text.replace(text.find("100 100 10 20"), 13, "100 100 4 20");  // 0.4 ms of skew for a switch of 0.5 ms
  const DiskModel disk(parsed(text));
  DiskState state;
  EXPECT_EQ(disk.serve(state, request(0, 0, 101)).transfer, (10'000 + 10'400 + 100 + 10) * kMicro);
}

TEST(DiskModel, WhatWasReadAheadCostsOverheadAndTheBus) {
  const DiskModel disk(parsed(kHandDisk));
  DiskState state;
  (void)disk.serve(state, request(0, 0, 10));
  const RequestCost hit = disk.serve(state, request(100'000, 10, 20));
  EXPECT_TRUE(hit.cached);
  EXPECT_EQ(hit.total(), (100 + 200) * kMicro);
  EXPECT_EQ(hit.seek + hit.rotation, 0);
}

TEST(DiskModel, SequentialReadsLoseNoTurnWhateverTheirSize) {
  for (const std::int64_t length : {1, 3, 8, 64, 250, 1000, 1030}) {
    const DiskModel disk(parsed(kHandDisk));
    DiskState state;
    const std::int64_t sectors = 18'000 / length * length;
    const RequestCost first = disk.serve(state, request(0, 0, length));
    std::int64_t seek_and_rotation = 0;
    RequestCost cost = first;
    for (std::int64_t start = length; start < sectors; start += length) {
      cost = disk.serve(state, request(0, start, length));
      seek_and_rotation += cost.seek + cost.rotation;
    }
    EXPECT_EQ(seek_and_rotation, 0) << length;
    // 0.115 ms per sector at the media's rate with skews: 23 ms for a cylinder of 200.
    const std::int64_t streamed = cost.end().value - first.end().value;
    EXPECT_NEAR(static_cast<double>(streamed), static_cast<double>(sectors - length) * 115'000.0, 4e6) << length;
  }
}

TEST(DiskModel, AWriteIsAnsweredFromTheCacheAndDestagedWhenTheArmIsIdle) {
  const DiskModel disk(parsed(kHandDisk));
  DiskState state;
  const RequestCost cost = disk.serve(state, request(0, 5000, 10, DiskAction::kWrite));
  EXPECT_TRUE(cost.cached);
  EXPECT_EQ(cost.total(), (100 + 100) * kMicro);
  EXPECT_EQ(state.destaged.total(), 0);
  (void)disk.serve(state, request(1'000'000, 0, 1));
  EXPECT_EQ(state.destaged.seek, (1000 + 250 + 300) * kMicro);
  EXPECT_EQ(state.destaged.transfer, 1000 * kMicro);
  EXPECT_EQ(state.written.count(), 0U);
}

TEST(DiskModel, SustainedRandomWritesAtAFullQueueCostSeekAndRotation) {
  const DiskModel disk(parsed(kHandDisk));
  DiskState state;
  std::mt19937_64 random(1);
  RequestCost sum;
  std::int64_t last = 0;
  constexpr int kWrites = 2000;
  for (int i = 0; i < kWrites; ++i) {
    const auto cost =
        disk.serve(state, request(0, static_cast<std::int64_t>(random() % 29'000), 8, DiskAction::kWrite));
    sum.seek += cost.seek, sum.rotation += cost.rotation, last = cost.end().value;
  }
  // 1.3 ms of start and settling and 61 cylinders (two thirds of the sectors lie in the outer half of them), of which
  // the arm does 0.18 ms while the next write comes over the bus; half a turn is 5 ms.
  EXPECT_NEAR(static_cast<double>(sum.seek) / kWrites / 1e6, 1.73, 0.1);
  EXPECT_NEAR(static_cast<double>(sum.rotation) / kWrites / 1e6, 5.0, 0.3);
  EXPECT_NEAR(static_cast<double>(last) / kWrites / 1e6, 8.1, 0.5);
}

TEST(DiskModel, SequentialWritesStreamOnceTheCacheIsFull) {
  const DiskModel disk(parsed(kHandDisk + "write_cache = 256K\n"));
  DiskState state;
  std::int64_t end = 0;
  for (std::int64_t start = 0; start < 18'000; start += 10)
    end = disk.serve(state, request(0, start, 10, DiskAction::kWrite)).end().value;
  end = disk.serve(state, request(0, 0, 0, DiskAction::kFlush)).end().value;
  // The media's rate with skews is 115 us per sector; at most a few turns of 10 ms are lost at the start.
  EXPECT_NEAR(static_cast<double>(end), 18'000 * 115'000.0, 60e6);
}

TEST(DiskModel, AFlushWaitsForAllThatWasWrittenAndAThroughWriteForItself) {
  const DiskModel disk(parsed(kHandDisk));
  DiskState state;
  (void)disk.serve(state, request(0, 5000, 10, DiskAction::kWrite));
  const RequestCost flush = disk.serve(state, request(0, 0, 0, DiskAction::kFlush));
  EXPECT_EQ(flush.seek, (1000 + 250 + 300) * kMicro);
  EXPECT_EQ(flush.total(), state.arm_free - flush.begin.value);
  EXPECT_EQ(disk.serve(state, request(0, 0, 0, DiskAction::kFlush)).total(), 0);
  DiskRequest through = request(0, 200 * 10, 1, DiskAction::kWrite);
  through.through = true;
  EXPECT_GT(disk.serve(state, through).seek, 0);
}

TEST(DiskModel, AReadDuringADestageWaitsForItsEnd) {
  const DiskModel disk(parsed(kHandDisk));
  DiskState state;
  (void)disk.serve(state, request(0, 5000, 10, DiskAction::kWrite));
  const RequestCost cost = disk.serve(state, request(1000, 0, 1));
  EXPECT_GT(cost.wait, 0);
  // It began when the write was answered, at 0.2 ms, and the read could have begun at 1.1 ms.
  EXPECT_EQ(state.destaged.total(), cost.wait + 900 * kMicro);
}

TEST(DiskModel, AFlashDeviceHasLatencyAndBandwidthAndNothingElse) {
  const DiskModel disk(parsed(
      "kind = flash\nread_latency = 100us\nwrite_latency = 50us\nread_rate = 512000000\nwrite_rate = 256000000\n"));
  DiskState state;
  for (const std::int64_t start : {0L, 1'000'000'000L, 8L}) {
    const RequestCost read = disk.serve(state, request(0, start, 8));
    EXPECT_EQ(read.overhead, 100 * kMicro);
    EXPECT_EQ(read.transfer, 8 * kMicro);
    EXPECT_EQ(read.seek + read.rotation + read.wait, 0);
  }
  EXPECT_EQ(disk.serve(state, request(0, 0, 8, DiskAction::kWrite)).total(), (50 + 16) * kMicro);
}

TEST(DiskModel, EveryPartIsNeverNegativeAndTimeNeverRunsBackwards) {
  for (const BuiltInProfile& profile : built_in_profiles()) {
    const DiskModel disk(*load_disk_profile(std::string(profile.name)));
    DiskState state;
    std::mt19937_64 random(7);
    std::int64_t before = 0;
    std::int64_t time = 0;
    for (int i = 0; i < 50'000; ++i) {
      time += static_cast<std::int64_t>(random() % 8'000'000);
      DiskRequest asked;
      asked.time = Nanoseconds(random() % 1000 == 0 ? -time : time);
      asked.start = Sectors(random() % 4 == 0 ? static_cast<std::int64_t>(random()) : asked.start.value + i * 8);
      asked.length = Sectors(random() % 500 == 0 ? static_cast<std::int64_t>(random())
                                                 : static_cast<std::int64_t>(random() % 256));
      asked.action = static_cast<DiskAction>(random() % 3);
      asked.through = random() % 50 == 0;
      const RequestCost cost = disk.serve(state, asked);
      for (const std::int64_t part : {cost.overhead, cost.seek, cost.rotation, cost.transfer, cost.wait})
        ASSERT_GE(part, 0) << profile.name << " " << i;
      ASSERT_GE(cost.begin.value, before);
      before = cost.end().value;
    }
  }
}

TEST(DiskModel, ACopyOfTheStateAnswersTheSame) {
  const DiskModel disk(*load_disk_profile("desktop-7200"));
  DiskState state;
  std::mt19937_64 random(3);
  for (int i = 0; i < 5000; ++i) {
    const DiskRequest asked =
        request(i * 500, static_cast<std::int64_t>(random() % 100'000'000), 8, static_cast<DiskAction>(random() % 2));
    DiskState copy = state;
    ASSERT_EQ(disk.serve(state, asked).total(), disk.serve(copy, asked).total());
  }
}

TEST(DiskModel, RequestsAtTheEdgesOfTheIntegersAreAnswered) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const BuiltInProfile& profile : built_in_profiles()) {
    const DiskModel disk(*load_disk_profile(std::string(profile.name)));
    DiskState state;
    for (const std::int64_t time : {-kMost, std::int64_t{0}, kMost})
      for (const std::int64_t start : {-kMost, std::int64_t{0}, kMost})
        for (const std::int64_t length : {-kMost, std::int64_t{0}, kMost})
          for (const DiskAction action : {DiskAction::kRead, DiskAction::kWrite, DiskAction::kFlush})
            EXPECT_GE(disk.serve(state, {Nanoseconds(time), Sectors(start), Sectors(length), action, false}).total(),
                      0);
  }
}

}  // namespace
}  // namespace iotape
