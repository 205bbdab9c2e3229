// The benchmark's directory of 300,000 files, its power cut after a commit and before the checkpoint that an unmount
// would have made: what was committed is there after our replay and after e2fsck's.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "replayer/ext3/journal/journal_file.h"
#include "tests/ext3/support/mounted_disk.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3::test {
namespace {

constexpr std::uint32_t kFiles = 300'000;
constexpr std::uint64_t kDeviceBytes = std::uint64_t{4} << 30U;

FilesystemOptions bench_volume() {
  FilesystemOptions options;
  options.journal_blocks = (64U << 20U) / 4096;
  options.bytes_per_inode = 4096;
  options.seed = 1;
  return options;
}

MountOptions bench_mount() {
  MountOptions options;
  options.cache_bytes = std::size_t{1} << 30U;
  options.commit_interval = Nanoseconds(std::int64_t{3600} * 1'000'000'000);  // by size alone
  return options;
}

std::string name_of(std::uint32_t i) { return fmt::format("{:08x}", i * 2654435769U); }

void create_files(MountedDisk& disk, std::uint32_t from, std::uint32_t to) {
  const InodeReference directory = disk.get("/d");
  ASSERT_TRUE(directory);
  const HostEntry inside(disk.host());
  for (std::uint32_t i = from; i < to; ++i)
    ASSERT_TRUE(create_node(disk.volume(), *directory, name_of(i), {0100644, 0, {}, 0}, {})) << i;
}

void expect_names(MountedDisk& disk, std::uint32_t count) {
  const InodeReference directory = disk.get("/d");
  ASSERT_TRUE(directory);
  const HostEntry inside(disk.host());
  std::uint32_t missing = 0;
  for (std::uint32_t i = 0; i < count; ++i) missing += look_up(disk.volume(), *directory, name_of(i)) ? 0U : 1U;
  EXPECT_EQ(missing, 0U);
}

void expect_ours_recovers(MemoryDevice& disk, std::uint32_t files) {
  {
    MountedDisk recovered(disk);
    ASSERT_TRUE(recovered.valid());
    ASSERT_TRUE(recovered.report().recovery);
    EXPECT_GT(recovered.report().recovery->transactions, 0U);
    fmt::print("{} files: {} transactions replayed, {} blocks\n", files, recovered.report().recovery->transactions,
               recovered.report().recovery->replayed_blocks);
    std::fflush(stdout);  // before programs are started that would say it again
    expect_names(recovered, files);
  }
  IOTAPE_EXPECT_SOUND(disk);
}

void expect_e2fsck_recovers(MemoryDevice& disk, std::uint32_t files) {
  const iotape::test::ScratchDirectory scratch;
  const std::string image = scratch / "image";
  TestVolumeImage::save_device(disk, image);
  const auto repaired = iotape::test::run_program({"e2fsck", "-fy", image});
  EXPECT_LE(repaired.status, 1) << repaired.out;
  EXPECT_EQ(repaired.out.find("Fix? yes"), std::string::npos) << repaired.out;
  const auto judged = e2fsck_file(image);
  EXPECT_EQ(judged.status, 0) << judged.out;
  const auto loaded = load_device(image);
  MountedDisk mounted(*loaded);
  ASSERT_TRUE(mounted.valid());
  EXPECT_FALSE(mounted.report().recovery);
  expect_names(mounted, files);
}

TEST(CutBeforeCheckpointLong, EveryCommittedNameOfThreeHundredThousandIsThere) {
  TestVolumeImage image(kDeviceBytes, bench_volume());
  MountedDisk disk(image.device(), bench_mount());
  ASSERT_EQ(disk.make_directory("/d"), 0);
  for (std::uint32_t made = 0; made < kFiles;) {
    create_files(disk, made, made + kFiles / 3);
    made += kFiles / 3;
    ASSERT_EQ(disk.sync_all(), 0);
    // As the disk is now: committed, the last transactions in the log alone.
    const auto ours = image.device().copy();
    const auto theirs = image.device().copy();
    expect_ours_recovers(*ours, made);
    expect_e2fsck_recovers(*theirs, made);
  }
  EXPECT_GT(disk.volume().journal->figures().checkpoints, 0U);
}

}  // namespace
}  // namespace iotape::ext3::test
