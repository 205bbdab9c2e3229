// The cache's write-back with the disk's time in between: nothing dirty is lost, nothing is written twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "analysis/disk/profile_parser.h"
#include "replayer/ext3/cache/buffer_cache.h"
#include "replayer/ext3/device/memory_device.h"
#include "replayer/machine/simulated_device.h"

namespace iotape::machine {
namespace {

using ext3::BlockNumber;
using ext3::BufferReference;

constexpr std::uint32_t kBlock = 4096;
constexpr std::uint32_t kBlocks = 2000;

// Remembers what reached the platter: how often each block did, and with which number in it.
class Platter final : public ext3::BlockDevice {
 public:
  [[nodiscard]] std::uint64_t size() const override { return std::uint64_t{kBlocks} * kBlock; }
  ext3::Answer<void> read(std::uint64_t, std::span<const ext3::IoPart> parts, ext3::IoReason) override {
    for (const ext3::IoPart& part : parts) std::memset(part.data, 0, part.bytes);
    return {};
  }
  ext3::Answer<void> write(std::uint64_t offset, std::span<const ext3::IoPart> parts, ext3::IoReason) override {
    auto block = static_cast<std::uint32_t>(offset / kBlock);
    for (const ext3::IoPart& part : parts) {
      EXPECT_EQ(part.bytes, kBlock);
      std::uint64_t number = 0;
      std::memcpy(&number, part.data, sizeof number);
      written[block++].push_back(number);
    }
    return {};
  }
  ext3::Answer<void> flush() override { return {}; }
  std::map<std::uint32_t, std::vector<std::uint64_t>> written;
};

TEST(WriteBack, EveryDirtyBlockIsWrittenOncePerGeneration) {
  auto profile = load_disk_profile("scsi-10k");
  ASSERT_TRUE(profile);
  Platter platter;
  ext3::FiberHost host(Nanoseconds(0));
  SimulatedDeviceOptions options;
  options.disk = std::move(*profile);
  SimulatedDevice device(
      platter, host, std::move(options),
      {[&] { return host.now(); }, [] { return std::pair(ThreadKey{}, std::optional<Nanoseconds>{}); },
       [](ext3::InodeNumber) { return 0U; }});
  ext3::BufferCache cache(device, host, kBlock, kBlocks / 2);
  device.start();
  host.spawn_daemon(90, [&] { device.run_disk(); });
  cache.begin_flusher({100, 400});
  host.spawn_daemon(91, [&] {
    while (true) {
      host.wait_until(cache.flush_channel(), host.now() + Nanoseconds(5'000'000'000));
      EXPECT_TRUE(cache.write_older(host.now() - Nanoseconds(10'000'000)));
      EXPECT_TRUE(cache.write_excess());
    }
  });

  // What each block held each time it turned from clean to dirty, and what it holds now.
  std::map<std::uint32_t, std::uint64_t> generations;
  std::map<std::uint32_t, std::uint64_t> latest;
  std::uint64_t number = 0;
  for (std::uint32_t fiber = 1; fiber <= 4; ++fiber)
    host.spawn(fiber, [&, fiber] {
      std::mt19937 random(fiber);
      for (int i = 0; i < 3000; ++i) {
        const auto block = static_cast<std::uint32_t>(random() % kBlocks);
        const auto buffer = cache.read(BlockNumber(block), {});
        ASSERT_TRUE(buffer);
        cache.wait_idle(**buffer);
        ++number;
        std::memcpy((*buffer)->data, &number, sizeof number);
        generations[block] += (*buffer)->dirty ? 0 : 1;
        latest[block] = number;
        cache.mark_dirty(**buffer);
        ASSERT_TRUE(cache.balance_dirty());
        EXPECT_LE(cache.dirty_count() + cache.writeback_count(), 400U + 4U);
      }
    });
  ASSERT_TRUE(host.run());
  host.spawn(5, [&] { EXPECT_TRUE(cache.write_all()); });
  ASSERT_TRUE(host.run());

  EXPECT_EQ(cache.dirty_count(), 0U);
  EXPECT_EQ(cache.writeback_count(), 0U);
  std::uint64_t writes = 0;
  for (const auto& [block, times] : generations) {
    ASSERT_EQ(platter.written[block].size(), times) << "block " << block;
    EXPECT_EQ(platter.written[block].back(), latest[block]) << "block " << block;
    EXPECT_TRUE(std::ranges::is_sorted(platter.written[block])) << "block " << block;
    writes += times;
  }
  EXPECT_EQ(writes, cache.figures().blocks_written);
  std::uint64_t requested = 0;
  for (const BlockRequest& request : device.take())
    if (request.operation == BlockOperation::kWrite) requested += static_cast<std::uint64_t>(request.bytes) / kBlock;
  EXPECT_EQ(requested, writes);
}

}  // namespace
}  // namespace iotape::machine
