#include "replayer/machine/simulated_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "analysis/disk/profile_parser.h"
#include "replayer/ext3/device/memory_device.h"

namespace iotape::machine {
namespace {

using ext3::IoPart;
using ext3::IoReason;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr std::uint64_t kDeviceBytes = std::uint64_t{64} << 20U;
constexpr std::int64_t kMillisecond = 1'000'000;

class NoFiles final : public ProfileFiles {
 public:
  Result<std::string> read(const std::string&) override { return failure(ErrorCode::kUsage, "no files here"); }
};

// 6,000 turns a minute: 10 ms each; 100 sectors a track, so that one passes in 0.1 ms; any seek 5 ms; no caches, no
// overheads, and a bus that takes no time worth counting.
DiskProfile plain_disk() {
  NoFiles files;
  auto profile = parse_disk_profile(
      "rpm = 6000\nheads = 1\nzone = 2000 100 0 0\nseek = two-piece 5ms 0ms 1 5ms 0ms\nbus_rate = 900G\n"
      "miss_overhead = 0ms\nhit_overhead = 0ms\nwrite_overhead = 0ms\nsegments = 0\nwrite_cache = 0\n",
      "plain", "plain", files);
  EXPECT_TRUE(profile) << profile.error().message;
  return std::move(*profile);
}

class SimulatedDisk : public ::testing::Test {
 protected:
  SimulatedDisk() : SimulatedDisk(Sectors(0)) {}
  explicit SimulatedDisk(Sectors position) : below_(kDeviceBytes), host_(Nanoseconds(0)) {
    SimulatedDeviceOptions options;
    options.disk = plain_disk();
    options.position = position;
    options.whole_disk = DeviceId::of(240, 0);
    options.partition = DeviceId::of(240, 1);
    device_.emplace(below_, host_, options,
                    ext3::RequestContext{
                        [this] { return host_.now(); },
                        [this] {
                          const auto thread = static_cast<std::int32_t>(host_.thread());
                          return std::pair(ThreadKey{ProcessId(thread), ThreadId(thread)}, std::optional(host_.now()));
                        },
                        [](ext3::InodeNumber) { return 7U; }});
    device_->start();
    host_.spawn_daemon(99, [this] { device_->run_disk(); });
  }

  IoPart part(std::uint32_t sectors, BlockCause cause = BlockCause::kData) {
    IoPart made{bytes_.data(), sectors * 512, {}};
    made.tag.cause = cause;
    return made;
  }
  void transfer(bool write, std::int64_t sector, std::uint32_t sectors) {
    const std::array parts{part(sectors)};
    const auto offset = static_cast<std::uint64_t>(sector) * 512;
    ASSERT_TRUE(write ? device_->write(offset, parts, IoReason::kDemand)
                      : device_->read(offset, parts, IoReason::kDemand));
  }
  void thread(std::uint32_t number, std::function<void()> body) { host_.spawn(number, std::move(body)); }

  std::vector<std::byte> bytes_ = std::vector<std::byte>(std::size_t{1} << 20U);
  ext3::MemoryDevice below_;
  ext3::FiberHost host_;
  std::optional<SimulatedDevice> device_;
};

TEST_F(SimulatedDisk, OneRotationAndOneTransferByHand) {
  // Sector 30 passes 3 ms after sector 0, which is under the head at 0; eight sectors take 0.8 ms.
  thread(1, [this] { transfer(false, 30, 8); });
  ASSERT_TRUE(host_.run());
  EXPECT_EQ(host_.now().value, 38 * kMillisecond / 10);
}

TEST_F(SimulatedDisk, OneSeekByHand) {
  // Cylinder 10 after 5 ms: sector 50 of its track comes by, sector 70 2 ms later.
  thread(1, [this] { transfer(false, 1070, 10); });
  ASSERT_TRUE(host_.run());
  EXPECT_EQ(host_.now().value, 8 * kMillisecond);
  EXPECT_EQ(device_->busy().value, 8 * kMillisecond);
}

TEST_F(SimulatedDisk, NeighboursThatWaitAreServedAsOneRequestOfTwoParts) {
  thread(1, [this] { transfer(true, 500, 8); });  // keeps the disk busy
  thread(2, [this] { transfer(true, 1008, 8); });
  thread(3, [this] { transfer(true, 1000, 8); });
  ASSERT_TRUE(host_.run());
  const std::vector<BlockRequest> requests = device_->take();
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_EQ(requests[1].sector, Sectors(1000));
  EXPECT_EQ(requests[1].bytes, 16 * 512);
  ASSERT_THAT(requests[1].parts, SizeIs(2));
  EXPECT_EQ(requests[1].parts[0].submitter.thread, ThreadId(3));
  EXPECT_EQ(requests[1].parts[1].submitter.thread, ThreadId(2));
  EXPECT_EQ(requests[1].parts[1].sector, Sectors(1008));
}

TEST_F(SimulatedDisk, APartIsQueuedWhenSubmittedAndItsRequestIssuedWhenTheDiskIsFree) {
  thread(1, [this] { transfer(false, 0, 100); });  // 10 ms
  thread(2, [this] {
    host_.sleep_until(Nanoseconds(2 * kMillisecond));
    transfer(false, 100, 100);  // the next track: 5 ms to get there, 5 ms until its first sector, 10 ms
  });
  ASSERT_TRUE(host_.run());
  const std::vector<BlockRequest> requests = device_->take();
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_EQ(requests[1].parts[0].queue.value, 2 * kMillisecond);
  EXPECT_EQ(requests[1].issue->value, 10 * kMillisecond);
  EXPECT_EQ(requests[1].complete->value, 30 * kMillisecond);
  EXPECT_EQ(requests[0].complete, requests[1].issue);
}

TEST_F(SimulatedDisk, ALongRequestIsCutAndEndsWithItsLastPiece) {
  thread(1, [this] {
    const std::array parts{part(128), part(128), part(128)};
    ASSERT_TRUE(device_->write(0, parts, IoReason::kWriteBack));
  });
  ASSERT_TRUE(host_.run());
  const std::vector<BlockRequest> requests = device_->take();
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_EQ(requests[0].bytes, 256 * 512);
  EXPECT_EQ(requests[1].bytes, 128 * 512);
  EXPECT_EQ(host_.now(), *requests[1].complete);
}

TEST_F(SimulatedDisk, WhoFindsTheQueueFullWaitsForRoom) {
  class Nothing final : public ext3::IoRequest {
    void ended(ext3::Answer<void>) override {}
  };
  Nanoseconds let_go;
  thread(1, [&] {
    for (std::int64_t i = 0; i < 130; ++i) {
      auto request = std::make_unique<Nothing>();
      request->write = true;
      request->offset = static_cast<std::uint64_t>(i) * 20 * 512;
      request->parts = {part(8)};
      device_->submit(std::move(request));
    }
    let_go = host_.now();
  });
  ASSERT_TRUE(host_.run());
  // 128 wait while the first is served; the 130th fits when the second has gone to the disk.
  EXPECT_GT(let_go.value, 0);
  EXPECT_LT(let_go.value, 20 * kMillisecond);
}

TEST_F(SimulatedDisk, AFlushIsToldAsOneAndTakesNoSectors) {
  thread(1, [this] {
    transfer(true, 30, 8);
    ASSERT_TRUE(device_->flush());
  });
  ASSERT_TRUE(host_.run());
  const std::vector<BlockRequest> requests = device_->take();
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_EQ(requests[1].operation, BlockOperation::kFlush);
  EXPECT_EQ(requests[1].flags, kBlockPreflush);
  EXPECT_EQ(requests[1].bytes, 0);
}

TEST_F(SimulatedDisk, ADiskThatEndsServesWhatWaitsFirst) {
  thread(1, [this] { transfer(true, 30, 8); });
  thread(2, [this] { device_->end_disk(); });
  ASSERT_TRUE(host_.run());
  EXPECT_TRUE(device_->ended());
  EXPECT_THAT(device_->take(), SizeIs(1));
  transfer(true, 40, 8);  // at once, outside any fiber, and not remembered
  EXPECT_THAT(device_->take(), SizeIs(0));
}

class SimulatedDiskInside : public SimulatedDisk {
 protected:
  SimulatedDiskInside() : SimulatedDisk(Sectors(50'000)) {}
};

TEST_F(SimulatedDiskInside, SectorsAreTheDisksOwn) {
  thread(1, [this] { transfer(false, 8, 8); });
  ASSERT_TRUE(host_.run());
  const std::vector<BlockRequest> requests = device_->take();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].sector, Sectors(50'008));
  EXPECT_EQ(requests[0].device, DeviceId::of(240, 0));
  EXPECT_EQ(requests[0].partition, DeviceId::of(240, 1));
}

// Random traffic of four threads: the disk serves one request after the other, time never runs backwards, and the bytes
// of the requests are those that were submitted.
TEST_F(SimulatedDisk, RequestsNeverOverlapInTimeAndAddUp) {
  std::uint64_t submitted = 0;
  for (std::uint32_t number = 1; number <= 4; ++number)
    thread(number, [this, number, &submitted] {
      std::mt19937 random(number);
      for (int i = 0; i < 200; ++i) {
        const std::int64_t region = 20'000 * std::int64_t{number};
        transfer(random() % 2 == 0, region + random() % 2000 * 8, 8);
        submitted += 8 * 512;
        host_.sleep_until(host_.now() + Nanoseconds(random() % kMillisecond));
      }
    });
  ASSERT_TRUE(host_.run());
  std::uint64_t served = 0;
  Nanoseconds last;
  for (const BlockRequest& request : device_->take()) {
    EXPECT_GE(*request.issue, last);
    EXPECT_GE(*request.complete, *request.issue);
    last = *request.complete;
    std::int64_t parts = 0;
    for (const RequestPart& part : request.parts) {
      EXPECT_LE(part.queue, *request.issue);
      parts += part.bytes;
    }
    EXPECT_EQ(parts, request.bytes);
    served += static_cast<std::uint64_t>(request.bytes);
  }
  EXPECT_EQ(served, submitted);
}

}  // namespace
}  // namespace iotape::machine
