#include "replayer/ext3/allocator/block_allocator.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "replayer/ext3/allocator/bitmap.h"
#include "tests/ext3/support/mounted_volume.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3 {
namespace {

using test::MountedVolume;
using test::TestVolumeImage;

FilesystemOptions small_blocks(bool journal) {
  FilesystemOptions options;
  options.block_size = 1024;
  options.features.has_journal = journal;
  return options;
}

class AllocatedBlocks : public testing::Test {
 protected:
  explicit AllocatedBlocks(bool journal = false, std::uint64_t bytes = 32 << 20)
      : image_(bytes, small_blocks(journal)), mounted_(image_.device()) {}
  Volume& volume() { return mounted_.volume(); }
  Answer<BlockNumber> take(Inode& inode, std::uint32_t goal, bool privileged = true) {
    const HostEntry inside(mounted_.host());
    auto handle = volume().journal->start(8);
    return volume().blocks->allocate(*handle, inode, BlockNumber(goal), privileged);
  }
  void give_back(std::uint32_t first, std::uint32_t count) {
    const HostEntry inside(mounted_.host());
    auto handle = volume().journal->start(16);
    for (std::uint32_t i = 0; i < count; ++i)
      EXPECT_TRUE(volume().journal->forget(*handle, BlockNumber(first + i), false));
    EXPECT_TRUE(volume().blocks->release(*handle, BlockNumber(first), count));
  }
  // Every block that the bitmaps say is free.
  std::set<std::uint32_t> free_blocks() {
    const HostEntry inside(mounted_.host());
    std::set<std::uint32_t> all;
    const Geometry& geometry = volume().geometry;
    for (std::uint32_t i = 0; i < geometry.group_count; ++i) {
      const GroupNumber group(i);
      auto bitmap = volume().cache->read(BlockNumber(volume().groups[group].block_bitmap), {});
      for (std::uint32_t bit = 0; bit < geometry.group_blocks(group); ++bit)
        if (!test_bit((*bitmap)->data, bit)) all.insert(geometry.group_first(group).value + bit);
    }
    return all;
  }

  TestVolumeImage image_;
  MountedVolume mounted_;
  Inode file_;       // no file of the volume: the allocator does not ask
  Inode directory_;  // takes no window
  void SetUp() override {
    file_.mode = S_IFREG;
    directory_.mode = S_IFDIR;
  }
  void TearDown() override { volume().blocks->drop_window(file_); }
};

TEST_F(AllocatedBlocks, EveryFreeBlockIsGivenOutOnceAndThenNone) {
  const std::set<std::uint32_t> free = free_blocks();
  EXPECT_EQ(free.size(), volume().groups.free_blocks());
  std::set<std::uint32_t> taken;
  for (std::size_t i = 0; i < free.size(); ++i) taken.insert(take(i % 2 == 0 ? file_ : directory_, 20000)->value);
  EXPECT_EQ(taken, free);
  EXPECT_EQ(volume().groups.free_blocks(), 0U);
  EXPECT_EQ(take(file_, 20000).error().value, ENOSPC);
  EXPECT_EQ(take(directory_, 0).error().value, ENOSPC);
  for (const std::uint32_t block : taken) give_back(block, 1);
  EXPECT_EQ(free_blocks(), free);
  EXPECT_EQ(volume().damage_count, 0U);
}

TEST_F(AllocatedBlocks, GoalsOutsideTheVolumeMeanItsStart) {
  const std::uint32_t first = *free_blocks().begin();
  EXPECT_EQ(take(directory_, 0)->value, first) << "a whole byte, and back to where the free blocks begin";
  EXPECT_TRUE(take(directory_, 0xFFFFFFFF));
  EXPECT_TRUE(take(file_, 32 << 10));
}

TEST_F(AllocatedBlocks, OthersThanTheSuperuserLeaveTheReservedBlocksAlone) {
  const std::uint32_t reserved = volume().superblock().reserved_blocks_count;
  ASSERT_GT(reserved, 100U);
  while (volume().groups.free_blocks() > reserved) ASSERT_TRUE(take(file_, 9000, false));
  EXPECT_EQ(take(file_, 9000, false).error().value, ENOSPC);
  for (std::uint32_t i = 0; i < reserved; ++i) ASSERT_TRUE(take(file_, 9000, true));
  EXPECT_EQ(take(file_, 9000, true).error().value, ENOSPC);
}

TEST_F(AllocatedBlocks, WindowsOfOthersDoNotKeepTheLastBlocksFromAnybody) {
  // Many files, each with a window; together the windows cover more than is free.
  std::vector<Inode> files(600);
  for (Inode& file : files) file.mode = S_IFREG;
  const std::size_t free = volume().groups.free_blocks();
  for (std::size_t i = 0; i < free; ++i) ASSERT_TRUE(take(files[i % files.size()], 9000)) << i << " of " << free;
  EXPECT_EQ(volume().groups.free_blocks(), 0U);
}

TEST_F(AllocatedBlocks, WhatIsTheVolumesOwnOrFreeAlreadyIsNotFreed) {
  const std::set<std::uint32_t> before = free_blocks();
  const GroupDescriptor group = volume().groups[GroupNumber(1)];
  give_back(0, 1);
  give_back(1, 1);
  give_back(8193, 1);  // the copy of the superblock in group 1
  give_back(group.block_bitmap, 1);
  give_back(group.inode_bitmap - 1, 3);
  give_back(group.inode_table + 3, 1);
  give_back(volume().geometry.block_count - 1, 2);
  give_back(0xFFFFFFFF, 0xFFFF);
  give_back(*before.begin(), 1);
  EXPECT_EQ(volume().damage_count, 9U);
  EXPECT_EQ(free_blocks(), before);
  EXPECT_EQ(volume().groups.free_blocks(), before.size());
  volume().damage_count = 0;
}

TEST_F(AllocatedBlocks, AFreedStretchMayCrossGroups) {
  std::set<std::uint32_t> taken;
  while (const auto block = take(directory_, 16385 - 20)) {
    taken.insert(block->value);
    if (taken.contains(16384) && taken.contains(16385 + 300)) break;
  }
  // Group 2 holds no copy of the superblock, but bitmaps: the stretch ends before them.
  const std::uint32_t begin = 16384 - 10;
  const auto before = volume().groups.free_blocks();
  const std::uint32_t end = std::min<std::uint32_t>(volume().groups[GroupNumber(2)].block_bitmap, 16385);
  give_back(begin, end - begin);
  EXPECT_EQ(volume().groups.free_blocks(), before + (end - begin));
  EXPECT_EQ(volume().damage_count, 0U);
}

TEST_F(AllocatedBlocks, ABitmapThatContradictsItsGroupIsNotUsed) {
  {
    const HostEntry inside(mounted_.host());
    const GroupDescriptor& group = volume().groups[GroupNumber(1)];
    auto bitmap = volume().cache->read(BlockNumber(group.block_bitmap), {});
    clear_bit((*bitmap)->data, volume().geometry.bit_of(BlockNumber(group.inode_table)) + 1);
  }
  for (int i = 0; i < 100; ++i) {
    const auto block = take(file_, 9000);
    ASSERT_TRUE(block);
    EXPECT_NE(volume().geometry.group_of(*block), GroupNumber(1));
  }
  EXPECT_EQ(volume().damage_count, 1U) << "found once";
  const HostEntry inside(mounted_.host());
  auto handle = volume().journal->start(8);
  EXPECT_EQ(volume().blocks->release(*handle, BlockNumber(9000), 1).error().value, EUCLEAN);
  volume().damage_count = 0;
}

TEST_F(AllocatedBlocks, CountersAndBitmapsFollowAModelThroughRandomUse) {
  std::mt19937 engine(11);
  const auto random = [&](std::uint32_t below) { return static_cast<std::uint32_t>(engine() % below); };
  std::set<std::uint32_t> free = free_blocks();
  std::vector<std::uint32_t> taken;
  std::vector<Inode> files(5);
  for (Inode& file : files) file.mode = S_IFREG;
  for (int step = 0; step < 60000; ++step) {
    // Phases of growing and shrinking, so that the volume is nearly full and nearly empty in turn.
    const bool grow = random(10) < ((step / 12000) % 2 == 0 ? 9U : 2U);
    if (grow) {
      const std::uint32_t which = random(6);
      const auto block = take(which == 5 ? directory_ : files[which], random(33000));
      ASSERT_EQ(bool(block), !free.empty()) << step;
      if (!block) continue;
      ASSERT_EQ(free.erase(block->value), 1U) << "given out twice: " << block->value;
      taken.push_back(block->value);
    } else if (!taken.empty()) {
      const std::uint32_t at = random(static_cast<std::uint32_t>(taken.size()));
      give_back(taken[at], 1);
      free.insert(taken[at]);
      taken[at] = taken.back();
      taken.pop_back();
    }
    if (random(50) == 0) volume().blocks->drop_window(files[random(5)]);
    ASSERT_EQ(volume().groups.free_blocks(), free.size());
    if (step % 10000 == 0) {
      ASSERT_EQ(free_blocks(), free);
    }
  }
  EXPECT_EQ(free_blocks(), free);
  for (std::uint32_t i = 0; i < volume().geometry.group_count; ++i) {
    const GroupNumber group(i);
    const auto in_group = std::count_if(free.begin(), free.end(), [&](std::uint32_t block) {
      return volume().geometry.group_of(BlockNumber(block)) == group;
    });
    EXPECT_EQ(volume().groups[group].free_blocks_count, in_group);
  }
}

class JournaledBlocks : public AllocatedBlocks {
 protected:
  JournaledBlocks() : AllocatedBlocks(true) {}
};

TEST_F(JournaledBlocks, ABlockFreedInATransactionIsNotGivenOutAgainBeforeItHasCommitted) {
  const std::uint32_t block = take(directory_, 9500)->value;
  mounted_.commit();
  give_back(block, 1);
  EXPECT_NE(take(directory_, block)->value, block);
  mounted_.commit();
  EXPECT_EQ(take(directory_, block)->value, block);
}

TEST_F(JournaledBlocks, NorIsOneThatWasTakenAndFreedInTheSameTransaction) {
  ASSERT_TRUE(take(directory_, 9400));  // the bitmap is in the transaction
  const std::uint32_t block = take(directory_, 9500)->value;
  give_back(block, 1);
  EXPECT_NE(take(directory_, block)->value, block);
  mounted_.commit();
  EXPECT_EQ(take(directory_, block)->value, block);
}

TEST_F(JournaledBlocks, WhenOnlySuchBlocksAreLeftACommitMakesRoom) {
  std::vector<std::uint32_t> taken;
  while (const auto block = take(file_, 9000)) taken.push_back(block->value);
  mounted_.commit();
  for (std::size_t i = 0; i < 20; ++i) give_back(taken[i], 1);
  EXPECT_EQ(volume().groups.free_blocks(), 20U);
  EXPECT_EQ(take(file_, 9000).error().value, ENOSPC);
  mounted_.commit();
  for (std::size_t i = 0; i < 20; ++i) EXPECT_TRUE(take(file_, 9000));
  EXPECT_EQ(take(file_, 9000).error().value, ENOSPC);
}

// ---- through the block map ----

TEST(FullVolume, ABranchThatCannotBeAllocatedWholeLeavesEverythingAsItWas) {
  for (const bool journal : {false, true}) {
    TestVolumeImage image(8 << 20, small_blocks(journal));
    {
      MountedVolume mounted(image.device());
      const InodeReference root = mounted.root();
      const InodeReference filler = mounted.create(*root, "filler");
      const InodeReference file = mounted.create(*root, "file");
      // The file's block 70,000 needs three indirect blocks beside its own; 12 + 256 needs two.
      std::uint32_t at = 0;
      while (mounted.volume().groups.free_blocks() > 3) mounted.must_put(*filler, at++);
      for (const std::uint64_t left : {3U, 2U, 1U}) {
        while (mounted.volume().groups.free_blocks() > left) mounted.must_put(*filler, at++);
        const auto before = mounted.counts();
        const auto slots = file->block;
        EXPECT_EQ(mounted.put_block(*file, 70000).error().value, ENOSPC);
        EXPECT_EQ(mounted.counts(), before);
        EXPECT_EQ(file->block, slots);
        EXPECT_EQ(file->sectors, 0U);
        mounted.commit();
      }
      ASSERT_TRUE(mounted.cut(*filler, std::uint64_t{at - 20} * 1024));
      mounted.commit();
      EXPECT_TRUE(mounted.put_block(*file, 70000));
      EXPECT_EQ(file->sectors, 8U);
      EXPECT_EQ(mounted.volume().damage_count, 0U);
    }
    IOTAPE_EXPECT_E2FSCK_CLEAN(image.device());
  }
}

}  // namespace
}  // namespace iotape::ext3
