// Volumes that change hands: made, filled, crashed and recovered by one side, taken up by the other.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "tests/ext3/support/mounted_disk.h"
#include "tests/ext3/support/side_by_side/kernel_side.h"
#include "tests/ext3/support/side_by_side/our_side.h"
#include "tests/ext3/support/volume_image.h"
#include "tests/support/test_support.h"

namespace iotape::ext3::test {
namespace {

using iotape::test::CommandOutput;
using iotape::test::run_mounting_shell;
using iotape::test::run_program;
using iotape::test::run_shell;
using iotape::test::ScratchDirectory;

constexpr std::uint64_t kMiB = 1 << 20;

std::string differences(const TreePicture& ours, const TreePicture& kernels) {
  std::string text;
  for (const TreeDifference& difference : compare_trees(ours, kernels))
    text += fmt::format("{} of {}: {} | {}\n", difference.field, printable_bytes(difference.path), difference.left,
                        difference.right);
  return text;
}

TreePicture seen_by_us(const std::string& image) {
  const auto disk = load_device(image);
  return OurSide(*disk, {}).picture();
}

TreePicture seen_by_the_kernel(const ScratchDirectory& scratch, const std::string& image) {
  return KernelSide(image, scratch / "mount", "errors=remount-ro").picture();
}

// Writes into what is there, adds, renames and removes.
void change(MountedDisk& disk) {
  EXPECT_EQ(disk.write("/tree/thread_host.h", 100, std::string(30'000, 'x')), 0);
  EXPECT_EQ(disk.make_directory("/tree/new"), 0);
  for (int i = 0; i < 300; ++i) EXPECT_EQ(disk.create(fmt::format("/tree/new/a name of some length {}", i)), 0);
  EXPECT_EQ(disk.rename("/tree/directory", "/tree/new/directory"), 0);
  EXPECT_EQ(disk.unlink("/tree/host.h"), 0);
  EXPECT_EQ(disk.truncate("/tree/volume.h", 10), 0);
}

TEST(BothDirectionsLive, ImagesThatOtherToolsFilledAreChangedByUsAndThenByTheKernel) {
  IOTAPE_NEEDS_RECORDER();
  for (const std::string command :
       {"mke2fs -q -F -t ext3 -b 1024 -d stage IMAGE 32768", "mke2fs -q -F -t ext3 -b 4096 -d stage IMAGE 16384",
        "mke2fs -q -F -t ext2 -O ^dir_index -I 128 -b 2048 -d stage IMAGE 16384",
        "genext2fs -B 1024 -b 32768 -N 4096 -d stage IMAGE"}) {
    SCOPED_TRACE(command);
    const ScratchDirectory scratch;
    const std::string image = scratch / "image";
    std::string line = command;
    line.replace(line.find("IMAGE"), 5, image);
    const auto made =
        run_shell(fmt::format("cd {} && mkdir stage mount && cp -r {}/replayer/ext3 stage/tree && PATH=$PATH:/sbin {}",
                              scratch.path().string(), IOTAPE_SOURCE_DIR, line));
    ASSERT_EQ(made.status, 0) << made.err;
    auto disk = load_device(image);
    {
      MountedDisk ours(*disk);
      ASSERT_TRUE(ours.valid());
      change(ours);
    }
    IOTAPE_EXPECT_SOUND(*disk);
    if (command.find("ext3") == std::string::npos) continue;  // the kernel's ext3 wants a journal
    TestVolumeImage::save_device(*disk, image);
    EXPECT_EQ(differences(seen_by_us(image), seen_by_the_kernel(scratch, image)), "");
    const auto changed = run_mounting_shell(
        fmt::format("set -e; cd {0}; mount -t ext3 -o loop image mount; trap 'cd {0}; umount mount' EXIT; cd mount; "
                    "cp -r tree again; rm -r tree/new; "
                    "mv again/new tree/moved; ln tree/volume.h again/link",
                    scratch.path().string()));
    EXPECT_EQ(changed.status, 0) << changed.err;
    EXPECT_EQ(differences(seen_by_us(image), seen_by_the_kernel(scratch, image)), "");
  }
}

// The backing file copied while the volume is mounted and busy is what a power failure leaves.
TEST(BothDirectionsLive, WeRecoverWhatTheKernelLeftAtACrash) {
  IOTAPE_NEEDS_RECORDER();
  for (const char* const mode : {"ordered", "journal", "writeback"}) {
    SCOPED_TRACE(mode);
    const ScratchDirectory scratch;
    const std::string image = scratch / "image";
    run_mke2fs(image, 64 * kMiB, "-t ext3 -b 1024 -N 8192 -J size=4");
    const auto crashed = run_mounting_shell(fmt::format(
        "set -e; cd {0}; mkdir mount; mount -t ext3 -o loop,data={2} image mount; trap 'cd {0}; umount mount' EXIT; "
        "cp -r {1}/replayer/ext3 mount/synced; for i in $(seq 200); do echo text $i > mount/synced/f$i; done; "
        "rm mount/synced/host.h; sync -f mount; (for i in $(seq 300); do echo $i > mount/busy$i; rm -f "
        "mount/busy$((i-3)); done) & "
        "for i in 1 2 3; do echo data $i > mount/own$i; sync mount/own$i; done; cp --sparse=always image crashed; wait",
        scratch.path().string(), IOTAPE_SOURCE_DIR, mode));
    ASSERT_EQ(crashed.status, 0) << crashed.err;
    auto disk = load_device(scratch / "crashed");
    MountedDisk ours(*disk);
    ASSERT_TRUE(ours.valid());
    EXPECT_TRUE(ours.report().recovery.has_value());
    for (int i = 1; i <= 200; ++i) EXPECT_EQ(ours.read(fmt::format("/synced/f{}", i)), fmt::format("text {}\n", i));
    for (int i = 1; i <= 3; ++i) EXPECT_EQ(ours.read(fmt::format("/own{}", i)), fmt::format("data {}\n", i));
    EXPECT_FALSE(ours.get("/synced/host.h"));
    ours.unmount();
    IOTAPE_EXPECT_SOUND(*disk);
  }
}

TEST(BothDirectionsLive, TheKernelAndE2fsckRecoverWhatWeLeftAtACrash) {
  IOTAPE_NEEDS_RECORDER();
  for (const DataMode mode : {DataMode::kOrdered, DataMode::kJournal, DataMode::kWriteback}) {
    const ScratchDirectory scratch;
    FilesystemOptions options;
    options.block_size = 1024;
    options.journal_blocks = 1024;
    TestVolumeImage image(32 * kMiB, options);
    MountOptions mount;
    mount.data = mode;
    MountedDisk ours(image.device(), mount);
    for (int i = 0; i < 600; ++i) {
      const std::string name = fmt::format("/a name that fills directories {}", i);
      ASSERT_EQ(ours.create(name), 0);
      ASSERT_EQ(ours.write(name, 0, std::string(static_cast<std::size_t>(i) * 37, 'a')), 0);
      if (i % 3 == 2) {
        ASSERT_EQ(ours.unlink(name), 0);
      }
      if (i == 400) {
        ASSERT_EQ(ours.write(name, 0, std::string(1024, '\0').replace(0, 4, "\xC0\x3B\x39\x98")), 0);
      }
      if (i % 200 == 150) {
        ASSERT_EQ(ours.sync_all(), 0);
      }
    }
    ASSERT_EQ(ours.sync_all(), 0);
    const auto left = image.device().copy();
    ours.crash();
    for (const char* const name : {"by_kernel", "by_e2fsck"}) TestVolumeImage::save_device(*left, scratch / name);
    ASSERT_EQ(run_shell("mkdir " + scratch / "mount").status, 0);
    const TreePicture by_kernel = seen_by_the_kernel(scratch, scratch / "by_kernel");
    EXPECT_LE(run_program({"/sbin/e2fsck", "-fy", scratch / "by_e2fsck"}).status, 1);
    EXPECT_EQ(differences(seen_by_us(scratch / "by_e2fsck"), by_kernel), "");
    EXPECT_EQ(differences(OurSide(*left, {}).picture(), by_kernel), "");
    EXPECT_EQ(e2fsck_file(scratch / "by_kernel").status, 0);
    IOTAPE_EXPECT_SOUND(*left);
  }
}

// ---- journals made by hand ----

// Blocks of two volumes that differ, outside of the journal, whose records one side clears and the other leaves.
std::set<std::uint64_t> differing_blocks(const std::string& left, const std::string& right, std::uint32_t block_size) {
  const std::string a = iotape::test::read_file(left);
  const std::string b = iotape::test::read_file(right);
  EXPECT_EQ(a.size(), b.size());
  std::set<std::uint64_t> blocks;
  for (std::size_t at = 0; at + block_size <= a.size() && at + block_size <= b.size(); at += block_size)
    if (a.compare(at, block_size, b, at, block_size) != 0) blocks.insert(at / block_size);
  return blocks;
}

std::set<std::uint64_t> journal_blocks(const std::string& image) {
  std::istringstream said(run_program({"/sbin/debugfs", "-R", "blocks <8>", image}).out);
  std::set<std::uint64_t> blocks;
  for (std::uint64_t block = 0; said >> block;) blocks.insert(block);
  return blocks;
}

enum class JournalEnd : std::uint8_t { kWhole, kWithoutLastCommit, kWrongSequence };

// Damages the last commit block there is.
void damage_journal(const std::string& image, JournalEnd end) {
  if (end == JournalEnd::kWhole) return;
  std::string bytes = iotape::test::read_file(image);
  const std::string commit("\xC0\x3B\x39\x98\0\0\0\2", 8);
  std::size_t last = 0;
  for (const std::uint64_t block : journal_blocks(image))
    if (bytes.compare(block * 1024, 8, commit) == 0) last = block * 1024;
  ASSERT_NE(last, 0U);
  if (end == JournalEnd::kWithoutLastCommit) bytes.replace(last, 1024, std::string(1024, '\0'));
  if (end == JournalEnd::kWrongSequence) bytes[last + 11] = static_cast<char>(bytes[last + 11] + 5);
  iotape::test::write_file(image, bytes);
}

struct HandMadeJournal {
  const char* what;
  std::vector<std::string> requests;  // to debugfs
};

TEST(HandMadeJournals, AreReplayedByUsAsByE2fsck) {
  // jw writes the blocks of a file over the blocks named; 3000 to 3999 are free ones.
  const HandMadeJournal journals[] = {
      {"one block", {"jo", "jw -b 3000 data", "jc"}},
      {"many blocks, several descriptors", {"jo", "jw -b 3000-3399 data", "jc"}},
      {"several transactions over one block",
       {"jo", "jw -b 3000 data", "jw -b 3000-3002 other", "jw -b 3001 data", "jc"}},
      {"blocks that begin with the journal's magic", {"jo", "jw -b 3000-3002 magic", "jc"}},
      {"a revoked block", {"jo", "jw -b 3000-3005 data", "jw -r 3001-3003", "jc"}},
      {"a block revoked and written again",
       {"jo", "jw -b 3000-3005 data", "jw -r 3001-3003", "jw -b 3002 other", "jc"}},
      {"many revoked blocks", {"jo", "jw -b 3000-3399 data", "jw -r 3000-3390", "jc"}},
  };
  for (const HandMadeJournal& journal : journals) {
    SCOPED_TRACE(journal.what);
    const ScratchDirectory scratch;
    const std::string image = scratch / "image";
    run_mke2fs(image, 16 * kMiB, "-t ext3 -b 1024 -J size=1 -E hash_seed=6ba7b810-9dad-11d1-80b4-00c04fd430c8");
    std::string bytes(400 * 1024, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>('a' + i / 1024 % 26);
    iotape::test::write_file(scratch / "data", bytes);
    iotape::test::write_file(scratch / "other", std::string(bytes.size(), 'o'));
    for (std::size_t at = 0; at < bytes.size(); at += 1024) bytes.replace(at, 4, "\xC0\x3B\x39\x98");
    iotape::test::write_file(scratch / "magic", bytes);
    std::vector<std::string> requests = journal.requests;
    for (std::string& request : requests)
      for (const char* const file : {"data", "other", "magic"})
        if (request.ends_with(std::string(" ") + file))
          request.replace(request.size() - std::string(file).size(), std::string::npos, scratch / file);
    run_debugfs(image, requests);
    const std::set<std::uint64_t> own = journal_blocks(image);
    ASSERT_GT(own.size(), 1000U);
    for (const JournalEnd end : {JournalEnd::kWhole, JournalEnd::kWithoutLastCommit, JournalEnd::kWrongSequence}) {
      SCOPED_TRACE(static_cast<int>(end));
      TestVolumeImage::save_device(*load_device(image), scratch / "theirs");
      damage_journal(scratch / "theirs", end);
      auto disk = load_device(scratch / "theirs");
      {
        MountedDisk ours(*disk);
        ASSERT_TRUE(ours.valid());
        EXPECT_TRUE(ours.report().recovery.has_value());
      }
      TestVolumeImage::save_device(*disk, scratch / "ours");
      EXPECT_LE(run_program({"/sbin/e2fsck", "-fy", scratch / "theirs"}).status, 1);
      // The superblock (times, counts of mounts, free space) and the journal's own, with the number to go on with.
      for (const std::uint64_t block : differing_blocks(scratch / "ours", scratch / "theirs", 1024))
        EXPECT_TRUE(block == 1 || own.contains(block)) << "block " << block;
    }
  }
}

}  // namespace
}  // namespace iotape::ext3::test
