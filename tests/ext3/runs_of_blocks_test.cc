// Writes and reads of many blocks at once: they lie, and read, as if they had been made block by block.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

#include "replayer/ext3/block_map.h"
#include "replayer/ext3/daemons.h"
#include "tests/ext3/support/mounted_disk.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3::test {
namespace {

constexpr std::uint64_t kSize = std::uint64_t{48} << 20U;

struct Shape {
  std::uint32_t block_size;
  DataMode data;
  bool reservation;
  bool journal;
};

FilesystemOptions fresh(const Shape& shape) {
  FilesystemOptions options;
  options.block_size = shape.block_size;
  options.features.has_journal = shape.journal;
  return options;
}

MountOptions mount_options(const Shape& shape) {
  MountOptions options;
  options.data = shape.data;
  options.reservation = shape.reservation;
  options.cache_bytes = std::size_t{4} << 20U;
  options.commit_interval = Nanoseconds(std::int64_t{3600} * 1'000'000'000);
  return options;
}

std::string text_of(std::mt19937_64& random, std::size_t length) {
  std::string text(length, '\0');
  for (char& letter : text) letter = static_cast<char>(random());
  return text;
}

// A file's blocks, runs of them: "3@1000 hole 2@1200".
std::string layout(MountedDisk& disk, const std::string& path) {
  const InodeReference inode = disk.get(path);
  const HostEntry inside(disk.host());
  const SleepLockGuard locked(disk.host(), inode->lock);
  std::string text;
  const auto blocks = static_cast<std::uint32_t>((inode->size + disk.volume().geometry.block_size - 1) /
                                                 disk.volume().geometry.block_size);
  for (std::uint32_t block = 0; block < blocks;) {
    const auto run = map_run(disk.volume(), *inode, FileBlock(block), 4096);
    if (!run) return text + " errno " + std::to_string(run.error().value);
    text += " " + std::to_string(run->count) + "@" + std::to_string(run->first.value);
    block += run->count;
  }
  return text + " sectors " + std::to_string(inode->sectors);
}

class HeldOpen {
 public:
  HeldOpen(MountedDisk& disk, const std::string& path) : disk_(disk), inode_(disk.get(path)) {}
  HeldOpen(const HeldOpen&) = delete;
  HeldOpen& operator=(const HeldOpen&) = delete;
  ~HeldOpen() {
    const HostEntry inside(disk_.host());
    inode_ = {};
  }

 private:
  MountedDisk& disk_;
  InodeReference inode_;
};

std::string bytes_of(const FilePieces& pieces, BlockDevice& device) {
  std::string text;
  for (const auto& piece : pieces.pieces()) {
    if (piece.memory != nullptr) {
      text.append(reinterpret_cast<const char*>(piece.memory), piece.length);
      continue;
    }
    const std::uint64_t begin = piece.device_offset / 512 * 512;
    const std::uint64_t end = (piece.device_offset + piece.length + 511) / 512 * 512;
    std::vector<std::byte> sectors(end - begin);
    const IoPart part{sectors.data(), static_cast<std::uint32_t>(sectors.size()), {}};
    EXPECT_TRUE(device.read(begin, {&part, 1}, IoReason::kDemand));
    text.append(reinterpret_cast<const char*>(sectors.data()) + (piece.device_offset - begin), piece.length);
  }
  EXPECT_EQ(text.size(), pieces.size());
  return text;
}

class RunsOfBlocks : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(
    Shapes, RunsOfBlocks,
    testing::Values(Shape{1024, DataMode::kOrdered, true, true}, Shape{1024, DataMode::kJournal, false, true},
                    Shape{4096, DataMode::kOrdered, true, true}, Shape{4096, DataMode::kWriteback, false, true},
                    Shape{4096, DataMode::kJournal, true, true}, Shape{2048, DataMode::kOrdered, true, false}));

// The same random writes to a volume with holes in its free space, once in one call each and once in as many calls as
// there are blocks.
TEST_P(RunsOfBlocks, LieWhereWritesOfOneBlockWouldLie) {
  TestVolumeImage whole_image(kSize, fresh(GetParam()));
  TestVolumeImage split_image(kSize, fresh(GetParam()));
  MountedDisk whole(whole_image.device(), mount_options(GetParam()));
  MountedDisk split(split_image.device(), mount_options(GetParam()));
  std::mt19937_64 random(GetParam().block_size);
  std::map<std::string, std::string> contents;
  const std::uint32_t block_size = GetParam().block_size;
  for (int step = 0; step < 300; ++step) {
    const std::string path = "/f" + std::to_string(random() % 8);
    if (random() % 10 == 0) {
      whole.unlink(path);
      split.unlink(path);
      contents.erase(path);
      if (step % 3 == 0) {
        EXPECT_EQ(whole.sync_all() + split.sync_all(), 0);
      }
      continue;
    }
    whole.create(path);
    split.create(path);
    const std::uint64_t offset = random() % 3 == 0 ? random() % (std::uint64_t{2} << 20U) : contents[path].size();
    const std::string text = text_of(random, 1 + random() % (random() % 4 == 0 ? 1'500'000 : 30'000));
    ASSERT_EQ(whole.write(path, offset, text), 0);
    const HeldOpen open(split, path);  // a file's window goes with its last user
    for (std::size_t done = 0; done < text.size();) {
      const std::size_t piece = std::min(text.size() - done, block_size - (offset + done) % block_size);
      ASSERT_EQ(split.write(path, offset + done, std::string_view(text).substr(done, piece)), 0);
      done += piece;
    }
    std::string& model = contents[path];
    model.resize(std::max<std::size_t>(model.size(), offset + text.size()));
    model.replace(offset, text.size(), text);
    // Where data is logged the two commit at different times, and so may use freed blocks again at different times.
    if (GetParam().data == DataMode::kJournal) continue;
    ASSERT_EQ(layout(whole, path), layout(split, path)) << path << " after step " << step;
  }
  for (const auto& [path, text] : contents) {
    EXPECT_TRUE(whole.read(path, 0, text.size() + 1) == text) << path;
    EXPECT_TRUE(split.read(path, 0, text.size() + 1) == text) << path;
  }
  whole.unmount();
  split.unmount();
  IOTAPE_EXPECT_SOUND(whole_image.device());
  IOTAPE_EXPECT_SOUND(split_image.device());
}

TEST_P(RunsOfBlocks, EndWhereTheVolumeIsFullAndCountWhatFitted) {
  TestVolumeImage image(kSize, fresh(GetParam()));
  MountedDisk disk(image.device(), mount_options(GetParam()));
  ASSERT_EQ(disk.create("/f"), 0);
  const std::string text(700'001, 't');
  std::uint64_t size = 0;
  while (disk.write("/f", size, text) == 0) size += text.size();
  const std::uint64_t fitted = disk.get("/f")->size;
  EXPECT_GE(fitted, size);
  EXPECT_EQ(disk.volume().groups.free_blocks(), 0U);
  EXPECT_EQ(disk.read("/f", fitted - 10, 100), std::string(10, 't'));
  EXPECT_EQ(disk.truncate("/f", 100), 0);
  EXPECT_EQ(disk.write("/f", 100, text), 0);
  disk.unmount();
  IOTAPE_EXPECT_SOUND(image.device());
}

TEST_P(RunsOfBlocks, PiecesReadInPlaceAreTheFile) {
  TestVolumeImage image(kSize, fresh(GetParam()));
  MountedDisk disk(image.device(), mount_options(GetParam()));
  std::mt19937_64 random(5);
  const std::string head = text_of(random, 300'000);
  const std::string tail = text_of(random, 5'000);
  ASSERT_EQ(disk.create("/f"), 0);
  ASSERT_EQ(disk.write("/f", 0, head), 0);
  ASSERT_EQ(disk.write("/f", 900'000, tail), 0);
  const std::string expected = head + std::string(600'000, '\0') + tail;
  const InodeReference inode = disk.get("/f");
  for (const std::uint64_t offset : {0U, 1U, 299'000U, 300'000U, 899'999U, 904'999U, 905'000U, 2'000'000U}) {
    const HostEntry inside(disk.host());
    ReadAheadState ahead;
    FilePieces pieces(disk.volume(), *inode);
    ASSERT_TRUE(read_pieces(disk.volume(), *inode, offset, 700'000, ahead, pieces));
    EXPECT_TRUE(pieces.all_in_memory());
    EXPECT_TRUE(bytes_of(pieces, image.device()) == (offset < expected.size() ? expected.substr(offset, 700'000) : ""))
        << offset;
  }
}

// Some of the file is dirty, some in the cache, some on the device alone; long stretches of the last are told by place.
TEST_P(RunsOfBlocks, PiecesOnTheDeviceAreTheFileToo) {
  TestVolumeImage image(kSize, fresh(GetParam()));
  MountedDisk disk(image.device(), mount_options(GetParam()));
  std::mt19937_64 random(7);
  std::string expected = text_of(random, 2'000'000);
  ASSERT_EQ(disk.create("/f"), 0);
  ASSERT_EQ(disk.write("/f", 0, expected), 0);
  ASSERT_EQ(disk.truncate("/f", expected.size() + 300'000), 0);
  expected.resize(expected.size() + 300'000);
  disk.unmount();
  MountedDisk again(image.device(), mount_options(GetParam()));
  const InodeReference inode = again.get("/f");
  bool some_on_device = false;
  for (int step = 0; step < 200; ++step) {
    const std::uint64_t offset = random() % (expected.size() + 1000);
    if (step % 5 == 0) {
      const std::string text = text_of(random, 1 + random() % 20'000);
      ASSERT_EQ(again.write("/f", offset, text), 0);
      expected.resize(std::max<std::size_t>(expected.size(), offset + text.size()));
      expected.replace(offset, text.size(), text);
    }
    if (step % 7 == 0) {
      EXPECT_EQ(again.sync_all(), 0);
    }
    const HostEntry inside(again.host());
    if (step % 11 == 0) again.volume().cache->drop_clean();
    ReadAheadState ahead;
    FilePieces pieces(again.volume(), *inode, 10'000);
    const std::size_t length = random() % 400'000;
    ASSERT_TRUE(read_pieces(again.volume(), *inode, offset, length, ahead, pieces));
    some_on_device = some_on_device || !pieces.all_in_memory();
    EXPECT_TRUE(bytes_of(pieces, image.device()) == (offset < expected.size() ? expected.substr(offset, length) : ""))
        << step;
  }
  EXPECT_TRUE(some_on_device);
}

// ---- several threads ----

TEST(VolumesOwnThreads, KeepWritersFromFillingTheCacheAndLoseNothing) {
  const Shape shape{4096, DataMode::kOrdered, true, true};
  TestVolumeImage image(std::uint64_t{256} << 20U, fresh(shape));
  MountedDisk disk(image.device(), mount_options(shape));
  std::jthread journal([&disk] { run_commit_daemon(disk.volume()); });
  std::jthread flusher([&disk] { run_flush_daemon(disk.volume(), {}); });
  const std::size_t capacity = mount_options(shape).cache_bytes / shape.block_size;
  std::string text(1'000'000, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 + i / 4096);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 3; ++thread)
    threads.emplace_back([&, thread] {
      const std::string path = "/f" + std::to_string(thread);
      EXPECT_EQ(disk.create(path), 0);
      for (std::uint64_t i = 0; i < 40; ++i) {
        EXPECT_EQ(disk.write(path, i * text.size(), text), 0);
        const HostEntry inside(disk.host());
        EXPECT_LE(disk.volume().cache->dirty_count(), capacity / 2 + 3 * 256 + 64);
      }
      EXPECT_EQ(disk.sync(path), 0);
    });
  threads.clear();
  for (int thread = 0; thread < 3; ++thread)
    for (std::uint64_t i = 0; i < 40; ++i)
      EXPECT_TRUE(disk.read("/f" + std::to_string(thread), i * text.size(), text.size()) == text) << thread << " " << i;
  {
    const HostEntry inside(disk.host());
    end_daemons(disk.volume());
  }
  journal.join();
  flusher.join();
  disk.unmount();
  IOTAPE_EXPECT_SOUND(image.device());
}

// A write that nobody waited for and that failed is told to the next who asks whether all is on the disk.
class FailingWrites final : public BlockDevice {
 public:
  explicit FailingWrites(BlockDevice& below) : below_(below) {}
  [[nodiscard]] std::uint64_t size() const override { return below_.size(); }
  Answer<void> read(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override {
    return below_.read(offset, parts, reason);
  }
  Answer<void> write(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override {
    if (failing_ && reason == IoReason::kWriteBack) return refuse(EIO);
    return below_.write(offset, parts, reason);
  }
  Answer<void> flush() override { return below_.flush(); }
  void fail(bool failing) { failing_ = failing; }

 private:
  BlockDevice& below_;
  std::atomic<bool> failing_ = false;
};

TEST(VolumesOwnThreads, ALostWriteIsToldToTheNextSyncOnce) {
  const Shape shape{4096, DataMode::kWriteback, true, true};
  TestVolumeImage image(kSize, fresh(shape));
  FailingWrites failing(image.device());
  MountOptions options = mount_options(shape);
  options.writeback_age = Nanoseconds(0);
  MountedDisk disk(failing, options);
  ASSERT_EQ(disk.create("/f"), 0);
  ASSERT_EQ(disk.write("/f", 0, "lost"), 0);
  failing.fail(true);
  {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const HostEntry inside(disk.host());
    EXPECT_FALSE(tend_volume(disk.volume()));
  }
  failing.fail(false);
  EXPECT_EQ(disk.sync("/f"), EIO);
  EXPECT_EQ(disk.sync("/f"), 0);
  // Whoever unmounts is told once more, and so is e2fsck.
  const auto unmounted = unmount_volume(disk.volume());
  ASSERT_FALSE(unmounted);
  EXPECT_EQ(unmounted.error().value, EIO);
  EXPECT_EQ(how_it_was_left(image.device()), LeftAs::kWithErrors);
  disk.crash();
}

}  // namespace
}  // namespace iotape::ext3::test
