// Where new inodes and blocks come to lie: small cases worked out by hand, and what was measured on kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "replayer/ext3/allocator/bitmap.h"
#include "replayer/ext3/allocator/classic_placement.h"
#include "replayer/ext3/allocator/group_choice.h"
#include "replayer/ext3/allocator/leaf_placement.h"
#include "replayer/ext3/allocator/orlov_placement.h"
#include "tests/ext3/support/mounted_volume.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3 {
namespace {

using test::MountedVolume;
using test::TestVolumeImage;

// The volume that the kernel's placements were measured on: 64 groups of 32,768 blocks of 4 KiB and 8,192 inodes, or
// the same shape in less memory (group sizes are those of the real one).
FilesystemOptions measured_shape() {
  FilesystemOptions options;
  options.block_size = 4096;
  return options;
}
constexpr std::uint64_t kMeasuredBytes = std::uint64_t{8} << 30;

// A volume whose allocators can be asked without making files.
class Placements : public testing::Test {
 protected:
  explicit Placements(std::uint64_t bytes = kMeasuredBytes, const FilesystemOptions& options = measured_shape())
      : image_(bytes, options), mounted_(image_.device()) {
    parent_.mode = S_IFDIR | 0755;
  }
  Volume& volume() { return mounted_.volume(); }
  // Takes an inode's number as a new file or directory of the parent would.
  InodeNumber take(InodeAllocator& allocator, InodeNumber parent, std::uint32_t mode, FileBlock leaf = FileBlock(0)) {
    const HostEntry inside(mounted_.host());
    parent_.number = parent;
    auto handle = volume().journal->start(8);
    const auto inode = allocator.allocate(*handle, {parent_, mode, "", leaf});
    return inode ? *inode : kNoInode;
  }
  void give_back(InodeAllocator& allocator, InodeNumber inode, bool directory = false) {
    const HostEntry inside(mounted_.host());
    auto handle = volume().journal->start(8);
    EXPECT_TRUE(allocator.release(*handle, inode, directory));
  }
  std::uint32_t group(InodeNumber inode) { return volume().geometry.group_of(inode).value; }
  // Pretends that a group holds so much more or less.
  void change(std::uint32_t in_group, const GroupChange& by) {
    const HostEntry inside(mounted_.host());
    auto handle = volume().journal->start(4);
    EXPECT_TRUE(volume().journal->get_write_access(*handle, volume().groups.buffer(GroupNumber(in_group))));
    volume().groups.change(*volume().journal, *handle, GroupNumber(in_group), by);
  }
  std::vector<GroupDescriptor> descriptors() {
    std::vector<GroupDescriptor> all;
    for (std::uint32_t i = 0; i < volume().geometry.group_count; ++i) all.push_back(volume().groups[GroupNumber(i)]);
    return all;
  }

  TestVolumeImage image_;
  MountedVolume mounted_;
  Inode parent_;
};

// ---- inodes that are not directories ----

TEST_F(Placements, FilesOfADirectoryInGroupTenGoOnInTwelveAndFourteenAsMeasured) {
  ASSERT_EQ(volume().geometry.group_count, 64U);
  ASSERT_EQ(volume().geometry.inodes_per_group, 8192U);
  InodeAllocator allocator(volume(), make_placement_policy(InodePlacement::kOrlov, 1));
  const InodeNumber directory(81921);
  ASSERT_EQ(group(directory), 10U);
  // The kernel's directory took inode 81921 itself, and the two that it found taken beside it.
  std::map<std::uint32_t, std::uint32_t> per_group;
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < 3 * 8192; ++i) {
    const std::uint32_t at = group(take(allocator, directory, S_IFREG));
    if (order.empty() || order.back() != at) order.push_back(at);
    ++per_group[at];
  }
  EXPECT_EQ(order, (std::vector<std::uint32_t>{10, 12, 14}));
  EXPECT_EQ(per_group[10], 8192U);
  EXPECT_EQ(per_group[12], 8192U);
}

TEST(ProbeGroups, StepsAreTheParentsThenOneTwoFourFromTheSumOn) {
  const auto visited = [](std::uint32_t groups, std::uint32_t home, std::uint32_t parent) {
    std::vector<std::uint32_t> all;
    (void)probe_groups(groups, GroupNumber(home), InodeNumber(parent), [&](GroupNumber group) {
      all.push_back(group.value);
      return false;
    });
    return all;
  };
  // (10 + 81921) % 64 = 11; then +1, +2, +4, +8, +16, +32.
  EXPECT_EQ(visited(64, 10, 81921), (std::vector<std::uint32_t>{10, 12, 14, 18, 26, 42, 10}));
  EXPECT_EQ(visited(10, 3, 4), (std::vector<std::uint32_t>{3, 8, 0, 4, 2}));
  EXPECT_EQ(visited(1, 0, 2), (std::vector<std::uint32_t>{0}));
}

TEST_F(Placements, AFileNeedsAFreeBlockInItsGroupAsWellUnlessNoneHasBoth) {
  InodeAllocator allocator(volume(), make_placement_policy(InodePlacement::kOrlov, 1));
  const auto real = descriptors();
  change(10, {.free_blocks = -std::int32_t{real[10].free_blocks_count}});
  EXPECT_EQ(group(take(allocator, InodeNumber(81921), S_IFREG)), 12U);
  for (std::uint32_t i = 0; i < 64; ++i)
    if (i != 10) change(i, {.free_blocks = -std::int32_t{real[i].free_blocks_count}});
  EXPECT_EQ(group(take(allocator, InodeNumber(81921), S_IFREG)), 11U) << "the next group with a free inode";
  for (std::uint32_t i = 0; i < 64; ++i) change(i, {.free_blocks = std::int32_t{real[i].free_blocks_count}});
}

TEST_F(Placements, TheLowestFreeInodeOfTheGroupIsTakenAndReusedAtOnce) {
  InodeAllocator allocator(volume(), make_placement_policy(InodePlacement::kOrlov, 1));
  EXPECT_EQ(take(allocator, kRootInode, S_IFREG), InodeNumber(12)) << "11 is lost+found";
  EXPECT_EQ(take(allocator, kRootInode, S_IFREG), InodeNumber(13));
  EXPECT_EQ(take(allocator, kRootInode, S_IFREG), InodeNumber(14));
  give_back(allocator, InodeNumber(12));
  EXPECT_EQ(take(allocator, kRootInode, S_IFREG), InodeNumber(12));
  EXPECT_EQ(take(allocator, kRootInode, S_IFREG), InodeNumber(15));
}

// ---- directories ----

TEST_F(Placements, OrlovSpreadsDirectoriesOfTheRootOverTheGroupsWithFewest) {
  InodeAllocator allocator(volume(), make_placement_policy(InodePlacement::kOrlov, 1));
  std::vector<std::uint32_t> per_group(64);
  for (int i = 0; i < 128; ++i) ++per_group[group(take(allocator, kRootInode, S_IFDIR))];
  // Room differs from group to group (copies of the superblock, the journal): those below average get none. Among the
  // others nobody gets a second directory before all have one. The kernel: 55 groups, at most 3 each.
  const auto used = std::count_if(per_group.begin(), per_group.end(), [](std::uint32_t n) { return n != 0; });
  EXPECT_GE(used, 40);
  EXPECT_LE(*std::max_element(per_group.begin(), per_group.end()), 4U);
}

TEST_F(Placements, OrlovStartsSomewhereElseWithAnotherSeedAndTheSameWithTheSame) {
  const auto first_ten = [&](std::uint64_t seed) {
    InodeAllocator allocator(volume(), make_placement_policy(InodePlacement::kOrlov, seed));
    std::vector<InodeNumber> taken;
    for (int i = 0; i < 10; ++i) taken.push_back(take(allocator, kRootInode, S_IFDIR));
    for (const InodeNumber inode : taken) give_back(allocator, inode, true);
    return taken;
  };
  EXPECT_EQ(first_ten(1), first_ten(1));
  EXPECT_NE(first_ten(1), first_ten(2));
}

TEST_F(Placements, OrlovFillsADeepDirectorysGroupTo512AndTheAverageAsMeasured) {
  InodeAllocator allocator(volume(), make_placement_policy(InodePlacement::kOrlov, 1));
  // A directory in group 62, of whose subdirectories the kernel put 520 there before it went on in 63: the limit is
  // ipg / 16 + ndirs / ngroups, so with 2 directories in each group before, 2 + n < 512 + (130 + n) / 64 up to n = 519.
  for (std::uint32_t i = 0; i < 128; ++i) change(i % 64, {.directories = 1});
  const InodeNumber parent = volume().geometry.inode_at(GroupNumber(62), 0);
  std::vector<std::uint32_t> per_group(64);
  for (int i = 0; i < 520; ++i) ASSERT_EQ(group(take(allocator, parent, S_IFDIR)), 62U) << i;
  EXPECT_EQ(group(take(allocator, parent, S_IFDIR)), 63U);
  // ext4 then stays in 63 (i_last_alloc_group). ext3 looks at the parent's group first each time, so that it takes one
  // more there for every 64 directories.
  for (int i = 521; i < 1000; ++i) ++per_group[group(take(allocator, parent, S_IFDIR))];
  EXPECT_EQ(520 + per_group[62], 512U + 1130 / 64 - 2);
  EXPECT_EQ(1 + per_group[63], 1000 - (512U + 1130 / 64 - 2));
  for (int i = 1000; i < 6000; ++i) ++per_group[group(take(allocator, parent, S_IFDIR))];
  EXPECT_EQ(per_group[1], 512U + 6130 / 64 - 2) << "round the end";
  for (std::uint32_t i = 0; i < 128; ++i) change(i % 64, {.directories = -1});
}

TEST_F(Placements, OrlovTreatsAFlaggedDirectoryLikeTheRoot) {
  InodeAllocator allocator(volume(), make_placement_policy(InodePlacement::kOrlov, 1));
  parent_.flags = kInodeTopDirectory;
  std::set<std::uint32_t> used;
  for (int i = 0; i < 20; ++i) used.insert(group(take(allocator, InodeNumber(81921), S_IFDIR)));
  EXPECT_GT(used.size(), 15U);
}

TEST_F(Placements, ADirectoryLeavesAGroupThatIsShortOfInodesOrBlocks) {
  InodeAllocator allocator(volume(), make_placement_policy(InodePlacement::kOrlov, 1));
  const InodeNumber parent(81921);
  EXPECT_EQ(group(take(allocator, parent, S_IFDIR)), 10U);
  // Less than the average by more than a quarter of a group.
  change(10, {.free_inodes = -2500});
  EXPECT_EQ(group(take(allocator, parent, S_IFDIR)), 11U);
  change(11, {.free_blocks = -9000});
  EXPECT_EQ(group(take(allocator, parent, S_IFDIR)), 12U);
  change(10, {.free_inodes = 2500});
  change(11, {.free_blocks = 9000});
}

TEST_F(Placements, ClassicTakesTheGroupWithMostFreeBlocksWhereverTheParentIs) {
  InodeAllocator allocator(volume(), make_placement_policy(InodePlacement::kClassic, 1));
  const auto all = descriptors();
  const auto most = std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::uint16_t{a.free_blocks_count} < std::uint16_t{b.free_blocks_count};
  });
  const auto expected = static_cast<std::uint32_t>(most - all.begin());
  EXPECT_EQ(group(take(allocator, InodeNumber(81921), S_IFDIR)), expected);
  change(20, {.free_blocks = 500});
  EXPECT_EQ(group(take(allocator, InodeNumber(81921), S_IFDIR)), 20U);
  change(20, {.free_inodes = -4000});
  EXPECT_NE(group(take(allocator, InodeNumber(81921), S_IFDIR)), 20U) << "fewer inodes than the average";
  change(20, {.free_blocks = -500, .free_inodes = 4000});
}

// ---- runs tied to directory leaves ----

TEST_F(Placements, LeafGivesEachDirectoryBlockRunsOfItsOwn) {
  InodeAllocator allocator(volume(), make_placement_policy(InodePlacement::kLeaf, 1));
  const std::uint32_t run = volume().geometry.inodes_per_block();
  ASSERT_EQ(run, 16U);
  const InodeNumber directory = volume().geometry.inode_at(GroupNumber(10), 0);
  // Names go into four blocks in turn.
  std::map<std::uint32_t, std::set<std::uint32_t>> runs_of_leaf;
  for (std::uint32_t i = 0; i < 4 * 40; ++i) {
    const InodeNumber inode = take(allocator, directory, S_IFREG, FileBlock(i % 4));
    EXPECT_EQ(group(inode), 10U);
    runs_of_leaf[i % 4].insert((inode.value - 1) / run);
  }
  std::set<std::uint32_t> all;
  for (const auto& [leaf, runs] : runs_of_leaf) {
    EXPECT_EQ(runs.size(), 3U) << "40 inodes in runs of 16";
    all.insert(runs.begin(), runs.end());
  }
  EXPECT_EQ(all.size(), 12U) << "no run has two leaves";
}

TEST_F(Placements, LeafTakesFreedInodesOfItsRunAgain) {
  InodeAllocator allocator(volume(), make_placement_policy(InodePlacement::kLeaf, 1));
  const InodeNumber directory = volume().geometry.inode_at(GroupNumber(10), 0);
  std::vector<InodeNumber> taken;
  for (int i = 0; i < 10; ++i) taken.push_back(take(allocator, directory, S_IFREG, FileBlock(7)));
  give_back(allocator, taken[3]);
  EXPECT_EQ(take(allocator, directory, S_IFREG, FileBlock(8)).value, taken[0].value + 16) << "another block's new run";
  EXPECT_EQ(take(allocator, directory, S_IFREG, FileBlock(7)), taken[3]);
}

class SmallPlacements : public Placements {
 protected:
  static FilesystemOptions options() {
    FilesystemOptions chosen;
    chosen.block_size = 1024;
    chosen.inode_count = 1024;
    chosen.features.has_journal = false;
    return chosen;
  }
  SmallPlacements() : Placements(64 << 20, options()) {}
};

TEST_F(SmallPlacements, EveryPolicyGivesOutEveryInodeOnceAndThenNone) {
  for (const InodePlacement placement : {InodePlacement::kOrlov, InodePlacement::kClassic, InodePlacement::kLeaf})
    for (const std::uint32_t mode : {S_IFREG, S_IFDIR}) {
      InodeAllocator allocator(volume(), make_placement_policy(placement, 1));
      const std::uint64_t free = volume().groups.free_inodes();
      std::set<InodeNumber> taken;
      for (std::uint64_t i = 0; i < free; ++i)
        taken.insert(take(allocator, kRootInode, mode, FileBlock(static_cast<std::uint32_t>(i * 7 % 30))));
      EXPECT_EQ(taken.size(), free);
      EXPECT_FALSE(taken.contains(kNoInode));
      EXPECT_GE(taken.begin()->value, 12U);
      EXPECT_EQ(take(allocator, kRootInode, mode), kNoInode);
      for (const InodeNumber inode : taken) give_back(allocator, inode, mode == S_IFDIR);
      EXPECT_EQ(volume().groups.free_inodes(), free);
    }
}

TEST_F(SmallPlacements, WhatCountersPromiseAndBitmapsDoNotHoldIsPassedOver) {
  for (const InodePlacement placement : {InodePlacement::kOrlov, InodePlacement::kLeaf}) {
    InodeAllocator allocator(volume(), make_placement_policy(placement, 1));
    const std::uint32_t per_group = volume().geometry.inodes_per_group;
    const GroupNumber home(2);
    {
      const HostEntry inside(mounted_.host());
      auto bitmap = volume().cache->read(BlockNumber(volume().groups[home].inode_bitmap), {});
      for (std::uint32_t bit = 0; bit < per_group; ++bit) set_bit((*bitmap)->data, bit);
    }
    const InodeNumber parent = volume().geometry.inode_at(home, 0);
    const InodeNumber inode = take(allocator, parent, S_IFREG);
    EXPECT_NE(inode, kNoInode);
    EXPECT_NE(group(inode), 2U);
    give_back(allocator, inode);
    const HostEntry inside(mounted_.host());
    auto bitmap = volume().cache->read(BlockNumber(volume().groups[home].inode_bitmap), {});
    for (std::uint32_t bit = 0; bit < per_group; ++bit) clear_bit((*bitmap)->data, bit);
  }
}

TEST_F(SmallPlacements, DamageIsCountedAndLeftAlone) {
  InodeAllocator allocator(volume(), make_placement_policy(InodePlacement::kOrlov, 1));
  const std::uint64_t free = volume().groups.free_inodes();
  give_back(allocator, InodeNumber(500));
  give_back(allocator, InodeNumber(8));
  give_back(allocator, InodeNumber(0));
  give_back(allocator, InodeNumber(1025));
  EXPECT_EQ(volume().groups.free_inodes(), free);
  EXPECT_EQ(volume().damage_count, 4U);
  volume().damage_count = 0;
}

// ---- cost ----

// Blocks asked of the cache: every step of a search that is more than arithmetic over one bitmap.
class Cost {
 public:
  explicit Cost(Volume& volume) : cache_(*volume.cache), before_(asked()) {}
  [[nodiscard]] std::uint64_t spent() const { return asked() - before_; }

 private:
  [[nodiscard]] std::uint64_t asked() const { return cache_.figures().hits + cache_.figures().misses; }
  BufferCache& cache_;
  std::uint64_t before_;
};

TEST_F(Placements, AnInodeCostsTheSameOnAnEmptyVolumeAndOnOneWithASingleGroupLeft) {
  for (const InodePlacement placement : {InodePlacement::kOrlov, InodePlacement::kClassic, InodePlacement::kLeaf}) {
    InodeAllocator allocator(volume(), make_placement_policy(placement, 1));
    const auto cost = [&] {
      const Cost each(volume());
      for (int i = 0; i < 100; ++i) take(allocator, InodeNumber(81921), S_IFREG, FileBlock(3));
      return each.spent();
    };
    const std::uint64_t empty = cost();
    EXPECT_LE(empty, 300U);
    const auto all = descriptors();
    for (std::uint32_t i = 0; i < 64; ++i)
      if (i != 40) change(i, {.free_inodes = -std::int32_t{all[i].free_inodes_count}});
    EXPECT_LE(cost(), empty + 10);
    for (std::uint32_t i = 0; i < 64; ++i)
      if (i != 40) change(i, {.free_inodes = std::int32_t{all[i].free_inodes_count}});
  }
}

TEST_F(Placements, ABlockCostsTheSameOnAnEmptyVolumeAndOnOneWithASingleGroupLeft) {
  for (const std::uint32_t mode : {S_IFREG, S_IFDIR}) {
    Inode file;
    file.mode = mode;
    const auto cost = [&] {
      const HostEntry inside(mounted_.host());
      const Cost each(volume());
      auto handle = volume().journal->start(200);
      for (std::uint32_t i = 0; i < 100; ++i)
        EXPECT_TRUE(volume().blocks->allocate(*handle, file, BlockNumber(50000), true));
      volume().blocks->drop_window(file);
      return each.spent();
    };
    const std::uint64_t empty = cost();
    EXPECT_LE(empty, 200U);
    const auto all = descriptors();
    for (std::uint32_t i = 0; i < 64; ++i)
      if (i != 40) change(i, {.free_blocks = -std::int32_t{all[i].free_blocks_count}});
    EXPECT_LE(cost(), empty + 10);
    for (std::uint32_t i = 0; i < 64; ++i)
      if (i != 40) change(i, {.free_blocks = std::int32_t{all[i].free_blocks_count}});
  }
}

}  // namespace
}  // namespace iotape::ext3
