// What alloc=leaf is for: deleting a large directory in the order in which it is read.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/operations/namespace_operations.h"
#include "tests/ext3/support/mounted_volume.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3 {
namespace {

using test::MountedVolume;
using test::TestVolumeImage;

enum class DeleteOrder : std::uint8_t { kCreation, kReaddir };

struct Scenario {
  std::uint32_t files = 20000;
  std::uint64_t bytes = std::uint64_t{1} << 30;
  std::uint32_t journal_blocks = 1024;  // of 4 KiB
  bool remount_between = false;
};

struct Outcome {
  JournalFigures created;
  JournalFigures deleted;
};

std::vector<std::string> read_names(Volume& volume, Inode& directory) {
  std::vector<std::string> names;
  const SleepLockGuard locked(volume.host, directory.lock);
  const auto answer = read_directory(volume, directory, 0, [&](const DirectoryListing& entry) {
    if (entry.name != "." && entry.name != "..") names.emplace_back(entry.name);
    return true;
  });
  EXPECT_TRUE(answer);
  return names;
}

void create_files(MountedVolume& mounted, const std::vector<std::string>& names) {
  const InodeReference root = mounted.root();
  const HostEntry inside(mounted.host());
  const auto directory = look_up(mounted.volume(), *root, "d");
  ASSERT_TRUE(directory);
  for (const std::string& name : names)
    ASSERT_TRUE(create_node(mounted.volume(), **directory, name, {S_IFREG | 0644, 0, {}}, {})) << name;
}

JournalFigures difference(const JournalFigures& after, const JournalFigures& before) {
  JournalFigures by = after;
  by.transactions -= before.transactions;
  by.logged_blocks -= before.logged_blocks;
  by.checkpointed_blocks -= before.checkpointed_blocks;
  return by;
}

// Creates the files, mounts again, deletes them all.
Outcome run(InodePlacement placement, DeleteOrder order, const Scenario& scenario) {
  FilesystemOptions filesystem;
  filesystem.block_size = 4096;
  filesystem.journal_blocks = scenario.journal_blocks;
  TestVolumeImage image(scenario.bytes, filesystem);
  MountOptions options;
  options.placement = placement;
  options.commit_interval = Nanoseconds(3600'000'000'000);  // by size alone, whatever the machine's speed
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < scenario.files; ++i) names.push_back(fmt::format("f{:07}", i));

  Outcome outcome;
  const auto half = names.begin() + static_cast<std::ptrdiff_t>(names.size() / 2);
  {
    MountedVolume mounted(image.device(), options);
    { (void)mounted.make_directory(*mounted.root(), "d"); }
    create_files(mounted, scenario.remount_between ? std::vector(names.begin(), half) : names);
    outcome.created = mounted.volume().journal->figures();
  }
  if (scenario.remount_between) {
    MountedVolume mounted(image.device(), options);
    create_files(mounted, std::vector(half, names.end()));
  }
  {
    MountedVolume mounted(image.device(), options);
    const InodeReference root = mounted.root();
    const HostEntry inside(mounted.host());
    const auto directory = look_up(mounted.volume(), *root, "d");
    if (order == DeleteOrder::kReaddir) names = read_names(mounted.volume(), **directory);
    EXPECT_EQ(names.size(), scenario.files);
    const JournalFigures before = mounted.volume().journal->figures();
    for (const std::string& name : names) EXPECT_TRUE(unlink_name(mounted.volume(), **directory, name));
    (void)mounted.volume().journal->empty();
    outcome.deleted = difference(mounted.volume().journal->figures(), before);
  }
  IOTAPE_EXPECT_E2FSCK_CLEAN(image.device());
  return outcome;
}

void print(const char* what, const Outcome& outcome) {
  fmt::print("{:24} create {:4} transactions {:7} logged {:7} in place; delete {:4} {:7} {:7}\n", what,
             outcome.created.transactions, outcome.created.logged_blocks, outcome.created.checkpointed_blocks,
             outcome.deleted.transactions, outcome.deleted.logged_blocks, outcome.deleted.checkpointed_blocks);
}

TEST(LeafPlacement, DeletingInReaddirOrderTakesAboutAsManyTransactionsAsInCreationOrder) {
  const Scenario scenario;
  const Outcome creation = run(InodePlacement::kOrlov, DeleteOrder::kCreation, scenario);
  const Outcome readdir = run(InodePlacement::kOrlov, DeleteOrder::kReaddir, scenario);
  const Outcome leaf = run(InodePlacement::kLeaf, DeleteOrder::kReaddir, scenario);
  print("orlov, creation order", creation);
  print("orlov, readdir order", readdir);
  print("leaf, readdir order", leaf);
  EXPECT_LE(leaf.deleted.transactions, creation.deleted.transactions * 3 / 2 + 1);
  EXPECT_LE(leaf.deleted.logged_blocks, creation.deleted.logged_blocks * 3 / 2);
  EXPECT_GE(readdir.deleted.logged_blocks, leaf.deleted.logged_blocks * 5);
}

TEST(LeafPlacement, GoesOnAfterARemountWhereItWas) {
  Scenario scenario;
  const Outcome straight = run(InodePlacement::kLeaf, DeleteOrder::kReaddir, scenario);
  scenario.remount_between = true;
  const Outcome remounted = run(InodePlacement::kLeaf, DeleteOrder::kReaddir, scenario);
  print("leaf, remounted", remounted);
  EXPECT_LE(remounted.deleted.logged_blocks, straight.deleted.logged_blocks * 11 / 10);
}

// The table of 300,000 files at the journal that mke2fs gives such a volume.
TEST(LeafPlacementLong, AtTheDefaultJournalReaddirOrderCostsLikeCreationOrder) {
  Scenario scenario;
  scenario.files = 300000;
  scenario.bytes = std::uint64_t{8} << 30;
  scenario.journal_blocks = 16384;
  const Outcome creation = run(InodePlacement::kOrlov, DeleteOrder::kCreation, scenario);
  print("orlov, creation order", creation);
  print("orlov, readdir order", run(InodePlacement::kOrlov, DeleteOrder::kReaddir, scenario));
  print("leaf, creation order", run(InodePlacement::kLeaf, DeleteOrder::kCreation, scenario));
  const Outcome leaf = run(InodePlacement::kLeaf, DeleteOrder::kReaddir, scenario);
  print("leaf, readdir order", leaf);
  EXPECT_LE(leaf.deleted.transactions, creation.deleted.transactions * 3 / 2);
  EXPECT_LE(leaf.deleted.logged_blocks, creation.deleted.logged_blocks * 3 / 2);
}

}  // namespace
}  // namespace iotape::ext3
