// What a profile may say, and what is said of one that is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/analysis/disk_fixtures.h"

namespace iotape {
namespace {

using test::kHandDisk;
using test::parsed;
using test::refusal;
using testing::HasSubstr;
using testing::StartsWith;

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kHandDisk;
  return text.replace(text.find(from), from.size(), to);
}

const std::string kSeek = "seek = two-piece 1ms 0ms 1 1ms 0.01ms";

TEST(DiskProfile, TheBuiltInOnesAreSoundAndNameTheirSources) {
  std::vector<std::string_view> names;
  for (const BuiltInProfile& profile : built_in_profiles()) {
    const auto loaded = load_disk_profile(std::string(profile.name));
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->name, profile.name);
    EXPECT_FALSE(loaded->sources.empty());
    names.push_back(profile.name);
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("laptop-2002", "desktop-7200", "scsi-10k", "hdd-8tb", "ssd"));
  EXPECT_NEAR(static_cast<double>(load_disk_profile("laptop-2002")->capacity()) * 512, 40e9, 1e9);
  EXPECT_NEAR(static_cast<double>(load_disk_profile("desktop-7200")->capacity()) * 512, 61.5e9, 1e9);
  EXPECT_NEAR(static_cast<double>(load_disk_profile("scsi-10k")->capacity()) * 512, 9.1e9, 0.2e9);
  EXPECT_NEAR(static_cast<double>(load_disk_profile("hdd-8tb")->capacity()) * 512, 8e12, 0.1e12);
}

TEST(DiskProfile, AnErrorNamesFileLineAndKey) {
  EXPECT_EQ(refusal("rpm = 6000\nhead = 2\n"), "test.disk:2: unknown key 'head'; did you mean heads?");
  EXPECT_THAT(refusal("# a comment\n\nrpm = fast\n"), StartsWith("test.disk:3: rpm: 'fast' is not a number"));
  EXPECT_THAT(refusal("rpm = 6000\nrpm = 6000\n"), StartsWith("test.disk:2: rpm: stated twice"));
  EXPECT_THAT(refusal("rpm 6000\n"), StartsWith("test.disk:1: 'rpm 6000': a line is KEY = VALUE"));
  EXPECT_THAT(refusal("zone = 5\n"), StartsWith("test.disk:1: zone: takes 2 to 4 values, not 1"));
  EXPECT_THAT(refusal("head_switch = 5\n"), StartsWith("test.disk:1: head_switch: '5' is not a time"));
  EXPECT_THAT(refusal("bus_rate = 5\n"), StartsWith("test.disk:1: bus_rate: 5 bytes per second is too slow"));
  EXPECT_THAT(refusal("= 5\n"), StartsWith("test.disk:1: unknown key ''"));
}

TEST(DiskProfile, WhatIsMissingOrOfTheOtherKindIsNamed) {
  EXPECT_EQ(refusal(""), "test.disk: rpm: missing");
  EXPECT_EQ(refusal(changed("bus_rate = 51200000", "")), "test.disk: bus_rate: missing");
  EXPECT_EQ(refusal("kind = flash\nrpm = 6000\n"), "test.disk: rpm: not a key of kind flash");
  EXPECT_EQ(refusal(kHandDisk + "read_rate = 1M\n"), "test.disk: read_rate: not a key of kind disk");
}

TEST(DiskProfile, AnImpossibleCurveIsRefused) {
  for (const std::string curve : {"three-point 5ms 4ms 10ms", "three-point 1ms 3ms 10ms", "three-point 1ms 9ms 9.5ms",
                                  "three-point 0ms 0ms 0ms", "two-piece 9ms 1ms 50 1ms 0.01ms", "measured", "bent 1ms"})
    EXPECT_THAT(refusal(changed(kSeek, "seek = " + curve)), StartsWith("test.disk:5: seek: ")) << curve;
  for (const std::string points : {"seek_point = 10 5ms\nseek_point = 5 6ms\n",
                                   "seek_point = 1 5ms\nseek_point = 9 1ms\n", "seek_point = 1 0ms\n"})
    EXPECT_THAT(refusal(changed(kSeek, "seek = measured") + points), HasSubstr("impossible seek curve")) << points;
}

TEST(DiskProfile, ACurveFileIsReadBesideTheProfileAndItsLinesAreNamed) {
  const DiskProfile profile = parsed(changed(kSeek, "seek = measured curve.seek"));
  EXPECT_EQ(profile.seek.time(1), 1'000'000);
  EXPECT_EQ(profile.seek.time(55), 3'500'000);
  EXPECT_EQ(profile.seek.time(130), 6'000'000);
  EXPECT_THAT(refusal(changed(kSeek, "seek = measured other.seek")),
              HasSubstr("test.disk:5: seek: other.seek: no such"));
  test::GivenFiles files;
  files.curve = "1, 1.0\n2, slow\n";
  const auto wrong = parse_disk_profile(changed(kSeek, "seek = measured curve.seek"), "test.disk", "test", files);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "test.disk:5: seek: curve.seek:2: 'slow' is not a number");
}

TEST(DiskProfile, ThreePointCurvesGoThroughTheirPoints) {
  const DiskProfile profile = parsed(changed(kSeek, "seek = three-point 1ms 5ms 10ms"));
  EXPECT_EQ(profile.seek.time(1), 1'000'000);
  EXPECT_NEAR(static_cast<double>(profile.seek.average()), 5e6, 0.05e6);
  EXPECT_NEAR(static_cast<double>(profile.seek.time(199)), 10e6, 0.1e6);
}

TEST(DiskProfile, ImpossibleGeometryIsRefused) {
  EXPECT_THAT(refusal(changed("100 100 10 20", "100 100 101 20")), HasSubstr("sectors of skew, more than a turn"));
  EXPECT_THAT(refusal(kHandDisk + "capacity = 1T\n"), HasSubstr("capacity: "));
  EXPECT_THAT(refusal(changed("heads = 2", "heads = 0")), StartsWith("test.disk:2: heads: 0 is not between"));
  EXPECT_EQ(parsed(kHandDisk + "capacity = 1M\n").capacity(), 2048);
}

// Whatever the bytes: an answer, in bounded time and memory, and a profile that was accepted serves requests.
TEST(DiskProfile, AnyBytesAreAnswered) {
  std::mt19937_64 random(1);
  std::vector<std::string> seeds{kHandDisk, changed(kSeek, "seek = measured curve.seek")};
  for (const BuiltInProfile& profile : built_in_profiles()) seeds.emplace_back(profile.text.substr(0, 4096));
  int accepted = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = seeds[random() % seeds.size()];
    for (std::uint64_t flips = random() % 4; flips > 0; --flips) {
      const std::size_t at = random() % text.size();
      const std::string_view likely = "0123456789.=#\n msnMKT-";
      if (random() % 3 == 0)
        text[at] = static_cast<char>(random());
      else if (random() % 4 == 0)
        text.erase(at, random() % 20);
      else
        text.insert(at, 1, likely[random() % likely.size()]);
    }
    test::GivenFiles files;
    const auto profile = parse_disk_profile(text, "test.disk", "test", files);
    if (!profile) {
      ASSERT_THAT(profile.error().message, StartsWith("test.disk:"));
      continue;
    }
    ++accepted;
    const DiskModel disk(*profile);
    DiskState state;
    for (int i = 0; i < 20; ++i) {
      const auto action = static_cast<DiskAction>(random() % 3);
      ASSERT_GE(
          disk.serve(state, test::request(i * 1000, static_cast<std::int64_t>(random() >> 1U), 256, action)).total(),
          0);
    }
  }
  EXPECT_GT(accepted, 100);
}

TEST(DiskProfile, WordsThatAreNoProfileSayWhatThereIs) {
  EXPECT_THAT(load_disk_profile("laptop-2003").error().message, HasSubstr("did you mean laptop-2002?"));
  EXPECT_THAT(load_disk_profile("x").error().message, HasSubstr("hdd-8tb"));
  EXPECT_THAT(load_disk_profile("/nowhere/x.disk").error().message, HasSubstr("No such file"));
  EXPECT_THAT(load_disk_profile("/").error().message, HasSubstr("not a file"));
}

}  // namespace
}  // namespace iotape
