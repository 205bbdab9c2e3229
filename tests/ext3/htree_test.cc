#include "replayer/ext3/directory/htree.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <sstream>

#include "replayer/ext3/directory/htree_frame.h"
#include "tests/ext3/support/directory_bench.h"
#include "tests/ext3/support/mounted_disk.h"

namespace iotape::ext3 {
namespace {

using test::DirectoryBench;
using test::DirectoryBenchOptions;

DirectoryBenchOptions blocks_of(std::uint32_t block_size, std::uint64_t bytes = 64 << 20) {
  DirectoryBenchOptions options;
  options.bytes = bytes;
  options.filesystem = DirectoryBenchOptions::without_journal(block_size);
  return options;
}

std::vector<std::string> without_dots(std::vector<std::string> names) {
  std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
  return names;
}

struct Shape {
  std::uint32_t levels = 0;
  std::uint32_t root_count = 0;
  std::uint32_t root_limit = 0;
  std::uint32_t leaves = 0;
  std::uint32_t continued = 0;  // leaves that go on with the hash before
  std::uint32_t nodes_that_begin_continued = 0;
};

// By walking every leaf the index names.
Shape shape_of(DirectoryBench& bench) {
  const HostEntry inside(bench.host());
  HtreePath path;
  NameHasher hasher = default_hasher(bench.volume());
  EXPECT_EQ(*open_index(bench.volume(), bench.directory(), path, hasher), IndexState::kSound);
  EXPECT_EQ(*descend_index(bench.volume(), bench.directory(), 0, path), IndexState::kSound);
  Shape shape{path.count - 1, entry_count(path.frames[0]), entry_limit(path.frames[0]), 1, 0, 0};
  for (auto next = next_leaf_hash(path); next; next = next_leaf_hash(path)) {
    EXPECT_EQ(*advance_leaf(bench.volume(), bench.directory(), path), IndexState::kSound);
    ++shape.leaves;
    shape.continued += *next & 1U;
    if (path.count == 2 && path.frames[1].position == 0) shape.nodes_that_begin_continued += *next & 1U;
  }
  return shape;
}

TEST(Htree, BeginsWhenASingleBlockOverflows) {
  DirectoryBench bench;
  std::vector<std::string> names;
  // 24 bytes of "." and "..", then 20 a name.
  for (int i = 0; i < 203; ++i) {
    names.push_back(fmt::format("file{:08}", i));
    ASSERT_EQ(bench.insert(names.back()), 0);
  }
  EXPECT_EQ(bench.blocks(), 1U);
  EXPECT_FALSE(bench.indexed());
  names.emplace_back("file00000203");
  ASSERT_EQ(bench.insert(names.back()), 0);
  EXPECT_EQ(bench.blocks(), 3U);
  EXPECT_TRUE(bench.indexed());
  for (const std::string& name : names) EXPECT_NE(bench.lookup(name), kNoInode) << name;
  bench.expect_clean(names);
}

TEST(Htree, HasLimitsThatFillItsBlocks) {
  for (const auto& [block_size, root_limit] : {std::pair{1024U, 124U}, {2048U, 252U}, {4096U, 508U}}) {
    DirectoryBench bench(blocks_of(block_size));
    for (int i = 0; i < 400; ++i) ASSERT_EQ(bench.insert(fmt::format("file{:08}", i)), 0);
    EXPECT_EQ(shape_of(bench).root_limit, root_limit);
  }
}

TEST(Htree, GrowsASecondLevelAndKeepsEveryName) {
  DirectoryBench bench(blocks_of(1024));
  std::vector<std::string> names;
  for (int i = 0; i < 20000; ++i) names.push_back(fmt::format("file{:08}", i));
  for (const std::string& name : names) ASSERT_EQ(bench.insert(name), 0);
  const Shape shape = shape_of(bench);
  EXPECT_EQ(shape.levels, 1U);
  EXPECT_GT(shape.root_count, 3U);
  // Halves that fill again: about 70 in 100 of what the leaves could hold.
  EXPECT_NEAR(20000.0 * 20 / (shape.leaves * 1024.0), 0.70, 0.06);
  for (const std::string& name : names) ASSERT_NE(bench.lookup(name), kNoInode) << name;
  EXPECT_EQ(bench.lookup("absent"), kNoInode);
  bench.expect_clean(names);
}

TEST(Htree, LooksToDebugfsAsItDoesToUs) {
  DirectoryBench bench(blocks_of(1024));
  std::set<std::string> names;
  for (int i = 0; i < 3000; ++i) names.insert(fmt::format("file{:08}", i));
  for (const std::string& name : names) ASSERT_EQ(bench.insert(name), 0);
  const Shape shape = shape_of(bench);
  bench.finish();
  const iotape::test::ScratchDirectory scratch;
  test::TestVolumeImage::save_device(bench.device(), scratch / "image");
  std::istringstream dump(iotape::test::run_program({"debugfs", "-R", "htree_dump /d", scratch / "image"}).out);
  std::uint32_t leaves = 0;
  std::size_t listed = 0;
  for (std::string line; std::getline(dump, line);) {
    if (line.find("Reading directory block") != std::string::npos) ++leaves;
    for (std::size_t at = line.find("file0"); at != std::string::npos; at = line.find("file0", at + 1)) ++listed;
    EXPECT_EQ(line.find("invalid"), std::string::npos) << line;
  }
  EXPECT_EQ(leaves, shape.leaves);
  EXPECT_EQ(listed, names.size());
}

TEST(Htree, IsFullWhenItsRootIsAndStillTakesWhatFits) {
  DirectoryBenchOptions options = blocks_of(1024);
  options.filesystem.hash_seed =
      Uuid{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF};
  DirectoryBench bench(options);
  int count = 0;
  int outcome = 0;
  std::vector<std::string> names;
  while (outcome == 0) {
    names.push_back(fmt::format("{:0>250}", count));
    outcome = bench.insert(names.back());
    ASSERT_LT(++count, 50000);
  }
  names.pop_back();
  EXPECT_EQ(outcome, ENOSPC);
  EXPECT_EQ(names.size(), 20256U);  // as many as Linux 6.18 takes with this seed
  const Shape shape = shape_of(bench);
  EXPECT_EQ(shape.root_count, 124U);
  EXPECT_EQ(shape.levels, 1U);
  EXPECT_GT(bench.volume().groups.free_blocks(), 1000U);
  // A name that did not go in left nothing behind, and those that fit a leaf still go in.
  EXPECT_EQ(bench.lookup(fmt::format("{:0>250}", count - 1)), kNoInode);
  for (int i = 0; i < 2000; ++i) {
    names.push_back(fmt::format("short{}", i));
    EXPECT_EQ(bench.insert(names.back()), 0);
  }
  for (std::size_t i = 0; i < names.size(); i += 7) ASSERT_NE(bench.lookup(names[i]), kNoInode);
  bench.expect_clean(names);
}

// ---- many names of one hash ----

// 250 bytes each, all of one legacy hash.
std::vector<std::string> names_of_equal_hash() {
  std::istringstream endings(iotape::test::read_file(IOTAPE_SOURCE_DIR "/tests/ext3/data/equal_legacy_hashes.txt"));
  std::vector<std::string> names;
  for (std::string line; std::getline(endings, line);)
    if (line[0] != '#') names.push_back(std::string(243, 'x') + line);
  return names;
}

DirectoryBenchOptions legacy_blocks_of(std::uint32_t block_size) {
  DirectoryBenchOptions options = blocks_of(block_size);
  options.filesystem.hash_version = kHashLegacy;
  return options;
}

TEST(HtreeCollisions, ContinueAcrossLeavesAndIndexNodes) {
  const std::vector<std::string> names = names_of_equal_hash();
  ASSERT_GE(names.size(), 500U);
  DirectoryBench bench(legacy_blocks_of(1024));
  for (const std::string& name : names) ASSERT_EQ(bench.insert(name), 0);
  const Shape shape = shape_of(bench);
  EXPECT_GE(shape.continued, 150U);
  EXPECT_GE(shape.nodes_that_begin_continued, 1U);
  for (const std::string& name : names) ASSERT_NE(bench.lookup(name), kNoInode);
  for (const std::size_t batch : {std::size_t{1}, std::size_t{10}, SIZE_MAX}) {
    std::vector<std::string> listed = without_dots(bench.list(batch));
    std::sort(listed.begin(), listed.end());
    EXPECT_EQ(listed.size(), names.size());
    EXPECT_EQ(std::adjacent_find(listed.begin(), listed.end()), listed.end());
  }
  bench.expect_clean(names);
}

TEST(HtreeCollisions, AreErasedAndPutBackAmongOthers) {
  std::vector<std::string> equal = names_of_equal_hash();
  equal.resize(60);
  DirectoryBench bench(legacy_blocks_of(1024));
  std::mt19937 random(3);
  std::set<std::string> names;
  for (int i = 0; i < 8000; ++i) {
    const bool one_of_many = random() % 2 == 0;
    const std::string name =
        one_of_many ? equal[random() % equal.size()] : fmt::format("other{:0>200}", random() % 900);
    if (names.erase(name) != 0) {
      ASSERT_EQ(bench.erase(name), 0);
    } else {
      names.insert(name);
      ASSERT_EQ(bench.insert(name), 0);
    }
  }
  for (const std::string& name : equal) ASSERT_EQ(bench.lookup(name) != kNoInode, names.contains(name));
  EXPECT_EQ(without_dots(bench.list(3)).size(), names.size());
  bench.expect_clean({names.begin(), names.end()});
}

// ---- no room on the volume ----

// Holds every free block of the volume and gives some back when told.
class Hoard {
 public:
  explicit Hoard(DirectoryBench& bench) : bench_(bench) {
    const HostEntry inside(bench_.host());
    Handle handle = *bench_.volume().journal->start(1000);
    while (auto block = bench_.volume().blocks->allocate(handle, bench_.directory(), BlockNumber(0), true))
      blocks_.push_back(*block);
  }
  void give(std::size_t count) {
    const HostEntry inside(bench_.host());
    Handle handle = *bench_.volume().journal->start(1000);
    for (; count > 0 && !blocks_.empty(); --count, blocks_.pop_back())
      EXPECT_TRUE(bench_.volume().blocks->release(handle, blocks_.back(), 1));
  }
  [[nodiscard]] std::size_t left() const { return blocks_.size(); }

 private:
  DirectoryBench& bench_;
  std::vector<BlockNumber> blocks_;
};

TEST(HtreeWithoutSpace, IsAValidTreeWhereverItStops) {
  DirectoryBench bench(blocks_of(1024, 16 << 20));
  Hoard hoard(bench);
  std::vector<std::string> names;
  int stopped_half_way = 0;
  // Long enough for the second level to come and to split; one block at a time, so that every insertion that takes two
  // stops between them.
  while (names.size() < 8000 && hoard.left() > 4) {
    const std::string name = fmt::format("{:0>120}", names.size());
    const std::uint32_t before = bench.blocks();
    int outcome = bench.insert(name);
    for (int given = 0; outcome == ENOSPC && given < 6; ++given) {
      ASSERT_EQ(bench.lookup(name), kNoInode);
      stopped_half_way += bench.blocks() != before ? 1 : 0;
      hoard.give(1);
      outcome = bench.insert(name);
    }
    ASSERT_EQ(outcome, 0);
    names.push_back(name);
    if (bench.blocks() <= before + 1) continue;
    for (const std::string& other : names) ASSERT_NE(bench.lookup(other), kNoInode) << names.size();
  }
  EXPECT_GT(stopped_half_way, 3);
  EXPECT_GT(shape_of(bench).root_count, 2U);
  hoard.give(hoard.left());
  bench.expect_clean(names);
}

TEST(HtreeWithoutSpace, IsCleanWhenTheVolumeIsFull) {
  DirectoryBench bench(blocks_of(1024, 2 << 20));
  std::vector<std::string> names;
  int outcome = 0;
  while (outcome == 0) {
    names.push_back(fmt::format("{:0>180}", names.size()));
    outcome = bench.insert(names.back());
  }
  names.pop_back();
  EXPECT_EQ(outcome, ENOSPC);
  bench.expect_clean(names);
}

// ---- ".." lies in the root ----

TEST(Htree, KeepsItsIndexWhenItsParentChanges) {
  DirectoryBench bench;
  for (int i = 0; i < 500; ++i) ASSERT_EQ(bench.insert(fmt::format("file{:08}", i)), 0);
  const Shape before = shape_of(bench);
  {
    const HostEntry inside(bench.host());
    Handle handle = *bench.volume().journal->start(1);
    ASSERT_TRUE(set_directory_parent(bench.volume(), handle, bench.directory(), InodeNumber(11)));
    ASSERT_TRUE(set_directory_parent(bench.volume(), handle, bench.directory(), kRootInode));
  }
  EXPECT_EQ(shape_of(bench).leaves, before.leaves);
  bench.finish();
  IOTAPE_EXPECT_E2FSCK_CLEAN(bench.device());
}

TEST(Htree, GrowsFromADirectoryWhoseParentRecordIsNotTheShortest) {
  DirectoryBench bench;
  for (int i = 0; i < 150; ++i) ASSERT_EQ(bench.insert(fmt::format("file{:08}", i)), 0);
  // ".." takes over the room of those that follow it.
  for (int i = 0; i < 40; ++i) ASSERT_EQ(bench.erase(fmt::format("file{:08}", i)), 0);
  std::vector<std::string> names;
  for (int i = 40; i < 150; ++i) names.push_back(fmt::format("file{:08}", i));
  // Too long for the gap behind "..": 800 bytes.
  for (int i = 0; i < 30; ++i) {
    names.push_back(fmt::format("{:0>250}", i));
    ASSERT_EQ(bench.insert(names.back()), 0);
  }
  EXPECT_TRUE(bench.indexed());
  for (const std::string& name : names) EXPECT_NE(bench.lookup(name), kNoInode);
  bench.expect_clean(names);
}

// ---- both ways with the kernel ----

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(HtreeLive, IsTheSameToTheKernelBothWays) {
  IOTAPE_NEEDS_RECORDER();
  for (const HashVersion hash : {kHashLegacy, kHashHalfMd4, kHashTea}) {
    const iotape::test::ScratchDirectory scratch;
    test::TestVolumeImage image(64 << 20, [hash] {
      FilesystemOptions options;
      options.block_size = 1024;
      options.inode_count = 16384;
      options.hash_version = hash;
      return options;
    }());
    test::MountedDisk ours(image.device());
    ASSERT_EQ(ours.make_directory("/d"), 0);
    for (int i = 0; i < 4000; ++i) ASSERT_EQ(ours.create(fmt::format("/d/a name of ours {}", i)), 0);
    for (int i = 0; i < 4000; i += 4) ASSERT_EQ(ours.unlink(fmt::format("/d/a name of ours {}", i)), 0);
    ours.unmount();
    test::TestVolumeImage::save_device(image.device(), scratch / "image");
    // Linked rather than made: a few inodes are enough.
    const auto kernel = iotape::test::run_mounting_shell(
        fmt::format("set -e; cd {}; mkdir m; mount -t ext3 -o loop image m; trap 'umount m' EXIT; cd m/d; "
                    "stat -c %n a*ours* > ../../stated; "
                    "seq -f 'a name of theirs %g' 3000 | xargs -d '\\n' touch; "
                    "seq -f 'a name of ours %g' 1 4 3999 | xargs -d '\\n' rm; ls -f; cd ../..; umount m; trap - EXIT",
                    scratch.path().string()));
    ASSERT_EQ(kernel.status, 0) << kernel.err;
    EXPECT_EQ(lines_of(iotape::test::read_file(scratch / "stated")).size(), 3000U);
    EXPECT_EQ(iotape::test::run_program({"/sbin/e2fsck", "-fn", scratch / "image"}).status, 0);
    const auto device = test::load_device(scratch / "image");
    test::MountedDisk again(*device);
    const std::vector<std::string> expected = lines_of(kernel.out);
    EXPECT_EQ(expected.size(), 5002U);
    std::vector<std::string> listed;
    const InodeReference directory = again.get("/d");
    const HostEntry inside(again.host());
    ASSERT_TRUE(read_directory(again.volume(), *directory, 0, [&listed](const DirectoryListing& listing) {
      listed.emplace_back(listing.name);
      return true;
    }));
    // The same order, but for names of one hash, which the legacy one has.
    const NameHasher hasher = default_hasher(again.volume());
    ASSERT_EQ(listed.size(), expected.size());
    for (std::size_t i = 2; i < listed.size(); ++i) ASSERT_EQ(hasher(listed[i]), hasher(expected[i])) << i;
    for (const std::string& name : expected) EXPECT_TRUE(probe_directory(again.volume(), *directory, name)->found());
  }
}

}  // namespace
}  // namespace iotape::ext3
