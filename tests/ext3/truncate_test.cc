// Cutting files: what lies behind the new end, and what is on the disk when the machine stops in the middle.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "replayer/ext3/block_map.h"
#include "tests/ext3/support/mounted_disk.h"
#include "tests/ext3/support/mounted_volume.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3 {
namespace {

using iotape::test::run_program;
using iotape::test::ScratchDirectory;
using test::MountedVolume;
using test::TestVolumeImage;

// Another journal, with a word in between whenever a cut file's transaction ends: what was done so far is committed,
// and then the test looks at the disk as a machine that stopped there would leave it.
class StoppingJournal final : public Journal {
 public:
  StoppingJournal(std::unique_ptr<Journal> inner, std::function<void()> look)
      : inner_(std::move(inner)), look_(std::move(look)) {}

  Answer<Handle> start(std::uint32_t credits) override { return inner_->start(credits); }
  bool extend(Handle&, std::uint32_t) override { return false; }
  Answer<void> restart(Handle& handle, std::uint32_t credits) override {
    EXT3_TRY(handle.stop());
    EXT3_TRY(inner_->commit_running());
    look_();
    EXT3_ASSIGN(handle, inner_->start(credits));
    return {};
  }
  Answer<void> get_write_access(Handle& handle, Buffer& buffer) override {
    return inner_->get_write_access(handle, buffer);
  }
  Answer<void> get_undo_access(Handle& handle, Buffer& buffer) override {
    return inner_->get_undo_access(handle, buffer);
  }
  Answer<void> get_create_access(Handle& handle, Buffer& buffer) override {
    return inner_->get_create_access(handle, buffer);
  }
  void release_access(Handle& handle, Buffer& buffer) override { inner_->release_access(handle, buffer); }
  void dirty_metadata(Handle& handle, Buffer& buffer) override { inner_->dirty_metadata(handle, buffer); }
  Answer<void> dirty_data(Handle& handle, Buffer& buffer) override { return inner_->dirty_data(handle, buffer); }
  Answer<void> forget(Handle& handle, BlockNumber block, bool metadata) override {
    return inner_->forget(handle, block, metadata);
  }
  [[nodiscard]] const std::byte* committed_bits(const Buffer& buffer) const override {
    return inner_->committed_bits(buffer);
  }
  [[nodiscard]] TransactionId current() const override { return inner_->current(); }
  Answer<void> commit(TransactionId id) override { return inner_->commit(id); }
  Answer<bool> commit_running() override { return inner_->commit_running(); }
  Answer<void> commit_if_due() override { return inner_->commit_if_due(); }
  Answer<void> empty() override { return inner_->empty(); }
  void abort(int error_number) override { inner_->abort(error_number); }
  [[nodiscard]] int aborted() const override { return inner_->aborted(); }
  [[nodiscard]] DataMode data_mode() const override { return inner_->data_mode(); }
  [[nodiscard]] std::uint32_t max_credits() const override { return inner_->max_credits(); }
  [[nodiscard]] JournalFigures figures() const override { return inner_->figures(); }

 private:
  Answer<void> stop(Handle&) override { return {}; }  // handles are the inner journal's
  std::unique_ptr<Journal> inner_;
  std::function<void()> look_;
};

FilesystemOptions blocks_of(std::uint32_t block_size) {
  FilesystemOptions options;
  options.block_size = block_size;
  return options;
}

// The disk as it is now, recovered by e2fsck and by us: both must come out clean, and ours must have cut the file.
void judge(MemoryDevice& device, std::uint64_t expected_free) {
  const ScratchDirectory scratch;
  TestVolumeImage::save_device(device, scratch / "image");
  const auto copy = test::load_device(scratch / "image");
  const auto repaired = run_program({"/sbin/e2fsck", "-fy", scratch / "image"});
  EXPECT_LE(repaired.status, 1) << repaired.out << repaired.err;
  EXPECT_EQ(repaired.out.find("Illegal"), std::string::npos) << repaired.out;
  EXPECT_EQ(repaired.out.find("multiply-claimed"), std::string::npos) << repaired.out;
  EXPECT_EQ(repaired.out.find("i_blocks is"), std::string::npos) << repaired.out;
  EXPECT_EQ(run_program({"/sbin/e2fsck", "-fn", scratch / "image"}).status, 0);
  {
    MountedVolume mounted(*copy);
    EXPECT_EQ(mounted.counts().free_blocks, expected_free);
    const InodeReference file = mounted.get(InodeNumber(12));
    if (file) {
      EXPECT_EQ(file->size, 5U);
    }
  }
  IOTAPE_EXPECT_E2FSCK_CLEAN(*copy);
}

TEST(CutInSteps, TheFileIsWholeWhereverTheMachineStops) {
  TestVolumeImage image(64 << 20, blocks_of(1024));
  int looks = 0;
  {
    MountedVolume mounted(image.device());
    const InodeReference root = mounted.root();
    const InodeReference file = mounted.create(*root, "file");
    ASSERT_EQ(file->number, InodeNumber(12));
    mounted.must_put(*file, 0);
    const std::uint64_t expected_free = mounted.counts().free_blocks;
    // A block under each of many indirect blocks, in all three trees: hundreds of blocks of metadata change.
    for (std::uint32_t i = 0; i < 290; ++i) mounted.must_put(*file, 1 + i * 256);
    mounted.commit();
    Volume& volume = mounted.volume();
    volume.journal = std::make_unique<StoppingJournal>(std::move(volume.journal), [&] {
      ++looks;
      judge(image.device(), expected_free);
    });
    ASSERT_TRUE(mounted.cut(*file, 5));
    EXPECT_EQ(mounted.counts().free_blocks, expected_free);
    EXPECT_TRUE(volume.orphans.empty());
  }
  EXPECT_GE(looks, 4);
  IOTAPE_EXPECT_E2FSCK_CLEAN(image.device());
}

class CutTail : public testing::TestWithParam<DataMode> {
 protected:
  // Bytes of a file's block that are not zero, as the disk holds them.
  static std::size_t nonzero(MemoryDevice& device, BlockNumber block, std::uint32_t block_size) {
    std::vector<std::byte> bytes(block_size);
    const std::array<IoPart, 1> part{{{bytes.data(), block_size, {}}}};
    EXPECT_TRUE(device.read(std::uint64_t{block.value} * block_size, part, IoReason::kDemand));
    return static_cast<std::size_t>(
        std::count_if(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; }));
  }
};
INSTANTIATE_TEST_SUITE_P(DataModes, CutTail,
                         testing::Values(DataMode::kOrdered, DataMode::kWriteback, DataMode::kJournal));

TEST_P(CutTail, WhatLayBehindTheEndReadsAsZerosWhenTheFileGrowsAgain) {
  TestVolumeImage image(64 << 20, blocks_of(4096));
  BlockNumber block;
  {
    MountOptions options;
    options.data = GetParam();
    MountedVolume mounted(image.device(), options);
    const InodeReference root = mounted.root();
    const InodeReference file = mounted.create(*root, "file");
    for (std::uint32_t i = 0; i < 20; ++i) mounted.must_put(*file, i);
    block = mounted.block_at(*file, 15);
    mounted.commit();
    ASSERT_TRUE(mounted.cut(*file, 15 * 4096 + 100));
    EXPECT_EQ(file->size, 15U * 4096 + 100);
    ASSERT_TRUE(mounted.cut(*file, 20 * 4096));
    EXPECT_EQ(file->size, 20U * 4096);
    EXPECT_EQ(mounted.block_at(*file, 15), block);
    EXPECT_EQ(mounted.block_at(*file, 16), kNoBlock);
  }
  EXPECT_EQ(nonzero(image.device(), block, 4096), 100U);
  IOTAPE_EXPECT_E2FSCK_CLEAN(image.device());
}

TEST(CutFiles, GrowingMakesAHoleAndZeroesWhatWasLeftBehindTheEnd) {
  TestVolumeImage image(64 << 20, blocks_of(1024));
  MountedVolume mounted(image.device());
  const InodeReference root = mounted.root();
  const InodeReference file = mounted.create(*root, "file");
  mounted.must_put(*file, 0);
  file->size = 10;  // as a program left it that wrote to a mapping beyond the end
  ASSERT_TRUE(mounted.cut(*file, 1'000'000));
  EXPECT_EQ(file->sectors, 2U);
  const HostEntry inside(mounted.host());
  auto buffer = mounted.volume().cache->read(BlockNumber(file->block[0]), {});
  EXPECT_NE((*buffer)->data[9], std::byte{0});
  EXPECT_EQ((*buffer)->data[10], std::byte{0});
  EXPECT_EQ((*buffer)->data[1023], std::byte{0});
}

// The log still holds the indirect block's old contents when the machine stops; the block is another file's data by
// then.
TEST(CutFiles, AFreedIndirectBlockThatBecameDataIsNotWrittenOverByAReplay) {
  for (const DataMode data : {DataMode::kOrdered, DataMode::kJournal}) {
    TestVolumeImage image(64 << 20, blocks_of(1024));
    MountOptions options;
    options.data = data;
    options.commit_interval = Nanoseconds(3600'000'000'000);
    const ScratchDirectory scratch;
    std::uint32_t indirect = 0;
    std::uint32_t reused_as = 0;
    {
      MountedVolume mounted(image.device(), options);
      const InodeReference root = mounted.root();
      const InodeReference first = mounted.create(*root, "first");
      for (std::uint32_t i = 0; i < 20; ++i) mounted.must_put(*first, i);
      indirect = first->block[12];
      mounted.commit();
      ASSERT_TRUE(mounted.cut(*first, 0));
      mounted.commit();
      const InodeReference second = mounted.create(*root, "second");
      // Not at the same place in the file: there it would be the indirect block again.
      mounted.must_put(*mounted.create(*root, "between"), 0);
      while (reused_as < 200 && mounted.must_put(*second, reused_as).value != indirect) ++reused_as;
      ASSERT_LT(reused_as, 200U);
      mounted.commit();
      TestVolumeImage::save_device(image.device(), scratch / "stopped");
    }
    const auto stopped = test::load_device(scratch / "stopped");
    { MountedVolume mounted(*stopped); }
    IOTAPE_EXPECT_E2FSCK_CLEAN(*stopped);
    std::vector<std::byte> bytes(1024);
    const std::array<IoPart, 1> part{{{bytes.data(), 1024, {}}}};
    ASSERT_TRUE(stopped->read(std::uint64_t{indirect} * 1024, part, IoReason::kDemand));
    EXPECT_EQ(bytes, std::vector<std::byte>(1024, static_cast<std::byte>(reused_as % 251 + 1)));
  }
}

TEST(LargeFiles, SetTheirFeatureWhenTheFirstIsMade) {
  FilesystemOptions options = blocks_of(1024);
  options.features.large_file = false;
  TestVolumeImage image(64 << 20, options);
  test::MountedDisk disk(image.device());
  const auto marked = [&] { return (disk.volume().superblock().read_only_features & kFeatureLargeFile) != 0; };
  ASSERT_EQ(disk.create("/grown"), 0);
  ASSERT_EQ(disk.create("/written"), 0);
  EXPECT_EQ(disk.truncate("/grown", 0x7FFFFFFF), 0);
  EXPECT_EQ(disk.write("/written", 0x7FFFFFFE, "x"), 0);
  EXPECT_FALSE(marked());
  EXPECT_EQ(disk.write("/written", 0x7FFFFFFE, "xy"), 0);
  EXPECT_TRUE(marked());
  EXPECT_EQ(disk.truncate("/grown", 0x80000000), 0);
  disk.unmount();
  IOTAPE_EXPECT_E2FSCK_CLEAN(image.device());
}

TEST(CutFiles, AnOpenFileWithoutNamesStaysAnOrphan) {
  TestVolumeImage image(64 << 20, blocks_of(1024));
  {
    MountedVolume mounted(image.device());
    const InodeReference root = mounted.root();
    const auto before = mounted.counts();
    {
      const InodeReference file = mounted.create(*root, "file");
      for (std::uint32_t i = 0; i < 300; ++i) mounted.must_put(*file, i);
      mounted.remove(*root, "file");
      EXPECT_FALSE(mounted.volume().orphans.empty());
      ASSERT_TRUE(mounted.cut(*file, 0));
      EXPECT_FALSE(mounted.volume().orphans.empty());
    }
    EXPECT_TRUE(mounted.volume().orphans.empty());
    EXPECT_EQ(mounted.counts(), before);
  }
  IOTAPE_EXPECT_E2FSCK_CLEAN(image.device());
}

// ---- maps that cannot be ----

class DamagedMap : public testing::Test {
 protected:
  DamagedMap() : image_(64 << 20, blocks_of(1024)), mounted_(image_.device()) {
    root_ = mounted_.root();
    file_ = mounted_.create(*root_, "file");
  }
  ~DamagedMap() override { mounted_.volume().damage_count = 0; }
  void set_pointer(BlockNumber indirect, std::uint32_t slot, std::uint32_t value) {
    const HostEntry inside(mounted_.host());
    auto buffer = mounted_.volume().cache->read(indirect, {});
    *(*buffer)->at<le32>(std::size_t{slot} * 4) = value;
  }
  int map_error(std::uint32_t file_block) {
    const HostEntry inside(mounted_.host());
    const auto answer = map_block(mounted_.volume(), *file_, FileBlock(file_block));
    return answer ? 0 : answer.error().value;
  }

  TestVolumeImage image_;
  MountedVolume mounted_;
  InodeReference root_;
  InodeReference file_;
};

TEST_F(DamagedMap, PointersOutOfTheVolumeOrIntoItsStructuresAreRefused) {
  Volume& volume = mounted_.volume();
  const GroupDescriptor& group = volume.groups[GroupNumber(1)];
  for (const std::uint32_t pointer : {1U, 2U, volume.geometry.block_count, 0xFFFFFFFFU,
                                      std::uint32_t{group.block_bitmap}, std::uint32_t{group.inode_table} + 1}) {
    file_->block[0] = pointer;
    file_->block[12] = pointer;
    EXPECT_EQ(map_error(0), EUCLEAN) << pointer;
    EXPECT_EQ(map_error(20), EUCLEAN) << pointer;
  }
  file_->block = {};
}

TEST_F(DamagedMap, ACutDropsThemAndFreesTheRest) {
  for (std::uint32_t i = 0; i < 12; ++i) mounted_.must_put(*file_, i);
  const auto full = mounted_.counts().free_blocks;
  const GroupDescriptor group = mounted_.volume().groups[GroupNumber(1)];
  file_->block[3] = group.inode_table + 1;
  file_->block[7] = 0xFFFFFFF0;
  ASSERT_TRUE(mounted_.cut(*file_, 0));
  EXPECT_EQ(file_->block, (std::array<std::uint32_t, kBlockSlots>{}));
  EXPECT_EQ(mounted_.counts().free_blocks, full + 10);
  EXPECT_EQ(mounted_.volume().damage_count, 2U);
}

TEST_F(DamagedMap, AMapThatLeadsInACircleEnds) {
  mounted_.must_put(*file_, 12 + 256 + 65536);  // triple indirect
  const BlockNumber root(file_->block[14]);
  for (std::uint32_t slot = 1; slot < 256; ++slot) set_pointer(root, slot, root.value);
  EXPECT_NE(map_error(12 + 256 + 65536 + 65536 + 256 + 1), ENOSPC) << "an answer, whichever";
  const auto answer = mounted_.cut(*file_, 0);
  EXPECT_TRUE(answer || answer.error().value == EUCLEAN);
  EXPECT_GT(mounted_.volume().damage_count, 0U);
}

TEST_F(DamagedMap, AMapThatNamesOneBlockOverAndOverIsGivenUp) {
  mounted_.must_put(*file_, 12 + 256);
  const BlockNumber root(file_->block[13]);
  std::uint32_t child = 0;
  {
    const HostEntry inside(mounted_.host());
    child = *(*mounted_.volume().cache->read(root, {}))->at<le32>(0);
  }
  for (std::uint32_t slot = 1; slot < 256; ++slot) set_pointer(root, slot, child);
  EXPECT_EQ(mounted_.cut(*file_, 0).error().value, EUCLEAN);
  EXPECT_LT(mounted_.volume().damage_count, 100U);
}

}  // namespace
}  // namespace iotape::ext3
