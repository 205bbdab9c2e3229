// Block maps and allocators under random use, against a model and e2fsck; and under several threads at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "replayer/ext3/block_map.h"
#include "replayer/ext3/check/check_filesystem.h"
#include "tests/ext3/support/mounted_volume.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3 {
namespace {

using test::MountedVolume;
using test::TestVolumeImage;

struct Shape {
  std::uint32_t block_size;
  bool journal;
  DataMode data;
  bool reservation;
};

class RandomFiles : public testing::TestWithParam<Shape> {
 protected:
  using Model = std::vector<std::set<std::uint32_t>>;  // by file: the blocks it holds
  static constexpr std::uint32_t kFiles = 6;

  RandomFiles() : image_(48 << 20, options()), engine_(GetParam().block_size + (GetParam().journal ? 1 : 0)) {}
  static FilesystemOptions options() {
    FilesystemOptions chosen;
    chosen.block_size = GetParam().block_size;
    chosen.features.has_journal = GetParam().journal;
    return chosen;
  }
  static MountOptions mount_options() {
    MountOptions chosen;
    chosen.data = GetParam().data;
    chosen.reservation = GetParam().reservation;
    chosen.cache_bytes = 2 << 20;  // bitmaps and indirect blocks come and go
    return chosen;
  }
  std::uint32_t random(std::uint32_t below) { return static_cast<std::uint32_t>(engine_() % below); }
  // Near a place where the way to a block changes, or a little behind the file's last block.
  std::uint32_t some_block(const std::set<std::uint32_t>& held) {
    const std::uint32_t pointers = GetParam().block_size / 4;
    const std::uint32_t bases[] = {
        0, 8, 12, 12 + pointers - 4, 12 + pointers, 12 + 2 * pointers - 4, 12 + pointers + pointers * pointers - 6};
    if (random(2) == 0 && !held.empty()) return *held.rbegin() + 1;
    return bases[random(7)] + random(16);
  }
  void step(MountedVolume& mounted, std::vector<InodeReference>& files, Model& model);
  void compare(MountedVolume& mounted, std::vector<InodeReference>& files, const Model& model);

  TestVolumeImage image_;
  std::mt19937 engine_;
};

void RandomFiles::step(MountedVolume& mounted, std::vector<InodeReference>& files, Model& model) {
  const std::uint32_t which = random(kFiles);
  Inode& file = *files[which];
  std::set<std::uint32_t>& held = model[which];
  if (random(40) != 0) {
    const std::uint32_t block = some_block(held);
    const auto answer = mounted.put_block(file, block);
    if (answer)
      held.insert(block);
    else
      EXPECT_EQ(answer.error().value, ENOSPC);
    return;
  }
  const std::uint32_t cut = random(5) == 0 ? 0 : some_block(held);
  const std::uint64_t bytes = std::uint64_t{cut} * GetParam().block_size;
  ASSERT_TRUE(mounted.cut(file, bytes));
  held.erase(held.lower_bound(cut), held.end());
}

void RandomFiles::compare(MountedVolume& mounted, std::vector<InodeReference>& files, const Model& model) {
  std::set<std::uint32_t> used;
  for (std::uint32_t i = 0; i < kFiles; ++i) {
    for (const std::uint32_t block : model[i]) {
      const BlockNumber at = mounted.block_at(*files[i], block);
      EXPECT_NE(at, kNoBlock);
      EXPECT_TRUE(used.insert(at.value).second) << "two files hold block " << at.value;
    }
    for (int probe = 0; probe < 50; ++probe) {
      const std::uint32_t block = some_block(model[i]) + random(40);
      EXPECT_EQ(mounted.block_at(*files[i], block) != kNoBlock, model[i].contains(block));
    }
  }
}

TEST_P(RandomFiles, HoldWhatTheModelHoldsAndLeaveNothingBehind) {
  MountedVolume::Counts before;
  Model model(kFiles);
  for (int mount = 0; mount < 3; ++mount) {
    {
      MountedVolume mounted(image_.device(), mount_options());
      const InodeReference root = mounted.root();
      std::vector<InodeReference> files;
      if (mount == 0) before = mounted.counts();
      for (std::uint32_t i = 0; i < kFiles; ++i)
        files.push_back(mount == 0 ? mounted.create(*root, std::to_string(i)) : mounted.get(InodeNumber(12 + i)));
      for (int i = 0; i < 2500; ++i) step(mounted, files, model);
      compare(mounted, files, model);
    }
    IOTAPE_EXPECT_E2FSCK_CLEAN(image_.device());
    EXPECT_TRUE(check_filesystem(image_.device()).sound());
  }
  MountedVolume mounted(image_.device(), mount_options());
  const InodeReference root = mounted.root();
  for (std::uint32_t i = 0; i < kFiles; ++i) mounted.remove(*root, std::to_string(i));
  EXPECT_EQ(mounted.counts(), before);
}

INSTANTIATE_TEST_SUITE_P(Shapes, RandomFiles,
                         testing::Values(Shape{1024, true, DataMode::kOrdered, true},
                                         Shape{1024, false, DataMode::kOrdered, false},
                                         Shape{2048, true, DataMode::kJournal, true},
                                         Shape{4096, true, DataMode::kWriteback, true}));

// Each thread writes and cuts its own file; the cache is small, so that bitmaps are read and written all the time and
// one thread waits where another goes on.
TEST(SeveralThreads, ShareBitmapsWithoutTakingABlockTwice) {
  FilesystemOptions options;
  options.block_size = 1024;
  TestVolumeImage image(64 << 20, options);
  {
    MountOptions mount;
    mount.cache_bytes = 1 << 20;
    MountedVolume mounted(image.device(), mount);
    const InodeReference root = mounted.root();
    std::vector<InodeReference> files;
    for (int i = 0; i < 4; ++i) files.push_back(mounted.create(*root, std::to_string(i)));
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        std::mt19937 engine(t);
        for (std::uint32_t i = 0; i < 3000; ++i) {
          EXPECT_TRUE(mounted.put_block(*files[t], i));
          if (i % 500 == 499) {
            EXPECT_TRUE(mounted.cut(*files[t], engine() % (std::uint64_t{i} * 1024)));
          }
        }
      });
    for (std::thread& thread : threads) thread.join();
    std::set<std::uint32_t> used;
    for (std::uint32_t t = 0; t < 4; ++t)
      for (std::uint32_t i = 0; i < 3000; ++i) {
        const BlockNumber block = mounted.block_at(*files[t], i);
        if (block != kNoBlock) {
          EXPECT_TRUE(used.insert(block.value).second);
        }
      }
  }
  IOTAPE_EXPECT_E2FSCK_CLEAN(image.device());
}

}  // namespace
}  // namespace iotape::ext3
