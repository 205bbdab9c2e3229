// kernel: targets are made, used and gone without a trace, however they end.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/loop.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <thread>

#include "replayer/target/kernel_place.h"
#include "replayer/target/run_tool.h"
#include "tests/replayer/target_driver.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

using test::at;
using test::Driver;
using test::open_call;
using test::write_call;
using ::testing::HasSubstr;

bool can_make_filesystems() { return ::geteuid() == 0 && ::access("/dev/loop-control", R_OK | W_OK) == 0; }

#define NEEDS_LOOP_DEVICES()                                                           \
  do {                                                                                 \
    if (!can_make_filesystems()) {                                                     \
      if (std::getenv("CI") != nullptr) FAIL() << "CI machines must be able to mount"; \
      GTEST_SKIP() << "needs root and /dev/loop-control";                              \
    }                                                                                  \
  } while (false)

// Others on this machine use loop devices too: only the one that was ours is looked at.
bool attached(DeviceId device) {
  const std::string path = "/sys/dev/block/" + std::to_string(device.major_number()) + ":" +
                           std::to_string(device.minor_number()) + "/loop/backing_file";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return false;
  return test::read_file(path).find("deleted") != std::string::npos;
}
bool detached_soon(DeviceId device) {
  for (int i = 0; i < 500 && attached(device); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return !attached(device);
}

std::string spec(const std::string& filesystem, const std::string& more = "") {
  return "kernel:" + filesystem + ",size=" + (filesystem == "xfs" || filesystem == "btrfs" ? "400M" : "64M") +
         ",reserve=1M" + more;
}

class KernelTarget : public ::testing::TestWithParam<const char*> {};

TEST_P(KernelTarget, IsMadePreparedUsedColdAndLeavesNothing) {
  NEEDS_LOOP_DEVICES();
  DeviceId device;
  {
    Driver driver(spec(GetParam()));
    ASSERT_TRUE(driver) << driver.error().message;
    const TargetFacts facts = driver.target().facts();
    EXPECT_EQ(facts.filesystem, GetParam());
    ASSERT_TRUE(facts.device.has_value());
    device = *facts.device;
    EXPECT_EQ(device.major_number(), 7U);
    EXPECT_TRUE(attached(device));
    InitialNode node;
    node.path = "/d/file";
    node.size = 100'000;
    const auto prepared = driver.target().prepare({node});
    ASSERT_TRUE(prepared.has_value()) << prepared.error().message;
    ASSERT_TRUE(driver.target().make_cold().has_value());
    const TargetThread thread = driver.start();
    const auto fd = driver.must(thread, SYS_openat, open_call("/d/file", O_RDWR));
    EXPECT_EQ(driver.must(thread, SYS_read, test::read_call(fd, 200'000)), 100'000);
    EXPECT_EQ(driver.must(thread, SYS_write, write_call(fd, 1 << 20)), 1 << 20);
    EXPECT_EQ(test::run_shell("grep -c iotape-nothing /proc/self/mountinfo; grep loop" +
                              std::to_string(device.minor_number()) + "' ' /proc/self/mountinfo")
                  .out,
              "0\n");
    const auto before = driver.target().space_used().value();
    ASSERT_TRUE(before.has_value());
    driver.must(thread, SYS_write, write_call(fd, 4 << 20));
    EXPECT_TRUE(driver.target().finish(true).has_value());
    const auto after = driver.target().space_used().value();
    ASSERT_TRUE(after.has_value()) << "known when the filesystem is gone";
    EXPECT_GE(*after, *before + (4 << 20) / 2);
  }
  EXPECT_TRUE(detached_soon(device));
}
INSTANTIATE_TEST_SUITE_P(Filesystems, KernelTarget, ::testing::Values("ext2", "ext3", "ext4", "xfs", "btrfs"));

TEST(KernelTargets, TwoAtOnceDoNotCollide) {
  NEEDS_LOOP_DEVICES();
  Driver first(spec("ext4"));
  Driver second(spec("ext4"));
  ASSERT_TRUE(first && second);
  EXPECT_NE(first.target().facts().device->value, second.target().facts().device->value);
  first.must(first.start(), SYS_mkdir, MakeDirectory{at("/only-here"), 0755});
  EXPECT_EQ(second.call(second.start(), SYS_rmdir, Unlink{at("/only-here"), 0}), test::failed_with(ENOENT));
}

// The target's owner is ended by a signal in the middle of a call; it has no handler and no chance to clean up.
void expect_nothing_left_after(int signal) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t owner = ::fork();
  ASSERT_GE(owner, 0);
  if (owner == 0) {
    Driver driver(spec("ext4"));
    std::uint32_t device = 0;
    if (driver) {
      driver.must(driver.start(), SYS_mkdir, MakeDirectory{at("/d"), 0755});
      device = driver.target().facts().device->value;
    }
    if (::write(ends[1], &device, sizeof(device)) != sizeof(device)) ::_exit(1);
    for (;;) ::pause();
  }
  std::uint32_t device = 0;
  ASSERT_EQ(::read(ends[0], &device, sizeof(device)), static_cast<ssize_t>(sizeof(device)));
  ASSERT_NE(device, 0U);
  EXPECT_TRUE(attached(DeviceId(device)));
  ::kill(owner, signal);
  int status = 0;
  ::waitpid(owner, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(detached_soon(DeviceId(device)));
  ::close(ends[0]);
  ::close(ends[1]);
}
TEST(KernelTargets, NothingIsLeftAfterSignals) {
  NEEDS_LOOP_DEVICES();
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) expect_nothing_left_after(signal);
}

TEST(KernelTargets, AFailedMakeLeavesNothingAndSaysWhy) {
  NEEDS_LOOP_DEVICES();
  Driver bad_mkfs(spec("ext4", ",mkfs=--no-such-option"));
  ASSERT_FALSE(bad_mkfs);
  EXPECT_THAT(bad_mkfs.error().message, HasSubstr("mkfs.ext4"));
  EXPECT_THAT(bad_mkfs.error().message, HasSubstr("option")) << "what it said on stderr";
  EXPECT_THAT(bad_mkfs.error().message, HasSubstr("mkfs= of the target")) << "the remedy";
  Driver bad_mount(spec("ext4", ",mount=data=nonsense"));
  ASSERT_TRUE(bad_mount);
  const DeviceId device = *bad_mount.target().facts().device;
  const auto started = bad_mount.target().start_thread({TargetThread(1), {}, std::nullopt});
  ASSERT_FALSE(started.has_value());
  EXPECT_THAT(started.error().message, HasSubstr("mounting"));
  bad_mount = Driver("null:");
  EXPECT_TRUE(detached_soon(device));
}

TEST(KernelTargets, UnknownFilesystemsAndForeignDevicesAreRefused) {
  EXPECT_THAT(Driver("kernel:ext5").error().message, HasSubstr("ext"));
  NEEDS_LOOP_DEVICES();
  const Driver device("kernel:ext4,dev=/dev/loop0");
  EXPECT_THAT(device.error().message, HasSubstr("--allow-writes /dev/loop0"));
  TargetOptions options;
  options.tree = TreePolicy::kExisting;
  EXPECT_EQ(Driver(spec("ext4"), options).error().code, ErrorCode::kUsage);
}

TEST(ToolComplaints, AreTheReasonWithoutTheUsageAndBlankLines) {
  EXPECT_EQ(complaint_of("\n"), "");
  EXPECT_EQ(complaint_of("\nx: bad  size\t9\nx: too\x1b[31m small\n\nUsage: x [-abc]\n\t[-d]\n"),
            "x: bad size 9; x: too [31m small");
  EXPECT_LT(complaint_of(std::string(100'000, 'a')).size(), 500U);
}

TEST(MountOptionText, FlagsAndTheFilesystemsOwnWordsAreToldApart) {
  const MountOptions options = parse_mount_options("noatime,data=journal,dirsync,commit=30");
  EXPECT_EQ(options.flags, static_cast<unsigned long>(MS_NOATIME | MS_DIRSYNC));
  EXPECT_EQ(options.data, "data=journal,commit=30");
}

}  // namespace
}  // namespace iotape
