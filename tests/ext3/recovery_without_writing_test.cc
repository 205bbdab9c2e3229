// A volume whose journal waits, for those who only want to read: what a mount does when it may write, and how it is
// judged when nobody may.
#include <gtest/gtest.h>

#include "replayer/ext3/device/overlay_device.h"
#include "tests/ext3/support/mounted_disk.h"
#include "tests/ext3/support/recording_device.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3::test {
namespace {

class ReadOnlyDisk final : public BlockDevice {
 public:
  explicit ReadOnlyDisk(BlockDevice& below) : below_(below) {}
  [[nodiscard]] std::uint64_t size() const override { return below_.size(); }
  [[nodiscard]] bool read_only() const override { return true; }
  Answer<void> read(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override {
    return below_.read(offset, parts, reason);
  }
  Answer<void> write(std::uint64_t, std::span<const IoPart>, IoReason) override {
    ADD_FAILURE() << "a read-only disk was written";
    return refuse(EROFS);
  }
  Answer<void> flush() override { return {}; }

 private:
  BlockDevice& below_;
};

FilesystemOptions small_volume() {
  FilesystemOptions options;
  options.block_size = 1024;
  options.journal_blocks = 1024;
  return options;
}

// Files that were synced and an open one that was deleted, and then the power went.
class Crashed {
 public:
  Crashed() {
    RecordingDevice device(image_.device());
    {
      MountedDisk disk(device);
      for (int i = 0; i < 40; ++i) {
        EXPECT_EQ(disk.create("/f" + std::to_string(i)), 0);
        EXPECT_EQ(disk.write("/f" + std::to_string(i), 0, std::string(3000, 'k')), 0);
      }
      EXPECT_EQ(disk.create("/gone"), 0);
      EXPECT_EQ(disk.write("/gone", 0, std::string(100'000, 'g')), 0);
      InodeReference open = disk.get("/gone");
      EXPECT_EQ(disk.unlink("/gone"), 0);
      EXPECT_EQ(disk.sync_all(), 0);
      cut_ = device.stream().size();
      const HostEntry inside(disk.host());
      open = {};
    }
    disk_ = device.after(cut_);
  }
  MemoryDevice& disk() { return *disk_; }

 private:
  TestVolumeImage image_{std::uint64_t{16} << 20U, small_volume()};
  std::size_t cut_ = 0;
  std::unique_ptr<MemoryDevice> disk_;
};

MountOptions only_reading() {
  MountOptions options;
  options.read_only = true;
  return options;
}

TEST(RecoveryWithoutWriting, AReadOnlyMountOfAWritableDiskReplaysAndFinishesDeletions) {
  Crashed crashed;
  EXPECT_TRUE(waits_for_recovery(crashed.disk()));
  {
    MountedDisk disk(crashed.disk(), only_reading());
    ASSERT_TRUE(disk.valid());
    ASSERT_TRUE(disk.report().recovery);
    EXPECT_GT(disk.report().recovery->transactions, 0U);
    EXPECT_EQ(disk.report().orphans_deleted, 1U);
    EXPECT_EQ(disk.read("/f39"), std::string(3000, 'k'));
    EXPECT_EQ(disk.create("/new"), EROFS);
    EXPECT_EQ(disk.volume().journaled(), false);
  }
  EXPECT_FALSE(waits_for_recovery(crashed.disk()));
  IOTAPE_EXPECT_SOUND(crashed.disk());
  const auto as_left = crashed.disk().copy();
  {
    ReadOnlyDisk unwritable(crashed.disk());
    MountedDisk again(unwritable, only_reading());
    ASSERT_TRUE(again.valid());
    EXPECT_FALSE(again.report().recovery);
  }
}

TEST(RecoveryWithoutWriting, AReadOnlyDiskIsRefusedWithWhatToDo) {
  Crashed crashed;
  ReadOnlyDisk unwritable(crashed.disk());
  ThreadHost host;
  const auto mounted = mount_volume(host, unwritable, only_reading());
  ASSERT_FALSE(mounted);
  EXPECT_EQ(mounted.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(mounted.error().message.find("make it writable"), std::string::npos) << mounted.error().message;
}

TEST(RecoveryWithoutWriting, WhatAMountWouldFindIsJudgedWithoutOne) {
  Crashed crashed;
  ReadOnlyDisk unwritable(crashed.disk());
  EXPECT_NE(check_text(unwritable), "");  // as it lies there
  OverlayDevice overlay(unwritable, std::uint64_t{64} << 20U);
  const auto recovered = recover_volume(overlay);
  ASSERT_TRUE(recovered) << recovered.error().message;
  ASSERT_TRUE(*recovered);
  EXPECT_GT((*recovered)->transactions, 0U);
  EXPECT_EQ(check_text(overlay), "orphan_list: 1 files wait to be deleted or cut; mount it once\n");
  {
    MountedDisk settled(overlay, only_reading());
    EXPECT_EQ(settled.report().orphans_deleted, 1U);
  }
  EXPECT_EQ(check_text(overlay), "");
  EXPECT_TRUE(waits_for_recovery(unwritable));
  OverlayDevice small(unwritable, 4096);
  EXPECT_FALSE(recover_volume(small));
}

TEST(RecoveryWithoutWriting, ASoundVolumeNeedsNone) {
  TestVolumeImage image(std::uint64_t{16} << 20U, small_volume());
  ReadOnlyDisk unwritable(image.device());
  const auto recovered = recover_volume(unwritable);
  ASSERT_TRUE(recovered);
  EXPECT_FALSE(*recovered);
}

TEST(OverlayDevice, WritesAreSeenAndTheDiskBelowIsNot) {
  MemoryDevice below(10'240);
  std::vector<std::byte> pattern(10'240);
  for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<std::byte>(i * 31);
  const auto write = [](BlockDevice& device, std::uint64_t offset, std::span<std::byte> bytes) {
    const IoPart part{bytes.data(), static_cast<std::uint32_t>(bytes.size()), {}};
    return device.write(offset, {&part, 1}, IoReason::kDemand);
  };
  const auto read = [](BlockDevice& device, std::uint64_t offset, std::size_t length) {
    std::vector<std::byte> bytes(length);
    const IoPart part{bytes.data(), static_cast<std::uint32_t>(length), {}};
    EXPECT_TRUE(device.read(offset, {&part, 1}, IoReason::kDemand));
    return bytes;
  };
  ASSERT_TRUE(write(below, 0, pattern));
  OverlayDevice overlay(below, 8192);
  std::vector<std::byte> model = pattern;
  std::uint64_t seed = 1;
  for (int step = 0; step < 60; ++step) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t offset = seed >> 40U & 7U;
    const std::uint64_t count = 1 + (seed >> 50U & 3U);
    std::vector<std::byte> bytes(count * 512, static_cast<std::byte>(step));
    ASSERT_TRUE(write(overlay, offset * 512, bytes));
    std::ranges::copy(bytes, model.begin() + static_cast<std::ptrdiff_t>(offset * 512));
    EXPECT_EQ(read(overlay, 0, model.size()), model);
  }
  EXPECT_EQ(read(below, 0, pattern.size()), pattern);
  std::vector<std::byte> all(10'240);
  EXPECT_EQ(write(overlay, 0, all).error().value, ENOSPC);
  EXPECT_EQ(write(overlay, 10'240, all).error().value, EIO);
}

}  // namespace
}  // namespace iotape::ext3::test
