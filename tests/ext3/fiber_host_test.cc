#include "replayer/ext3/fiber_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replayer/ext3/calls/call_issuer.h"
#include "replayer/ext3/device/tracing_device.h"
#include "replayer/ext3/sleep_lock.h"
#include "tests/ext3/support/mounted_disk.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3::test {
namespace {

TEST(FiberHost, TheClockJumpsToTheNextMomentAnybodyWaitsFor) {
  FiberHost host(Nanoseconds(1000));
  std::vector<std::string> order;
  for (const int delay : {30, 10, 20})
    host.spawn(static_cast<std::uint32_t>(delay), [&, delay] {
      host.sleep_until(host.now() + Nanoseconds(delay));
      order.push_back(std::to_string(host.thread()) + "@" + std::to_string(host.now().value));
    });
  EXPECT_TRUE(host.run());
  EXPECT_THAT(order, testing::ElementsAre("10@1010", "20@1020", "30@1030"));
}

TEST(FiberHost, ALockIsHandedOverInTheOrderOfAsking) {
  FiberHost host(Nanoseconds(0));
  SleepLock lock;
  std::vector<std::uint32_t> order;
  for (std::uint32_t thread = 1; thread <= 4; ++thread)
    host.spawn(thread, [&] {
      const SleepLockGuard held(host, lock);
      host.sleep_until(host.now() + Nanoseconds(5));
      order.push_back(host.thread());
    });
  EXPECT_TRUE(host.run());
  EXPECT_THAT(order, testing::ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(host.now().value, 20);
}

TEST(FiberHost, WhoWaitsForAChannelOrAMomentGoesOnOnceWhicheverComesFirst) {
  FiberHost host(Nanoseconds(0));
  const int channel = 0;
  std::vector<std::string> order;
  const auto waits_until = [&](std::int64_t moment) {
    host.wait_until(&channel, Nanoseconds(moment));
    order.push_back(std::to_string(host.thread()) + "@" + std::to_string(host.now().value));
  };
  // Woken at 10; its moment of 20 is forgotten, and the one of its second wait holds.
  host.spawn(1, [&] { waits_until(20), waits_until(30); });
  // Gone at its moment; the wake that comes later is not for it.
  host.spawn(2, [&] { waits_until(5), host.sleep_until(Nanoseconds(40)), order.push_back("2"); });
  host.spawn(3, [&] { host.sleep_until(Nanoseconds(10)), host.wake(&channel); });
  EXPECT_TRUE(host.run());
  EXPECT_THAT(order, testing::ElementsAre("2@5", "1@10", "1@30", "2"));
}

TEST(FiberHost, ManyFibersThatComeAndGoKeepTheOrderOfTheirWaiting) {
  constexpr std::uint32_t kFibers = 3000;
  FiberHost host(Nanoseconds(0));
  const int channel = 0;
  std::vector<std::uint32_t> order;
  for (std::uint32_t fiber = 0; fiber < kFibers; ++fiber)
    host.spawn(fiber, [&, fiber] {
      if (fiber % 3 != 0) host.wait(&channel);
      order.push_back(fiber);
    });
  host.spawn(kFibers, [&] { host.sleep_until(Nanoseconds(1)), host.wake(&channel); });
  EXPECT_TRUE(host.run());
  std::vector<std::uint32_t> expected;
  for (std::uint32_t fiber = 0; fiber < kFibers; fiber += 3) expected.push_back(fiber);
  for (std::uint32_t fiber = 0; fiber < kFibers; ++fiber)
    if (fiber % 3 != 0) expected.push_back(fiber);
  EXPECT_EQ(order, expected);
}

TEST(FiberHost, ADeadlockIsToldAndADaemonIsNoReasonToGoOn) {
  FiberHost host(Nanoseconds(0));
  host.spawn_daemon(9, [&] {
    while (true) host.sleep_until(host.now() + Nanoseconds(1'000'000));
  });
  host.spawn(1, [&] { host.sleep_until(Nanoseconds(5)); });
  EXPECT_TRUE(host.run());
  FiberHost stuck(Nanoseconds(0));
  const int nobody = 0;
  stuck.spawn(1, [&] { stuck.wait(&nobody); });
  EXPECT_FALSE(stuck.run());
}

// A disk whose requests take their time, so that others run meanwhile.
class SlowDisk final : public BlockDevice {
 public:
  SlowDisk(BlockDevice& below, FiberHost& host) : below_(below), host_(host) {}
  [[nodiscard]] std::uint64_t size() const override { return below_.size(); }
  Answer<void> read(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override {
    pass(offset, parts.size());
    return below_.read(offset, parts, reason);
  }
  Answer<void> write(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override {
    pass(offset, parts.size());
    return below_.write(offset, parts, reason);
  }
  Answer<void> flush() override {
    pass(0, 4);
    return below_.flush();
  }

 private:
  void pass(std::uint64_t offset, std::size_t parts) {
    const auto distance = static_cast<std::int64_t>(offset > last_ ? offset - last_ : last_ - offset);
    last_ = offset;
    host_.sleep_until(host_.now() + Nanoseconds(50'000 + distance / 16 + static_cast<std::int64_t>(parts) * 10'000));
  }
  BlockDevice& below_;
  FiberHost& host_;
  std::uint64_t last_ = 0;
};

class FixedData final : public CallData {
 public:
  std::span<const std::byte> to_write(std::size_t length) override { return room(length); }
  std::span<std::byte> to_read(std::size_t length) override { return room(length); }

 private:
  std::span<std::byte> room(std::size_t length) {
    if (bytes_.size() < length) bytes_.resize(length, std::byte{0x5A});
    return {bytes_.data(), length};
  }
  std::vector<std::byte> bytes_;
};

PathArgument path_argument(std::string text) {
  PathArgument path;
  path.bytes = std::move(text);
  return path;
}

// What one of eight threads does: files of its own in a directory of all, renames, syncs, deletions.
void one_thread(Volume& volume, CallThread thread, std::uint32_t number, std::vector<int>& failures) {
  FixedData data;
  const auto call = [&](std::uint32_t system_call, const Operation& operation) {
    const CallAnswer answer = issue_call(volume, thread, operation, system_call, data, DeviceId(1));
    if (!answer.outcome.ok()) failures.push_back(answer.outcome.error_number);
    return static_cast<std::int32_t>(answer.outcome.value);
  };
  constexpr std::uint32_t kOpenat = 257;
  constexpr std::uint32_t kWrite = 1;
  constexpr std::uint32_t kFsync = 74;
  for (int i = 0; i < 60; ++i) {
    const std::string name = "/shared/file_" + std::to_string(number) + "_" + std::to_string(i);
    Open open;
    open.path = path_argument(name);
    open.flags = 0101;  // O_CREAT | O_WRONLY
    open.mode = 0644;
    Descriptor descriptor;
    descriptor.number = call(kOpenat, open);
    Write write;
    write.descriptor = descriptor;
    write.length = 1000 + i * 300;
    call(kWrite, write);
    if (i % 10 == 5) call(kFsync, Sync{descriptor});
    call(3, Close{descriptor});
    if (i % 4 == 1) {
      Rename rename;
      rename.from = path_argument(name);
      rename.to = path_argument(name + "_renamed");
      call(82, rename);
    }
    if (i % 4 == 2) {
      Unlink unlink;
      unlink.path = path_argument(name);
      call(87, unlink);
    }
  }
}

struct EightThreads {
  std::vector<BlockRequest> requests;
  std::vector<int> failures;
  Nanoseconds end;
  bool finished = false;
};

EightThreads run_eight_threads(MountOptions options) {
  EightThreads run;
  FilesystemOptions make;
  make.block_size = 1024;
  make.now = 1'000'000'000;
  TestVolumeImage image(std::uint64_t{64} << 20U, make);
  FiberHost host(Nanoseconds(std::int64_t{1'000'000'000} * 1'000'000'000));
  SlowDisk slow(image.device(), host);
  TracingDevice traced(
      slow, DeviceId(1),
      {[&] { return host.now(); },
       [&] {
         const auto thread = static_cast<std::int32_t>(host.thread());
         return std::pair(ThreadKey{ProcessId(thread), ThreadId(thread)}, std::optional<Nanoseconds>());
       },
       [](InodeNumber) { return 0U; }});
  options.cache_bytes = std::size_t{512} << 10U;
  auto mounted = mount_volume(host, traced, options);
  if (!mounted) {
    ADD_FAILURE() << mounted.error().message;
    return run;
  }
  Volume& volume = **mounted;
  {
    const auto root = volume.inodes->get(kRootInode);
    EXPECT_TRUE(create_node(volume, **root, "shared", {0040755, 0, {}}, {}));
    host.spawn_daemon(100, [&] {
      while (true) {
        host.sleep_until(host.now() + Nanoseconds(100'000'000));
        (void)tend_volume(volume);
      }
    });
    for (std::uint32_t number = 1; number <= 8; ++number)
      host.spawn(number, [&, number, start = *root] {
        CallThread thread;
        thread.descriptors = std::make_shared<DescriptorTable>();
        thread.view = std::make_shared<FilesystemView>();
        thread.view->start = {start, start};
        one_thread(volume, std::move(thread), number, run.failures);
      });
    run.finished = host.run();
  }
  EXPECT_TRUE(unmount_volume(volume));
  run.end = host.now();
  mounted->reset();
  run.requests = traced.take();
  IOTAPE_EXPECT_E2FSCK_CLEAN(image.device());
  return run;
}

class EightThreadsTest : public testing::TestWithParam<DataMode> {};

TEST_P(EightThreadsTest, TheSameCallsTwiceGiveTheSameRequests) {
  MountOptions options;
  options.data = GetParam();
  const EightThreads first = run_eight_threads(options);
  const EightThreads second = run_eight_threads(options);
  EXPECT_TRUE(first.finished);
  EXPECT_TRUE(first.failures.empty());
  EXPECT_EQ(first.end, second.end);
  ASSERT_EQ(first.requests.size(), second.requests.size());
  ASSERT_GT(first.requests.size(), 100U);
  std::set<std::int32_t> submitters;
  for (std::size_t i = 0; i < first.requests.size(); ++i) {
    const BlockRequest& a = first.requests[i];
    const BlockRequest& b = second.requests[i];
    ASSERT_EQ(a.sector, b.sector) << i;
    ASSERT_EQ(a.bytes, b.bytes) << i;
    ASSERT_EQ(a.issue, b.issue) << i;
    ASSERT_EQ(a.parts, b.parts) << i;
    for (const RequestPart& part : a.parts) submitters.insert(part.submitter.thread.value);
  }
  EXPECT_GT(submitters.size(), 3U) << "the threads did not interleave";
}

INSTANTIATE_TEST_SUITE_P(DataModes, EightThreadsTest,
                         testing::Values(DataMode::kOrdered, DataMode::kWriteback, DataMode::kJournal));

}  // namespace
}  // namespace iotape::ext3::test
