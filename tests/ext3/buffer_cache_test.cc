#include "replayer/ext3/cache/buffer_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "replayer/ext3/device/memory_device.h"
#include "replayer/ext3/thread_host.h"

namespace iotape::ext3 {
namespace {

// Remembers the requests that reach the disk.
class WatchedDevice final : public BlockDevice {
 public:
  explicit WatchedDevice(std::uint64_t size) : disk_(size) {}
  [[nodiscard]] std::uint64_t size() const override { return disk_.size(); }
  Answer<void> read(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override {
    reads.emplace_back(offset / 4096, parts.size());
    return disk_.read(offset, parts, reason);
  }
  Answer<void> write(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override {
    if (failing) return refuse(EIO);
    writes.emplace_back(offset / 4096, parts.size());
    return disk_.write(offset, parts, reason);
  }
  Answer<void> flush() override { return {}; }

  std::vector<std::pair<std::uint64_t, std::size_t>> reads;  // block, count
  std::vector<std::pair<std::uint64_t, std::size_t>> writes;
  bool failing = false;

 private:
  MemoryDevice disk_;
};

class BufferCacheTest : public testing::Test {
 protected:
  void fill(std::uint32_t block, std::uint8_t value) {
    auto buffer = cache_.get_zeroed(BlockNumber(block), {});
    ASSERT_TRUE(buffer);
    std::memset((*buffer)->data, value, 4096);
    cache_.mark_dirty(**buffer);
  }
  std::uint8_t first_byte(std::uint32_t block) {
    auto buffer = cache_.read(BlockNumber(block), {});
    return buffer ? static_cast<std::uint8_t>((*buffer)->data[0]) : 0xEE;
  }

  ThreadHost host_;
  HostEntry inside_{host_};
  WatchedDevice device_{std::uint64_t{64} << 20U};
  BufferCache cache_{device_, host_, 4096, 1024};
};

TEST_F(BufferCacheTest, KeepsWhatIsBeyondItsLimitOnTheDisk) {
  for (std::uint32_t i = 0; i < 5000; ++i) fill(i, static_cast<std::uint8_t>(i % 251));
  EXPECT_LE(cache_.cached_count(), 1024U);
  for (std::uint32_t i = 0; i < 5000; ++i) ASSERT_EQ(first_byte(i), i % 251) << i;
}

TEST_F(BufferCacheTest, WritesNeighboursInOneRequest) {
  for (const std::uint32_t block : {7U, 5U, 6U, 100U}) fill(block, 1);
  ASSERT_TRUE(cache_.write_all());
  EXPECT_THAT(device_.writes, testing::ElementsAre(std::pair(5, 3), std::pair(100, 1)));
  EXPECT_EQ(cache_.dirty_count(), 0U);
}

TEST_F(BufferCacheTest, ReadsOnlyWhatIsMissingOfARange) {
  fill(12, 1);
  ASSERT_TRUE(cache_.read_range(BlockNumber(10), 6, {}, IoReason::kReadAhead));
  EXPECT_THAT(device_.reads, testing::ElementsAre(std::pair(10, 2), std::pair(13, 3)));
  EXPECT_EQ(first_byte(12), 1);
}

TEST_F(BufferCacheTest, ForgottenBlocksAreNeverWritten) {
  fill(9, 1);
  cache_.forget(*cache_.find(BlockNumber(9)));
  ASSERT_TRUE(cache_.write_all());
  EXPECT_TRUE(device_.writes.empty());
  EXPECT_EQ(first_byte(9), 0);
}

TEST_F(BufferCacheTest, WritesTheOldestFirstAndLeavesTheRest) {
  fill(3, 1);
  const Nanoseconds now = host_.now();
  ASSERT_TRUE(cache_.write_older(now - Nanoseconds(1)));
  EXPECT_TRUE(device_.writes.empty());
  ASSERT_TRUE(cache_.write_older(now));
  EXPECT_EQ(device_.writes.size(), 1U);
}

TEST_F(BufferCacheTest, SaysWhenTheDiskRefuses) {
  fill(3, 1);
  device_.failing = true;
  EXPECT_EQ(cache_.write_all().error().value, EIO);
  EXPECT_TRUE(cache_.find(BlockNumber(3))->failed);
  EXPECT_EQ(cache_.read(BlockNumber(1U << 30U), {}).error().value, EIO);
}

}  // namespace
}  // namespace iotape::ext3
