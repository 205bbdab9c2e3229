// What replayed processes share and what they do not.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>

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

class Contexts : public ::testing::Test {
 protected:
  test::ScratchDirectory scratch_;
  std::string place_ = scratch_ / "target";
  Driver driver_{"dir:" + place_ + ",block_limit=200ms"};
};

TEST_F(Contexts, ForkCopiesDescriptorsAndThreadsShareThem) {
  const TargetThread parent = driver_.start();
  const auto before = driver_.must(parent, SYS_openat, open_call("/a", O_CREAT | O_RDWR));
  const TargetThread process = driver_.fork(parent);
  const TargetThread thread = driver_.fork(parent, true, true);
  const auto after = driver_.must(parent, SYS_openat, open_call("/b", O_CREAT | O_RDWR));
  EXPECT_EQ(driver_.must(process, SYS_write, write_call(before, 10)), 10);
  EXPECT_EQ(driver_.call(process, SYS_write, write_call(after, 10)), failed_with(EBADF));
  EXPECT_EQ(driver_.must(thread, SYS_write, write_call(after, 10)), 10);
  driver_.must(thread, SYS_close, Close{handle(before)});
  EXPECT_EQ(driver_.call(parent, SYS_close, Close{handle(before)}), failed_with(EBADF));
  // The offset is one open file's, shared across fork.
  EXPECT_EQ(driver_.must(process, SYS_lseek, Seek{handle(before), 0, SEEK_CUR}), 10);
}

TEST_F(Contexts, ProcessesWithoutAParentStartWithNothing) {
  const TargetThread first = driver_.start();
  const auto fd = driver_.must(first, SYS_openat, open_call("/a", O_CREAT | O_RDWR));
  EXPECT_EQ(driver_.call(driver_.start(), SYS_write, write_call(fd, 1)), failed_with(EBADF));
}

TEST_F(Contexts, UmaskAndWorkingDirectoryBelongToTheProcess) {
  const TargetThread parent = driver_.start();
  driver_.must(parent, SYS_mkdir, MakeDirectory{at("/d"), 0755});
  const TargetThread process = driver_.fork(parent);
  const TargetThread thread = driver_.fork(parent, false, true);
  driver_.must(parent, SYS_umask, SetFileCreationMask{077});
  driver_.must(parent, SYS_chdir, ChangeDirectoryPath{at("/d")});
  EXPECT_EQ(driver_.must(process, SYS_umask, SetFileCreationMask{0}), 022);
  EXPECT_EQ(driver_.must(process, SYS_getcwd, GetWorkingDirectory{100}), 2);
  EXPECT_EQ(driver_.must(thread, SYS_umask, SetFileCreationMask{027}), 077);
  EXPECT_EQ(driver_.must(thread, SYS_getcwd, GetWorkingDirectory{100}), 3);
  ThreadStart start;
  start.umask = 0111;
  start.working_directory = "/d";
  const TargetThread placed = driver_.start(start);
  EXPECT_EQ(driver_.must(placed, SYS_umask, SetFileCreationMask{0}), 0111);
  EXPECT_EQ(driver_.must(placed, SYS_getcwd, GetWorkingDirectory{100}), 3);
}

TEST_F(Contexts, RecordLocksConflictBetweenProcessesAndNotWithinOne) {
  const TargetThread parent = driver_.start();
  const auto fd = driver_.must(parent, SYS_openat, open_call("/a", O_CREAT | O_RDWR));
  const TargetThread process = driver_.fork(parent);
  const TargetThread thread = driver_.fork(parent, true, true);
  driver_.must(parent, SYS_fcntl, lock_call(fd, F_SETLK, F_WRLCK));
  driver_.must(thread, SYS_fcntl, lock_call(fd, F_SETLK, F_WRLCK));
  EXPECT_EQ(driver_.call(process, SYS_fcntl, lock_call(fd, F_SETLK, F_WRLCK)), failed_with(EAGAIN));
  driver_.must(parent, SYS_close, Close{handle(fd)});
  driver_.must(process, SYS_fcntl, lock_call(fd, F_SETLK, F_WRLCK));
}

TEST_F(Contexts, TheEndOfAProcessReleasesItsLocksAndFiles) {
  const TargetThread parent = driver_.start();
  const auto fd = driver_.must(parent, SYS_openat, open_call("/a", O_CREAT | O_RDWR));
  const TargetThread process = driver_.fork(parent);
  driver_.must(process, SYS_fcntl, lock_call(fd, F_SETLK, F_WRLCK));
  EXPECT_EQ(driver_.call(parent, SYS_fcntl, lock_call(fd, F_SETLK, F_WRLCK)), failed_with(EAGAIN));
  ASSERT_TRUE(driver_.target().end_thread(process).has_value());
  driver_.must(parent, SYS_fcntl, lock_call(fd, F_SETLK, F_WRLCK));
}

TEST_F(Contexts, ABlockedLockIsFreedByItsHolderOrInterruptedAtTheLimit) {
  const TargetThread holder = driver_.start();
  const auto fd = driver_.must(holder, SYS_openat, open_call("/a", O_CREAT | O_RDWR));
  const TargetThread waiter = driver_.fork(holder);
  driver_.must(holder, SYS_fcntl, lock_call(fd, F_SETLK, F_WRLCK));
  driver_.submit(waiter, SYS_fcntl, lock_call(fd, F_SETLKW, F_WRLCK), 1);
  driver_.submit(holder, SYS_fcntl, lock_call(fd, F_SETLK, F_UNLCK), 2);
  EXPECT_TRUE(driver_.next().outcome.ok());
  EXPECT_TRUE(driver_.next().outcome.ok());
  const Completion stuck = driver_.run(holder, SYS_fcntl, lock_call(fd, F_SETLKW, F_WRLCK));
  EXPECT_EQ(stuck.outcome, failed_with(EINTR));
  EXPECT_TRUE(stuck.interrupted);
}

TEST_F(Contexts, AnUnprivilegedThreadIsBoundByPermissionBits) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root overrides permission bits";
  const TargetThread root = driver_.start();
  driver_.must(root, SYS_openat, open_call("/a", O_CREAT | O_RDWR, 0));
  ThreadStart start;
  start.privileged = false;
  EXPECT_EQ(driver_.call(driver_.start(start), SYS_openat, open_call("/a", O_RDONLY)), failed_with(EACCES));
  driver_.must(root, SYS_openat, open_call("/a", O_RDONLY));
}

TEST_F(Contexts, ManyThreadsComeAndGo) {
  const TargetThread root = driver_.start();
  for (int round = 0; round < 20; ++round) {
    std::vector<TargetThread> threads;
    for (int i = 0; i < 30; ++i) threads.push_back(driver_.fork(root));
    for (const TargetThread thread : threads) driver_.submit(thread, SYS_umask, SetFileCreationMask{022}, thread.value);
    for (std::size_t i = 0; i < threads.size(); ++i) EXPECT_EQ(driver_.next().outcome.value, 022);
    for (const TargetThread thread : threads) ASSERT_TRUE(driver_.target().end_thread(thread).has_value());
  }
  EXPECT_TRUE(driver_.target().system_thread(root).has_value());
}

// A slot is used again at once: the parent once took the next child's start for the last one's and waited for ever.
TEST_F(Contexts, ShortLivedChildrenFollowEachOtherQuickly) {
  const TargetThread root = driver_.start();
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(driver_.target().end_thread(driver_.fork(root)).has_value());
  driver_.must(root, SYS_umask, SetFileCreationMask{022});
}

TEST_F(Contexts, AStopRequestEndsTheWait) {
  std::atomic<bool> stop{false};
  TargetOptions options;
  options.stop = &stop;
  Driver driver("dir:" + (scratch_ / "second"), options);
  const TargetThread thread = driver.start();
  const Nanoseconds far = driver.target().now() + Nanoseconds(3'600'000'000'000);
  ASSERT_TRUE(driver.target().submit({thread, 0, SYS_umask, SetFileCreationMask{022}, far}).has_value());
  stop = true;
  const auto completion = driver.target().next_completion();
  ASSERT_FALSE(completion.has_value());
  EXPECT_EQ(completion.error().code, ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace iotape
