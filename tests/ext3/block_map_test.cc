#include "replayer/ext3/block_map.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "replayer/ext3/block_path.h"
#include "tests/ext3/support/mounted_volume.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3 {
namespace {

using test::MountedVolume;
using test::TestVolumeImage;

FilesystemOptions blocks_of(std::uint32_t block_size) {
  FilesystemOptions options;
  options.block_size = block_size;
  return options;
}

// A block file's places where the way to it changes: 11, 12, 12+P-1, 12+P, 12+P+P^2-1, 12+P+P^2.
std::vector<std::uint32_t> turning_points(std::uint32_t pointers) {
  const std::uint32_t single = 12 + pointers;
  const std::uint32_t twice = single + pointers * pointers;
  return {0, 11, 12, single - 1, single, twice - 1, twice};
}

TEST(BlockPath, TurnsAtEachLevelsFirstBlock) {
  using Slots = std::array<std::uint32_t, 4>;
  EXPECT_EQ(block_path(FileBlock(11), 256)->slots, (Slots{11}));
  EXPECT_EQ(block_path(FileBlock(12), 256)->slots, (Slots{12, 0}));
  EXPECT_EQ(block_path(FileBlock(12 + 255), 256)->slots, (Slots{12, 255}));
  EXPECT_EQ(block_path(FileBlock(12 + 256), 256)->slots, (Slots{13, 0, 0}));
  EXPECT_EQ(block_path(FileBlock(12 + 256 + 256 * 256 - 1), 256)->slots, (Slots{13, 255, 255}));
  EXPECT_EQ(block_path(FileBlock(12 + 256 + 256 * 256), 256)->slots, (Slots{14, 0, 0, 0}));
  EXPECT_EQ(block_path(FileBlock(12 + 256 + 256 * 256 + 256 * 256 * 256 - 1), 256)->slots, (Slots{14, 255, 255, 255}));
  EXPECT_FALSE(block_path(FileBlock(12 + 256 + 256 * 256 + 256 * 256 * 256), 256));
}

TEST(LargestFile, IsTheKernelsForEachBlockSize) {
  Geometry geometry;
  const std::pair<std::uint32_t, std::uint64_t> measured[] = {
      {1024, 17'247'252'480}, {2048, 275'415'851'008}, {4096, 2'196'873'666'560}};
  for (const auto& [block_size, bytes] : measured) {
    geometry.block_size = block_size;
    EXPECT_EQ(geometry.largest_file(), bytes) << block_size;
  }
}

class BlockMapOfEachSize : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(BlockSizes, BlockMapOfEachSize, testing::Values(1024, 2048, 4096),
                         [](const auto& size) { return std::to_string(size.param); });

TEST_P(BlockMapOfEachSize, MapsOneBlockAtEachTurningPointAndFreesAllOfThem) {
  TestVolumeImage image(64 << 20, blocks_of(GetParam()));
  MountedVolume mounted(image.device());
  const InodeReference root = mounted.root();
  const std::vector<std::uint32_t> points = turning_points(GetParam() / 4);
  // Indirect blocks that one block at each of these points needs beside it.
  const std::vector<std::uint32_t> overhead = {0, 0, 1, 1, 2, 2, 3};
  const auto before = mounted.counts();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::string name = "f" + std::to_string(i);
    InodeReference file = mounted.create(*root, name);
    const BlockNumber block = mounted.must_put(*file, points[i]);
    EXPECT_EQ(mounted.block_at(*file, points[i]), block);
    EXPECT_EQ(file->sectors, (1 + overhead[i]) * (GetParam() / 512)) << points[i];
    if (points[i] != 0) {
      EXPECT_EQ(mounted.block_at(*file, points[i] - 1), kNoBlock);
    }
    EXPECT_EQ(mounted.block_at(*file, points[i] + 1), kNoBlock);
  }
  mounted.commit();
  for (std::size_t i = 0; i < points.size(); ++i) mounted.remove(*root, "f" + std::to_string(i));
  EXPECT_EQ(mounted.counts(), before);
  EXPECT_EQ(mounted.volume().damage_count, 0U);
}

TEST_P(BlockMapOfEachSize, IsCleanForE2fsckWithAFileAcrossEveryTurningPoint) {
  TestVolumeImage image(64 << 20, blocks_of(GetParam()));
  {
    MountedVolume mounted(image.device());
    const InodeReference root = mounted.root();
    const InodeReference file = mounted.create(*root, "file");
    for (const std::uint32_t point : turning_points(GetParam() / 4)) mounted.must_put(*file, point);
    const InodeReference last = mounted.create(*root, "last");
    const std::uint64_t limit = mounted.geometry().largest_file();
    mounted.must_put(*last, static_cast<std::uint32_t>(limit / GetParam() - 1));
    EXPECT_EQ(mounted.put_block(*last, static_cast<std::uint32_t>(limit / GetParam())).error().value, EFBIG);
    EXPECT_EQ(last->size, limit);
    EXPECT_EQ(mounted.cut(*last, limit + 1).error().value, EFBIG);
  }
  IOTAPE_EXPECT_E2FSCK_CLEAN(image.device());
}

TEST_P(BlockMapOfEachSize, CutsToEachTurningPointAndBackToNothing) {
  TestVolumeImage image(64 << 20, blocks_of(GetParam()));
  const std::vector<std::uint32_t> points = turning_points(GetParam() / 4);
  {
    MountedVolume mounted(image.device());
    const InodeReference root = mounted.root();
    const auto before = mounted.counts().free_blocks;
    for (const std::uint32_t cut : points) {
      const InodeReference file = mounted.create(*root, "to" + std::to_string(cut));
      for (const std::uint32_t point : points) mounted.must_put(*file, point);
      ASSERT_TRUE(mounted.cut(*file, std::uint64_t{cut} * GetParam() + 1));
      for (const std::uint32_t point : points)
        EXPECT_EQ(mounted.block_at(*file, point) != kNoBlock, point <= cut) << point << " after a cut at " << cut;
      ASSERT_TRUE(mounted.cut(*file, std::uint64_t{cut} * GetParam()));
      EXPECT_EQ(mounted.block_at(*file, cut), kNoBlock);
    }
    mounted.commit();
    for (const std::uint32_t cut : points) {
      const InodeReference file = mounted.create(*root, "again" + std::to_string(cut));
      mounted.remove(*root, "to" + std::to_string(cut));
    }
    EXPECT_EQ(mounted.counts().free_blocks, before);
  }
  IOTAPE_EXPECT_E2FSCK_CLEAN(image.device());
}

// What debugfs says a file's blocks are.
std::vector<std::uint32_t> blocks_by_debugfs(const std::string& image, const std::string& file,
                                             const std::vector<std::uint32_t>& points) {
  std::vector<std::uint32_t> blocks;
  for (const std::uint32_t point : points) {
    const auto said =
        iotape::test::run_program({"/sbin/debugfs", "-R", "bmap " + file + " " + std::to_string(point), image});
    blocks.push_back(static_cast<std::uint32_t>(std::strtoul(said.out.c_str(), nullptr, 10)));
  }
  return blocks;
}

TEST_P(BlockMapOfEachSize, AgreesWithDebugfsOnFilesOfOursAndOfMke2fs) {
  const iotape::test::ScratchDirectory scratch;
  const std::vector<std::uint32_t> points = turning_points(GetParam() / 4);
  std::filesystem::create_directory(scratch / "tree");
  for (const std::uint32_t point : points) {
    std::fstream file(scratch / "tree/theirs", point == 0 ? std::ios::out : std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(std::uint64_t{point} * GetParam()));
    file << "block " << point;
  }
  ASSERT_TRUE(test::run_mke2fs(scratch / "image", 64 << 20,
                               "-t ext3 -b " + std::to_string(GetParam()) + " -d " + (scratch / "tree")));
  const auto device = test::load_device(scratch / "image");
  {
    MountedVolume mounted(*device);
    const InodeReference theirs = mounted.get(InodeNumber(12));
    std::vector<std::uint32_t> blocks;
    for (const std::uint32_t point : points) blocks.push_back(mounted.block_at(*theirs, point).value);
    EXPECT_EQ(blocks, blocks_by_debugfs(scratch / "image", "theirs", points));
    EXPECT_EQ(mounted.block_at(*theirs, points[3] - 1), kNoBlock);
    const InodeReference root = mounted.root();
    const InodeReference ours = mounted.create(*root, "ours");
    for (const std::uint32_t point : points) mounted.must_put(*ours, point);
  }
  TestVolumeImage::save_device(*device, scratch / "image");
  MountedVolume mounted(*device);
  const InodeReference ours = mounted.get(InodeNumber(13));
  std::vector<std::uint32_t> blocks;
  for (const std::uint32_t point : points) blocks.push_back(mounted.block_at(*ours, point).value);
  EXPECT_EQ(blocks, blocks_by_debugfs(scratch / "image", "ours", points));
}

TEST(BlockMapRuns, TellHolesAndConsecutiveBlocksApart) {
  TestVolumeImage image(64 << 20, blocks_of(1024));
  MountedVolume mounted(image.device());
  const InodeReference root = mounted.root();
  const InodeReference file = mounted.create(*root, "file");
  for (std::uint32_t i = 20; i < 40; ++i) mounted.must_put(*file, i);
  const HostEntry inside(mounted.host());
  const auto run_at = [&](std::uint32_t at, std::uint32_t limit) {
    return *map_run(mounted.volume(), *file, FileBlock(at), limit);
  };
  EXPECT_EQ(run_at(0, 100).first, kNoBlock);
  EXPECT_EQ(run_at(0, 100).count, 12U);
  EXPECT_EQ(run_at(12, 100).count, 8U);
  EXPECT_EQ(run_at(20, 100).count, 20U);
  EXPECT_EQ(run_at(25, 3).count, 3U);
  EXPECT_EQ(run_at(40, 1000).count, 256U - 28U);
  EXPECT_EQ(run_at(12 + 256 + 5, 1000000).count, 65536U - 5U);
  EXPECT_EQ(run_at(12 + 256 + 65536 + 7, 0xFFFFFFFF).count, 256U * 256U * 256U - 7U);
}

TEST(BlockMapPlaces, SequentialBlocksFollowEachOtherWithTheirIndirectBlocksBetween) {
  TestVolumeImage image(64 << 20, blocks_of(1024));
  MountedVolume mounted(image.device());
  const InodeReference root = mounted.root();
  const InodeReference file = mounted.create(*root, "file");
  const std::uint32_t first = mounted.must_put(*file, 0).value;
  for (std::uint32_t i = 1; i < 12; ++i) EXPECT_EQ(mounted.must_put(*file, i).value, first + i);
  EXPECT_EQ(file->block[12], 0U);
  EXPECT_EQ(mounted.must_put(*file, 12).value, first + 13);
  EXPECT_EQ(file->block[12], first + 12) << "the indirect block comes before the data it names";
  for (std::uint32_t i = 13; i < 12 + 256; ++i) EXPECT_EQ(mounted.must_put(*file, i).value, first + 1 + i);
  EXPECT_EQ(mounted.must_put(*file, 12 + 256).value, first + 12 + 256 + 3) << "two more indirect blocks";
  EXPECT_EQ(file->block[13], first + 12 + 256 + 1);
}

TEST(BlockMapPlaces, ThreadsBeginInDifferentPartsOfTheGroup) {
  TestVolumeImage image(64 << 20, blocks_of(4096));
  MountedVolume mounted(image.device());
  const InodeReference root = mounted.root();
  for (const std::uint32_t thread : {3U, 5U, 19U}) {
    mounted.host().become(thread);
    const InodeReference file = mounted.create(*root, "file" + std::to_string(thread));
    const std::uint32_t part = thread % 16 * (mounted.geometry().blocks_per_group / 16);
    const std::uint32_t bit = mounted.geometry().bit_of(mounted.must_put(*file, 0));
    EXPECT_GE(bit, part);
    EXPECT_LT(bit, part + 64);
  }
}

TEST(BlockMapPlaces, ABlockWrittenBackwardsGoesNearItsLeftNeighbourOrTheIndirectBlock) {
  TestVolumeImage image(64 << 20, blocks_of(1024));
  MountedVolume mounted(image.device());
  const InodeReference root = mounted.root();
  const InodeReference file = mounted.create(*root, "file");
  const std::uint32_t far = mounted.must_put(*file, 100).value;
  EXPECT_EQ(file->block[12], far - 1);
  EXPECT_EQ(mounted.must_put(*file, 50).value, far + 1) << "no left neighbour: beside the indirect block";
  EXPECT_EQ(mounted.must_put(*file, 60).value, far + 2) << "beside block 50";
}

TEST(BlockMapPlaces, BlocksInterleaveWithoutReservationAndNotWithIt) {
  for (const bool reservation : {false, true}) {
    TestVolumeImage image(64 << 20, blocks_of(4096));
    MountOptions options;
    options.reservation = reservation;
    MountedVolume mounted(image.device(), options);
    const InodeReference root = mounted.root();
    const InodeReference one = mounted.create(*root, "one");
    const InodeReference two = mounted.create(*root, "two");
    std::uint32_t jumps = 0;
    BlockNumber last = mounted.must_put(*one, 0);
    mounted.must_put(*two, 0);
    for (std::uint32_t i = 1; i < 512; ++i) {
      const BlockNumber next = mounted.must_put(*one, i);
      jumps += next.value != last.value + 1 ? 1 : 0;
      last = next;
      mounted.must_put(*two, i);
    }
    if (reservation) {
      EXPECT_LT(jumps, 16U) << "windows of 8, 16, 32 and so on";
    } else {
      EXPECT_GT(jumps, 400U);
    }
  }
}

}  // namespace
}  // namespace iotape::ext3
