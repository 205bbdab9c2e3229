#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/replayer/target_driver.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

using test::at;
using test::Driver;
using test::failed_with;
using test::handle;
using test::lock_call;
using test::open_call;
using test::write_call;
using ::testing::HasSubstr;

class DirectoryTarget : public ::testing::Test {
 protected:
  std::string place() const { return scratch_ / "target"; }
  test::ScratchDirectory scratch_;
};

TEST_F(DirectoryTarget, MakesWritesAndReadsAFile) {
  Driver driver("dir:" + place());
  ASSERT_TRUE(driver) << driver.error().message;
  const TargetThread thread = driver.start();
  const auto fd = driver.must(thread, SYS_openat, open_call("/a", O_CREAT | O_RDWR));
  EXPECT_EQ(driver.must(thread, SYS_write, write_call(fd, 10'000)), 10'000);
  EXPECT_EQ(std::filesystem::file_size(place() + "/a"), 10'000U);
  EXPECT_EQ(driver.call(thread, SYS_openat, open_call("/missing", O_RDONLY)), failed_with(ENOENT));
  EXPECT_TRUE(driver.target().finish(true).has_value());
}

TEST_F(DirectoryTarget, TellsWhatACallWaitedApartFromWhatItComputed) {
  Driver driver("dir:" + place());
  ASSERT_TRUE(driver) << driver.error().message;
  const TargetThread holder = driver.start();
  const TargetThread waiter = driver.start();
  const auto held = driver.must(holder, SYS_openat, open_call("/lock", O_CREAT | O_RDWR));
  const auto wanted = driver.must(waiter, SYS_openat, open_call("/lock", O_RDWR));
  driver.must(holder, SYS_flock, lock_call(held, LOCK_EX, 0));
  driver.submit(waiter, SYS_flock, lock_call(wanted, LOCK_EX, 0), 7);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  driver.submit(holder, SYS_flock, lock_call(held, LOCK_UN, 0), 8);
  for (int i = 0; i < 2; ++i) {
    const Completion done = driver.next();
    EXPECT_LE(done.blocked, done.end - done.start);
    if (done.cookie != 7) continue;
    EXPECT_GT(done.blocked.value, 30'000'000);
    EXPECT_GT(done.end - done.start - done.blocked, Nanoseconds{}) << "it computed a little";
  }
}

TEST_F(DirectoryTarget, RefusesAPlaceThatIsNotEmpty) {
  std::filesystem::create_directory(place());
  test::write_file(place() + "/old", "x");
  Driver driver("dir:" + place());
  ASSERT_FALSE(driver);
  EXPECT_THAT(driver.error().message, HasSubstr("--tree existing"));
  TargetOptions options;
  options.tree = TreePolicy::kExisting;
  EXPECT_TRUE(Driver("dir:" + place(), options));
}

}  // namespace
}  // namespace iotape
