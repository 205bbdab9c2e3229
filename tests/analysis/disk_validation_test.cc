// The model against the service times of two real drives (tests/data/disks), and streaming.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "analysis/disk/disk_model.h"
#include "analysis/disk/profile_parser.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

struct Measured {
  char operation = 'R';
  std::int64_t start = 0;
  std::int64_t length = 0;
  std::int64_t service = 0;       // microseconds
  std::int64_t interarrival = 0;  // microseconds from this one's end to the next one's start
};

std::string data(const std::string& name) { return std::string(IOTAPE_SOURCE_DIR) + "/tests/data/disks/" + name; }

std::vector<Measured> measured(const std::string& drive) {
  const test::ScratchDirectory scratch;
  const std::string path = scratch / "trace";
  EXPECT_EQ(test::run_shell("gunzip -c '" + data(drive + ".trace.gz") + "' > '" + path + "'").status, 0);
  std::ifstream file(path);
  std::vector<Measured> all;
  for (Measured one; file >> one.operation >> one.start >> one.length >> one.service >> one.interarrival;)
    all.push_back(one);
  EXPECT_EQ(all.size(), 10'000U);
  return all;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Ruemmler and Wilkes: the rms of the horizontal gap between the two distributions, here over the mean.
double demerit(std::vector<double> a, std::vector<double> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squares / static_cast<double>(a.size())) / mean(a);
}

void expect_valid(const std::string& drive) {
  auto profile = load_disk_profile(data(drive + ".disk"));
  ASSERT_TRUE(profile) << profile.error().message;
  const DiskModel disk(std::move(*profile));
  DiskState state;
  std::vector<double> real;
  std::vector<double> modelled;
  std::int64_t time = 0;
  for (const Measured& one : measured(drive)) {
    const DiskAction action = one.operation == 'R' ? DiskAction::kRead : DiskAction::kWrite;
    const auto cost = disk.serve(state, {Nanoseconds(time), Sectors(one.start), Sectors(one.length), action, false});
    real.push_back(static_cast<double>(one.service) * 1e3);
    modelled.push_back(static_cast<double>(cost.total()));
    time = cost.end().value + one.interarrival * 1000;
  }
  EXPECT_EQ(state.beyond, 0U);
  const double off = mean(modelled) / mean(real) - 1;
  const double gap = demerit(real, modelled);
  fmt::print("{}: mean {:.3f} ms, measured {:.3f} ms ({:+.1f} %), demerit {:.1f} %\n", drive, mean(modelled) / 1e6,
             mean(real) / 1e6, 100 * off, 100 * gap);
  EXPECT_LT(std::abs(off), 0.15);
  EXPECT_LT(gap, 0.25);
}

TEST(DiskValidation, ServiceTimesOfTheCheetah9LP) { expect_valid("cheetah9lp"); }
TEST(DiskValidation, ServiceTimesOfTheAtlas10K) { expect_valid("atlas10k"); }

// The two profiles may differ in what the drives are, never in a constant of the model.
TEST(DiskValidation, BothDrivesAreValidatedWithTheSameConstants) {
  const auto a = load_disk_profile(data("cheetah9lp.disk"));
  const auto b = load_disk_profile(data("atlas10k.disk"));
  ASSERT_TRUE(a && b);
  const auto constants = [](const DiskProfile& p) {
    return std::vector<std::int64_t>{p.miss_overhead, p.hit_overhead, p.write_overhead, p.bus_rate,     p.segments,
                                     p.segment_size,  p.readahead,    p.write_cache,    p.write_extents};
  };
  EXPECT_EQ(constants(*a), constants(*b));
  const DiskProfile untouched;
  EXPECT_EQ(a->miss_overhead, untouched.miss_overhead);
  EXPECT_EQ(a->segments, untouched.segments);
}

// Bytes per second of a read of 8 MiB in pieces of 64 KiB from here on.
double streaming(const DiskModel& disk, std::int64_t from) {
  DiskState state;
  constexpr std::int64_t kPiece = 128;
  const Nanoseconds begin =
      disk.serve(state, {Nanoseconds(0), Sectors(from), Sectors(kPiece), DiskAction::kRead, false}).end();
  Nanoseconds end;
  std::int64_t lost = 0;
  constexpr std::int64_t kPieces = 128;
  for (std::int64_t i = 1; i <= kPieces; ++i) {
    const auto cost =
        disk.serve(state, {Nanoseconds(0), Sectors(from + i * kPiece), Sectors(kPiece), DiskAction::kRead, false});
    lost += cost.seek + cost.rotation;
    end = cost.end();
  }
  EXPECT_EQ(lost, 0);
  return static_cast<double>(kPieces * kPiece) * 512e9 / static_cast<double>((end - begin).value);
}

double outer_over_inner(const std::string& text) {
  const auto profile = load_disk_profile(text);
  EXPECT_TRUE(profile) << (profile ? "" : profile.error().message);
  if (!profile) return 0;
  const DiskModel disk(*profile);
  const double outer = streaming(disk, 0);
  const double inner = streaming(disk, disk.profile().capacity() - 30'000);
  fmt::print("{}: outer {:.1f} MB/s, inner {:.1f} MB/s, ratio {:.3f}\n", profile->name, outer / 1e6, inner / 1e6,
             outer / inner);
  return outer / inner;
}

TEST(DiskValidation, OuterOverInnerStreaming) {
  EXPECT_NEAR(outer_over_inner("scsi-10k"), 1.52, 0.05 * 1.52);
  // The Atlas on a bus that does not hold it back.
  const test::ScratchDirectory scratch;
  std::ifstream from(data("atlas10k.disk"));
  std::string text((std::istreambuf_iterator<char>(from)), {});
  text.replace(text.find("4878K"), 5, "76M");
  text.replace(text.find("measured atlas10k.seek"), 22, "three-point 1.245ms 5.60ms 10.828ms");
  std::ofstream(scratch / "atlas.disk") << text;
  EXPECT_NEAR(outer_over_inner(scratch / "atlas.disk"), 1.46, 0.05 * 1.46);
}

TEST(DiskValidation, TheAverageSeekIsTheDataSheets) {
  for (const auto& [name, average] :
       {std::pair{"laptop-2002", 12e6}, {"desktop-7200", 8.5e6}, {"scsi-10k", 5.47e6}, {"hdd-8tb", 8e6}}) {
    const auto profile = load_disk_profile(name);
    ASSERT_TRUE(profile) << profile.error().message;
    EXPECT_NEAR(static_cast<double>(profile->seek.average()), average, 0.01 * average) << name;
  }
}

}  // namespace
}  // namespace iotape
