// The hostile trace: every call that takes a path, walked from the table in replayer/target/SANDBOX.md, with every way
// out we know of. Nothing outside the target may change, nothing may hang, the disk may not be filled.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "format/syscall_table.h"
#include "tests/replayer/target_driver.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

using test::at;
using test::Driver;
using test::failed_with;
using test::handle;
using test::open_call;
using test::read_call;
using test::write_call;

// Everything about a tree that a call could change. Times of access are left out: reading it here changes them.
std::map<std::string, std::string> picture_of(const std::string& root) {
  std::map<std::string, std::string> picture;
  const auto add = [&](const std::string& path) {
    struct stat state {};
    ASSERT_EQ(::lstat(path.c_str(), &state), 0) << path;
    std::ostringstream text;
    text << state.st_mode << ' ' << state.st_uid << ' ' << state.st_gid << ' ' << state.st_size << ' ' << state.st_nlink
         << ' ' << state.st_mtim.tv_sec << '.' << state.st_mtim.tv_nsec << ' ' << state.st_ctim.tv_sec << '.'
         << state.st_ctim.tv_nsec;
    if (S_ISREG(state.st_mode)) text << ' ' << test::read_file(path);
    picture[path] = text.str();
  };
  add(root);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) add(entry.path());
  return picture;
}

using MakeCall = std::function<Operation(const PathArgument& path)>;
struct PathCall {
  long number;
  MakeCall make;
};

SetTimes old_times(const PathArgument& path) {
  SetTimes op;
  op.path = path;
  op.access = op.modification = {1, 0};
  return op;
}

// One row for each row of SANDBOX.md.
std::vector<PathCall> xattr_calls() {
  const MakeCall set = [](const PathArgument& p) -> Operation {
    return SetXattrPath{p, Text::of("user.x"), Text::of("y"), 1, 0};
  };
  const MakeCall get = [](const PathArgument& p) -> Operation { return QueryXattrPath{p, Text::of("user.keep"), 10}; };
  const MakeCall remove = [](const PathArgument& p) -> Operation { return RemoveXattrPath{p, Text::of("user.keep")}; };
  return {
      {SYS_setxattr, set},       {SYS_lsetxattr, set},       {463, set},
      {SYS_getxattr, get},       {SYS_lgetxattr, get},       {464, get},
      {SYS_listxattr, get},      {SYS_llistxattr, get},      {465, get},
      {SYS_removexattr, remove}, {SYS_lremovexattr, remove}, {466, remove},
  };
}

std::vector<PathCall> administering_calls() {
  const MakeCall administer = [](const PathArgument& p) -> Operation { return AdministerPath{p, at("/"), 0}; };
  const MakeCall by_handle = [](const PathArgument& p) -> Operation {
    return AdministerDescriptor{handle(-100), p, 0};
  };
  return {
      {SYS_mount, administer},
      {SYS_umount2, administer},
      {SYS_pivot_root, administer},
      {SYS_swapon, administer},
      {SYS_swapoff, administer},
      {SYS_acct, administer},
      {SYS_quotactl, administer},
      {SYS_uselib, administer},
      {SYS_open_tree, administer},
      {SYS_move_mount, administer},
      {SYS_fspick, administer},
      {SYS_mount_setattr, administer},
      {467, administer},
      {468, administer},
      {469, administer},
      {SYS_name_to_handle_at, by_handle},
      {SYS_open_by_handle_at, by_handle},
      {SYS_inotify_add_watch, by_handle},
      {SYS_fanotify_mark, by_handle},
  };
}

std::vector<PathCall> path_calls() {
  const auto open_with = [](std::int64_t flags) {
    return [flags](const PathArgument& path) -> Operation { return Open{path, flags, 0666, 0, {}}; };
  };
  const MakeCall stat = [](const PathArgument& p) -> Operation { return StatPath{p, 0, 0x7FF}; };
  const MakeCall access = [](const PathArgument& p) -> Operation { return CheckAccess{p, W_OK, 0}; };
  const MakeCall rename = [](const PathArgument& p) -> Operation { return Rename{p, at("/stolen"), 0}; };
  const MakeCall rename_over = [](const PathArgument& p) -> Operation { return Rename{at("/mine"), p, 0}; };
  const MakeCall link = [](const PathArgument& p) -> Operation {
    return HardLink{p, at("/linked"), AT_SYMLINK_FOLLOW};
  };
  const MakeCall link_out = [](const PathArgument& p) -> Operation { return HardLink{at("/mine"), p, 0}; };
  const MakeCall symlink = [](const PathArgument& p) -> Operation { return SymbolicLink{Text::of("x"), p}; };
  const MakeCall mode = [](const PathArgument& p) -> Operation { return ChangeModePath{p, 0777, 0}; };
  const MakeCall owner = [](const PathArgument& p) -> Operation { return ChangeOwnerPath{p, 65'534, 65'534, 0}; };
  const MakeCall unlink = [](const PathArgument& p) -> Operation { return Unlink{p, 0}; };
  const MakeCall mkdir = [](const PathArgument& p) -> Operation { return MakeDirectory{p, 0777}; };
  const MakeCall node = [](const PathArgument& p) -> Operation { return MakeNode{p, S_IFIFO | 0666, 0}; };
  const MakeCall change_directory = [](const PathArgument& p) -> Operation { return ChangeDirectoryPath{p}; };
  const MakeCall truncate = [](const PathArgument& p) -> Operation { return TruncatePath{p, 0}; };
  const MakeCall statfs = [](const PathArgument& p) -> Operation { return StatFilesystemPath{p}; };
  const MakeCall readlink = [](const PathArgument& p) -> Operation { return ReadLink{p, 100}; };
  const MakeCall execute = [](const PathArgument& /*p*/) -> Operation { return ProcessCall{}; };
  std::vector<PathCall> calls = {
      {SYS_open, open_with(O_WRONLY | O_TRUNC)},
      {SYS_creat, open_with(0)},
      {SYS_openat, open_with(O_WRONLY | O_CREAT | O_TRUNC)},
      {SYS_openat2, open_with(O_WRONLY | O_TRUNC)},
      {SYS_stat, stat},
      {SYS_lstat, stat},
      {SYS_newfstatat, stat},
      {SYS_statx, stat},
      {SYS_access, access},
      {SYS_faccessat, access},
      {SYS_faccessat2, access},
      {SYS_truncate, truncate},
      {SYS_statfs, statfs},
      {SYS_rename, rename},
      {SYS_renameat, rename_over},
      {SYS_renameat2, rename_over},
      {SYS_link, link_out},
      {SYS_linkat, link},
      {SYS_symlink, symlink},
      {SYS_symlinkat, symlink},
      {SYS_readlink, readlink},
      {SYS_readlinkat, readlink},
      {SYS_unlink, unlink},
      {SYS_unlinkat, unlink},
      {SYS_rmdir, unlink},
      {SYS_mkdir, mkdir},
      {SYS_mkdirat, mkdir},
      {SYS_mknod, node},
      {SYS_mknodat, node},
      {SYS_chmod, mode},
      {SYS_fchmodat, mode},
      {452, mode},
      {SYS_chown, owner},
      {SYS_lchown, owner},
      {SYS_fchownat, owner},
      {SYS_utime, old_times},
      {SYS_utimes, old_times},
      {SYS_futimesat, old_times},
      {SYS_utimensat, old_times},
      {SYS_chdir, change_directory},
      {SYS_chroot, change_directory},
      {SYS_execve, execute},
      {SYS_execveat, execute},
  };
  for (const auto& more : {xattr_calls(), administering_calls()}) calls.insert(calls.end(), more.begin(), more.end());
  return calls;
}

class Hostile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(canary_);
    std::filesystem::create_directory(canary_ + "/directory");
    test::write_file(canary_ + "/victim", "precious");
    test::write_file(canary_ + "/directory/inner", "precious too");
    before_ = picture_of(canary_);
  }
  void expect_nothing_outside_changed(const std::string& after) { EXPECT_EQ(picture_of(canary_), before_) << after; }

  test::ScratchDirectory scratch_;
  std::string place_ = scratch_ / "target";
  std::string canary_ = scratch_ / "canary";
  std::map<std::string, std::string> before_;
};

TEST_F(Hostile, TheTableAndTheTestHoldTheSameCalls) {
  const std::string table = test::read_file(std::string(IOTAPE_SOURCE_DIR) + "/replayer/target/SANDBOX.md");
  std::set<std::string> tested;
  for (const PathCall& call : path_calls())
    tested.insert(syscall_display_name(static_cast<std::uint32_t>(call.number)));
  std::set<std::string> listed;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    listed.insert(line.substr(3, line.find('`', 3) - 3));
  }
  EXPECT_EQ(tested, listed);
}

TEST_F(Hostile, NoPathOfAnyCallLeadsOutside) {
  Driver driver("dir:" + place_ + ",block_limit=200ms");
  ASSERT_TRUE(driver) << driver.error().message;
  const TargetThread setup = driver.start();
  const auto inherited = driver.must(setup, SYS_openat, open_call("/", O_RDONLY | O_DIRECTORY));
  const std::vector<std::string> links{canary_, canary_ + "/victim", "/proc/self/root" + canary_,
                                       "../../../../.." + canary_};
  for (std::size_t i = 0; i < links.size(); ++i)
    driver.must(setup, SYS_symlink, SymbolicLink{Text::of(links[i]), at("/link" + std::to_string(i))});
  std::vector<PathArgument> escapes{at(canary_ + "/victim"),
                                    at("../../../../../../.." + canary_ + "/victim"),
                                    at("/link0/victim"),
                                    at("/link1"),
                                    at("/link2/victim"),
                                    at("/link3/victim"),
                                    at("/link0/directory/inner"),
                                    at("/link0/new"),
                                    at("/proc/self/root" + canary_ + "/victim"),
                                    at("/proc/self/cwd/../canary/victim"),
                                    at("/dev/fd/3/../canary/victim"),
                                    at("../canary/victim", static_cast<int>(inherited)),
                                    at("victim", 0),
                                    at("victim", 3),
                                    at("victim", 1000)};
  for (const PathCall& call : path_calls()) {
    // A process of its own for each call, since some change what the next ones would mean.
    const TargetThread thread = driver.fork(setup);
    driver.run(thread, SYS_openat, open_call("/mine", O_CREAT | O_RDWR));
    for (const PathArgument& escape : escapes) driver.run(thread, call.number, call.make(escape));
    ASSERT_TRUE(driver.target().end_thread(thread).has_value());
    expect_nothing_outside_changed("call " + std::to_string(call.number));
  }
}

TEST_F(Hostile, ChrootAndChdirGamesStayInside) {
  Driver driver("dir:" + place_);
  const TargetThread thread = driver.start();
  driver.must(thread, SYS_mkdir, MakeDirectory{at("/jail"), 0755});
  const auto top = driver.must(thread, SYS_openat, open_call("/", O_RDONLY | O_DIRECTORY));
  driver.run(thread, SYS_chroot, ChangeDirectoryPath{at("/jail")});
  driver.must(thread, SYS_fchdir, ChangeDirectoryDescriptor{handle(top)});
  for (int i = 0; i < 20; ++i) driver.must(thread, SYS_chdir, ChangeDirectoryPath{at("..")});
  EXPECT_EQ(driver.call(thread, SYS_openat, open_call(canary_.substr(1) + "/victim", O_RDWR)), failed_with(ENOENT));
  EXPECT_EQ(driver.call(thread, SYS_openat, open_call("proc/self/status", O_RDONLY)), failed_with(ENOENT));
  driver.must(thread, SYS_stat, StatPath{at("jail"), 0, 0});
  expect_nothing_outside_changed("chroot");
}

TEST_F(Hostile, NoDescriptorOfTheReplayerCanBeNamed) {
  const int canary = ::open((canary_ + "/victim").c_str(), O_RDWR);  // leaked on purpose: no O_CLOEXEC
  ASSERT_GE(canary, 0);
  Driver driver("dir:" + place_);
  const TargetThread thread = driver.start();
  for (int number = 0; number < 300; ++number) {
    EXPECT_EQ(driver.call(thread, SYS_write, write_call(number, 10)), failed_with(EBADF)) << number;
    EXPECT_EQ(driver.call(thread, SYS_fchdir, ChangeDirectoryDescriptor{handle(number)}), failed_with(EBADF));
  }
  ::close(canary);
  expect_nothing_outside_changed("descriptors");
}

TEST_F(Hostile, NothingDangerousIsLeftBehindUnlessKept) {
  Driver driver("dir:" + place_);
  const TargetThread thread = driver.start();
  const auto fd = driver.must(thread, SYS_openat, open_call("/a", O_CREAT | O_RDWR, 06755));
  const auto mode = [&] {
    struct stat state {};
    EXPECT_EQ(::stat((place_ + "/a").c_str(), &state), 0);
    return state;
  };
  EXPECT_EQ(mode().st_mode & 07777U, 0755U);
  EXPECT_TRUE(driver.run(thread, SYS_fchmod, ChangeModeDescriptor{handle(fd), 04711}).adjusted);
  EXPECT_EQ(mode().st_mode & 07777U, 0711U);
  EXPECT_TRUE(driver.run(thread, SYS_chmod, ChangeModePath{at("/a"), 02700, 0}).adjusted);
  EXPECT_EQ(mode().st_mode & 07777U, 0700U);
  EXPECT_TRUE(driver.run(thread, SYS_fchown, ChangeOwnerDescriptor{handle(fd), 65'534, 65'534}).adjusted);
  EXPECT_EQ(mode().st_uid, ::geteuid());
  EXPECT_EQ(driver.run(thread, SYS_mknod, MakeNode{at("/disk"), S_IFBLK | 0666, 0x700}).skipped, SkipReason::kRefused);
  EXPECT_EQ(
      driver.run(thread, SYS_setxattr, SetXattrPath{at("/a"), Text::of("security.capability"), Text::of("x"), 1, 0})
          .skipped,
      SkipReason::kRefused);
  EXPECT_FALSE(std::filesystem::exists(place_ + "/disk"));
}

TEST_F(Hostile, FifosAndLocksDoNotHang) {
  Driver driver("dir:" + place_ + ",block_limit=200ms");
  const TargetThread thread = driver.start();
  driver.must(thread, SYS_mknod, MakeNode{at("/fifo"), S_IFIFO | 0666, 0});
  EXPECT_EQ(driver.call(thread, SYS_openat, open_call("/fifo", O_WRONLY)), failed_with(ENXIO));
  EXPECT_EQ(driver.call(thread, SYS_creat, open_call("/fifo", 0)), failed_with(ENXIO));
  const auto reader = driver.must(thread, SYS_openat, open_call("/fifo", O_RDONLY));
  EXPECT_EQ(driver.must(thread, SYS_read, read_call(reader, 10)), 0);
  const auto writer = driver.must(thread, SYS_open, open_call("/fifo", O_WRONLY));
  driver.must(thread, SYS_fcntl, ControlDescriptor{handle(reader), F_SETFL, 0});  // asks to block again
  EXPECT_EQ(driver.call(thread, SYS_read, read_call(reader, 10)), failed_with(EAGAIN));
  OpOutcome outcome{0, 0};
  for (int i = 0; i < 100 && outcome.ok(); ++i) outcome = driver.call(thread, SYS_write, write_call(writer, 65'536));
  EXPECT_EQ(outcome, failed_with(EAGAIN));
  const auto file = driver.must(thread, SYS_openat, open_call("/a", O_CREAT | O_RDWR));
  const TargetThread other = driver.fork(thread);
  driver.must(thread, SYS_fcntl, test::lock_call(file, F_SETLK, F_WRLCK));
  EXPECT_EQ(driver.call(other, SYS_fcntl, test::lock_call(file, F_SETLKW, F_WRLCK)), failed_with(EINTR));
}

// A filesystem of its own, where that may be: on a shared one, other tests' files come and go meanwhile.
class OwnDisk {
 public:
  explicit OwnDisk(const std::string& place)
      : place_(place), mounted_(::mount("none", place.c_str(), "tmpfs", 0, "size=256M") == 0) {}
  OwnDisk(const OwnDisk&) = delete;
  OwnDisk& operator=(const OwnDisk&) = delete;
  ~OwnDisk() {
    if (mounted_) ::umount2(place_.c_str(), MNT_DETACH);
  }

 private:
  std::string place_;
  bool mounted_;
};

TEST_F(Hostile, TheDiskIsNotFilled) {
  std::filesystem::create_directory(place_);
  const OwnDisk own(place_);
  struct statvfs space {};
  ASSERT_EQ(::statvfs(place_.c_str(), &space), 0);
  const std::uint64_t free = space.f_bavail * space.f_frsize;
  // Everything but 64 MiB is reserve, so the test fills nothing either.
  constexpr std::uint64_t kRoom = 64U << 20U;
  if (free < 2 * kRoom) GTEST_SKIP() << "too little space to tell";
  Driver driver("dir:" + place_ + ",reserve=" + std::to_string(free - kRoom));
  const TargetThread thread = driver.start();
  const auto fd = driver.must(thread, SYS_openat, open_call("/a", O_CREAT | O_RDWR));
  for (const std::int64_t huge : {std::int64_t{1} << 62, static_cast<std::int64_t>(free), std::int64_t{1} << 30})
    EXPECT_EQ(driver.run(thread, SYS_fallocate, Allocate{handle(fd), 0, 0, huge}).skipped, SkipReason::kRefused)
        << huge;
  int written = 0;
  while (written < 200 && driver.run(thread, SYS_write, write_call(fd, 1 << 20)).skipped == SkipReason::kIssued)
    ++written;
  EXPECT_LE(written, 64);
  driver.must(thread, SYS_ftruncate, TruncateDescriptor{handle(fd), std::int64_t{1} << 40});  // a hole takes nothing
  const Completion read = driver.run(thread, SYS_read, read_call(fd, std::int64_t{1} << 32));
  EXPECT_GT(read.outcome.value, 0);
  InitialNode node;
  node.path = "/big";
  node.size = std::uint64_t{1} << 50U;
  const auto prepared = driver.target().prepare({node});
  ASSERT_FALSE(prepared.has_value());
  EXPECT_EQ(prepared.error().code, ErrorCode::kLimit);
}

TEST_F(Hostile, NamesDoNotFillTheDiskEither) {
  std::filesystem::create_directory(place_);
  struct statvfs space {};
  ASSERT_EQ(::statvfs(place_.c_str(), &space), 0);
  // More than there is, also when others give some back meanwhile.
  const std::uint64_t reserve = space.f_bavail * space.f_frsize + (std::uint64_t{8} << 30U);
  Driver driver("dir:" + place_ + ",reserve=" + std::to_string(reserve));
  const TargetThread thread = driver.start();
  const auto refused = [&](std::uint32_t number, Operation operation) {
    return driver.run(thread, number, std::move(operation)).skipped == SkipReason::kRefused;
  };
  EXPECT_TRUE(refused(SYS_mkdir, MakeDirectory{at("/d"), 0755}));
  EXPECT_TRUE(refused(SYS_mknod, MakeNode{at("/n"), S_IFIFO | 0600, 0}));
  EXPECT_TRUE(refused(SYS_symlink, SymbolicLink{Text{TextState::kPresent, "somewhere"}, at("/l")}));
  EXPECT_TRUE(refused(SYS_openat, open_call("/f", O_CREAT | O_RDWR)));
  EXPECT_TRUE(refused(
      SYS_setxattr, SetXattrPath{at("/"), Text{TextState::kPresent, "user.a"}, Text{TextState::kPresent, "v"}, 1, 0}));
}

TEST_F(Hostile, ManyWaitingCallsEndSoonerThanEachLimitTogether) {
  Driver driver("dir:" + place_ + ",block_limit=400ms,block_total=500ms");
  const TargetThread holder = driver.start();
  const auto file = driver.must(holder, SYS_openat, open_call("/a", O_CREAT | O_RDWR));
  const TargetThread waiter = driver.fork(holder);
  driver.must(holder, SYS_fcntl, test::lock_call(file, F_SETLK, F_WRLCK));
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 6; ++i) {
    const Completion done = driver.run(waiter, SYS_fcntl, test::lock_call(file, F_SETLKW, F_WRLCK));
    EXPECT_EQ(done.outcome, failed_with(EINTR));
    waits.push_back((done.end - done.start).value);
  }
  EXPECT_GE(waits[0], 400'000'000) << "the first may wait as long as one may";
  EXPECT_LT(*std::min_element(waits.begin() + 2, waits.end()), 300'000'000) << "later ones hardly wait";
}

TEST_F(Hostile, AnInitialTreeCannotClimbOut) {
  Driver driver("dir:" + place_);
  InitialNode link;
  link.path = "/door";
  link.kind = FileKind::kSymbolicLink;
  link.link_target = canary_;
  InitialNode through;
  through.path = "/door/victim";
  through.size = 10;
  static_cast<void>(driver.target().prepare({link, through}));
  InitialNode upwards;
  upwards.path = "/../../../../.." + canary_ + "/new";
  static_cast<void>(driver.target().prepare({upwards}));
  expect_nothing_outside_changed("initial tree");
}

// The whole of it once more without root, inside a user namespace.
TEST_F(Hostile, AnOrdinaryUserIsConfinedToo) {
  if (::geteuid() != 0) GTEST_SKIP() << "this test is about giving up root";
  constexpr uid_t kNobody = 65'534;
  std::filesystem::permissions(scratch_.path(), std::filesystem::perms::all);
  std::filesystem::permissions(canary_, std::filesystem::perms::all);
  std::filesystem::permissions(canary_ + "/victim", std::filesystem::perms::all);
  before_ = picture_of(canary_);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // A process that has changed its user may not look into its own /proc, one that was started as that user may.
    if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0 || ::prctl(PR_SET_DUMPABLE, 1) != 0) ::_exit(99);
    Driver driver("dir:" + place_);
    if (!driver) ::_exit(98);
    ThreadStart start;
    start.thread = TargetThread(1);
    const auto started = driver.target().start_thread(start);
    if (!started) {
      std::fprintf(stderr, "%s\n", started.error().message.c_str());
      ::_exit(started.error().message.find("user namespaces") != std::string::npos ? 77 : 97);
    }
    int failures = 0;
    failures += driver.call(start.thread, SYS_openat, open_call("/a", O_CREAT | O_RDWR)).ok() ? 0 : 1;
    failures += driver.call(start.thread, SYS_openat, open_call(canary_ + "/victim", O_RDWR)).ok() ? 1 : 0;
    failures += driver.call(start.thread, SYS_openat, open_call("/a", O_CREAT | O_RDWR, 0)).ok() ? 0 : 1;
    failures += driver.call(start.thread, SYS_chmod, ChangeModePath{at("/a"), 0, 0}).ok() ? 0 : 1;
    // No capability is left that would override the bits it has just set.
    failures += driver.call(start.thread, SYS_openat, open_call("/a", O_RDONLY)) == failed_with(EACCES) ? 0 : 1;
    failures += driver.target().finish(true).has_value() ? 0 : 1;
    ::_exit(failures);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this machine forbids unprivileged user namespaces";
  EXPECT_EQ(WEXITSTATUS(status), 0);
  expect_nothing_outside_changed("ordinary user");
}

}  // namespace
}  // namespace iotape
