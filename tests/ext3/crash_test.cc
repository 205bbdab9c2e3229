// A machine may stop at any write. Workloads run on a disk that keeps its write stream; the stream is cut at many
// points, in order and with the writes since the last flush torn apart, and what is left must recover to a sound
// filesystem in which everything that was synced is there and nothing that was deleted and synced comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "replayer/ext3/check/check_filesystem.h"
#include "tests/ext3/support/mounted_disk.h"
#include "tests/ext3/support/recording_device.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3::test {
namespace {

constexpr std::uint64_t kSize = std::uint64_t{16} << 20U;

FilesystemOptions small_volume() {
  FilesystemOptions options;
  options.block_size = 1024;
  options.journal_blocks = 1024;
  options.bytes_per_inode = 4096;
  return options;
}

// What must be true of a path when the stream is cut within [from, to).
struct Promise {
  std::string path;
  std::optional<std::string> contents;  // nullopt: the path is not there
  std::size_t from = 0;
  std::size_t to = std::numeric_limits<std::size_t>::max();
};

class CrashScene {
 public:
  explicit CrashScene(DataMode mode, bool barriers = true)
      : image_(kSize, small_volume()), device_(image_.device()), mounted_(device_, options(mode, barriers)) {}

  static MountOptions options(DataMode mode, bool barriers) {
    MountOptions options;
    options.data = mode;
    options.barriers = barriers;
    options.commit_interval = Nanoseconds(std::int64_t{3600} * 1'000'000'000);  // commits only where a test asks
    options.cache_bytes = std::size_t{2} << 20U;
    return options;
  }

  MountedDisk& disk() { return mounted_; }
  RecordingDevice& device() { return device_; }
  [[nodiscard]] std::size_t now() const { return device_.stream().size(); }

  void write(const std::string& path, const std::string& contents) {
    touch(path);
    const int created = mounted_.create(path);
    ASSERT_TRUE(created == 0 || created == EEXIST) << path << ": " << created;
    ASSERT_EQ(mounted_.write(path, 0, contents), 0) << path;
    // Written over the beginning of what was there.
    std::string& whole = contents_[path];
    whole = whole.size() > contents.size() ? contents + whole.substr(contents.size()) : contents;
  }
  void remove(const std::string& path) {
    touch(path);
    ASSERT_EQ(mounted_.unlink(path), 0) << path;
    contents_.erase(path);
    removed_.push_back(path);
  }
  void rename(const std::string& from, const std::string& to) {
    touch(from);
    touch(to);
    ASSERT_EQ(mounted_.rename(from, to), 0) << from;
    contents_[to] = contents_[from];
    contents_.erase(from);
    removed_.push_back(from);
    std::erase(removed_, to);
  }
  void sync(const std::string& path) {
    ASSERT_EQ(mounted_.sync(path), 0);
    promises_.push_back({path, contents_[path], now()});
  }
  void sync_all() {
    ASSERT_EQ(mounted_.sync_all(), 0);
    for (const auto& [path, contents] : contents_) promises_.push_back({path, contents, now()});
    for (const std::string& path : removed_) promises_.push_back({path, std::nullopt, now()});
    removed_.clear();
  }

  // Recovers what a cut left and judges it. outside: also by e2fsck, on a copy of its own.
  void judge(std::unique_ptr<MemoryDevice> disk, std::size_t cut, bool outside) {
    SCOPED_TRACE("cut after write " + std::to_string(cut));
    if (outside) judge_by_e2fsck(*disk);
    {
      MountedDisk recovered(*disk);
      ASSERT_TRUE(recovered.valid());
      for (const Promise& promise : promises_)
        if (cut >= promise.from && cut < promise.to) check(recovered, promise);
    }
    const CheckReport report = check_filesystem(*disk);
    EXPECT_TRUE(report.sound()) << (report.problems.empty() ? std::string() : report.problems.front().what);
    if (outside) IOTAPE_EXPECT_E2FSCK_CLEAN(*disk);
  }

 private:
  // From here on the path may be in either state.
  void touch(const std::string& path) {
    for (Promise& promise : promises_)
      if (promise.path == path) promise.to = std::min(promise.to, now());
    std::erase(removed_, path);
  }
  static void check(MountedDisk& recovered, const Promise& promise) {
    const bool there = static_cast<bool>(recovered.get(promise.path));
    EXPECT_EQ(there, promise.contents.has_value()) << promise.path;
    if (there && promise.contents) {
      EXPECT_TRUE(recovered.read(promise.path) == *promise.contents) << promise.path << " has other contents";
    }
  }
  // e2fsck's own replay: 0 or 1 the first time, 0 the second.
  static void judge_by_e2fsck(MemoryDevice& disk) {
    const iotape::test::ScratchDirectory scratch;
    TestVolumeImage::save_device(disk, scratch / "image");
    const auto first = iotape::test::run_program({"/sbin/e2fsck", "-fy", scratch / "image"});
    EXPECT_LE(first.status, 1) << first.out;
    const auto second = e2fsck_file(scratch / "image");
    EXPECT_EQ(second.status, 0) << second.out;
  }

  TestVolumeImage image_;
  RecordingDevice device_;
  MountedDisk mounted_;
  std::map<std::string, std::string> contents_;
  std::vector<std::string> removed_;
  std::vector<Promise> promises_;
};

std::string pattern(std::size_t length, std::uint64_t seed) {
  std::string text(length, '\0');
  std::mt19937_64 random(seed);
  for (char& c : text) c = static_cast<char>('a' + random() % 26);
  return text;
}

// Creates, overwrites, renames and deletes, with indirect blocks, directories that grow and get an index, and syncs of
// both kinds in between.
void varied_workload(CrashScene& scene, int rounds, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> files;
  for (int d = 0; d < 3; ++d) ASSERT_EQ(scene.disk().make_directory("/d" + std::to_string(d)), 0);
  for (int i = 0; i < rounds; ++i) {
    const std::string path = "/d" + std::to_string(i % 3) + "/name_of_file_number_" + std::to_string(i);
    scene.write(path, pattern(random() % 4 == 0 ? 40'000 : random() % 3000, random()));
    files.push_back(path);
    if (i % 7 == 3) scene.sync(path);
    if (i % 5 == 4) {
      const std::size_t victim = random() % files.size();
      scene.remove(files[victim]);
      files.erase(files.begin() + static_cast<std::ptrdiff_t>(victim));
    }
    if (i % 11 == 8) {
      std::string& moved = files[random() % files.size()];
      scene.rename(moved, moved + "_moved");
      moved += "_moved";
    }
    if (i % 13 == 12) scene.write(files[random() % files.size()], pattern(random() % 2000 + 1, random()));
    if (i % 17 == 16) scene.sync_all();
  }
}

constexpr std::pair<DataMode, const char*> kModes[] = {
    {DataMode::kOrdered, "ordered"}, {DataMode::kWriteback, "writeback"}, {DataMode::kJournal, "journal"}};

// In data=writeback a file may hold what its blocks held before: only names are promised for what was not synced
// itself, and every promise here is of a sync, so all three modes are held to the same.
void cut_everywhere(int rounds, std::size_t stride, std::size_t judged_outside) {
  for (const auto& [mode, name] : kModes) {
    SCOPED_TRACE(name);
    CrashScene scene(mode);
    varied_workload(scene, rounds, 42);
    std::mt19937_64 random(7);
    const std::size_t end = scene.now();
    std::size_t cuts = 0;
    for (std::size_t cut = 0; cut <= end && !testing::Test::HasFailure(); cut += stride, ++cuts) {
      scene.judge(scene.device().after(cut), cut, cuts % judged_outside == 0);
      scene.judge(scene.device().torn_after(cut, random), cut, cuts % judged_outside == judged_outside / 2);
    }
    testing::Test::RecordProperty(std::string("cuts_") + name, static_cast<int>(2 * cuts));
  }
}

TEST(Crash, AtManyPointsOfAVariedWorkload) { cut_everywhere(60, 97, 8); }
TEST(CrashLong, AtEveryWriteOfAVariedWorkload) { cut_everywhere(200, 1, 50); }

TEST(Crash, BlocksThatLookLikeTheJournalsOwnAreRestored) {
  CrashScene scene(DataMode::kJournal);
  const std::string magic = {'\xC0', '\x3B', '\x39', '\x98'};
  std::string contents;
  for (int i = 0; i < 20; ++i) contents += magic + pattern(1020, static_cast<std::uint64_t>(i));
  scene.write("/f", contents);
  scene.sync("/f");
  scene.judge(scene.device().after(scene.now()), scene.now(), true);
}

TEST(Crash, AFreedIndirectBlockIsNotReplayedOverTheDataInItsPlace) {
  CrashScene scene(DataMode::kOrdered);
  scene.write("/big", pattern(300'000, 1));  // has indirect blocks
  scene.sync_all();
  scene.remove("/big");
  scene.sync_all();
  for (int i = 0; i < 40; ++i) {
    scene.write("/small" + std::to_string(i), pattern(9'000, static_cast<std::uint64_t>(i)));
    scene.sync("/small" + std::to_string(i));
  }
  scene.judge(scene.device().after(scene.now()), scene.now(), true);
}

TEST(Crash, AnOldTransactionNeverComesBackAfterARemount) {
  TestVolumeImage image(kSize, small_volume());
  for (int round = 0; round < 4; ++round) {
    MountedDisk mounted(image.device());
    const std::string name = "/round" + std::to_string(round);
    ASSERT_EQ(mounted.create(name), 0);
    ASSERT_EQ(mounted.sync_all(), 0);
    if (round > 0) {
      ASSERT_EQ(mounted.unlink("/round" + std::to_string(round - 1)), 0);
    }
    ASSERT_EQ(mounted.sync_all(), 0);
    mounted.crash();
  }
  MountedDisk last(image.device());
  EXPECT_EQ(last.list("/"), "lost+found round3");
  last.unmount();
  IOTAPE_EXPECT_E2FSCK_CLEAN(image.device());
}

TEST(Crash, AnOpenFileWithoutANameIsDeletedByTheNextMount) {
  TestVolumeImage image(kSize, small_volume());
  MountedDisk mounted(image.device());
  ASSERT_EQ(mounted.create("/f"), 0);
  ASSERT_EQ(mounted.write("/f", 0, pattern(50'000, 1)), 0);
  InodeReference open = mounted.get("/f");
  ASSERT_EQ(mounted.unlink("/f"), 0);
  ASSERT_EQ(mounted.sync_all(), 0);
  auto disk = image.device().copy();
  {
    MountedDisk next(*disk);
    EXPECT_EQ(next.report().orphans_deleted, 1U);
    EXPECT_TRUE(next.report().recovery.has_value());
  }
  IOTAPE_EXPECT_E2FSCK_CLEAN(*disk);
  const HostEntry inside(mounted.host());
  open = {};
}

}  // namespace
}  // namespace iotape::ext3::test
