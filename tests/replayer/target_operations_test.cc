// Every operation on dir:, as the recorded call numbers, with what it leaves on the filesystem.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <set>

#include "replayer/target/data_pool.h"
#include "replayer/target/operation_codec.h"
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
using ::testing::IsSupersetOf;

class Operations : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(driver_) << driver_.error().message;
    thread_ = driver_.start();
  }
  std::int64_t must(long number, Operation operation) { return driver_.must(thread_, number, std::move(operation)); }
  OpOutcome call(long number, Operation operation) { return driver_.call(thread_, number, std::move(operation)); }
  std::int64_t make(const std::string& path) { return must(SYS_openat, open_call(path, O_CREAT | O_RDWR, 0644)); }
  std::string outside(const std::string& path) const { return place_ + path; }
  struct stat status(const std::string& path) const {
    struct stat state {};
    EXPECT_EQ(::lstat(outside(path).c_str(), &state), 0) << path;
    return state;
  }

  test::ScratchDirectory scratch_;
  std::string place_ = scratch_ / "target";
  Driver driver_{"dir:" + place_};
  TargetThread thread_;
};

TEST_F(Operations, OpenInItsFourForms) {
  EXPECT_GE(must(SYS_open, open_call("/a", O_CREAT | O_RDWR)), 0);
  EXPECT_GE(must(SYS_creat, open_call("/b", 0, 0600)), 0);
  EXPECT_EQ(status("/b").st_mode & 07777U, 0600U);
  EXPECT_EQ(call(SYS_openat, open_call("/a", O_CREAT | O_EXCL | O_RDWR)), failed_with(EEXIST));
  Open beneath = open_call("a", O_RDONLY, 0);
  beneath.resolve = 0x08;  // RESOLVE_BENEATH
  EXPECT_GE(must(SYS_openat2, beneath), 0);
  Open escaping = open_call("../a", O_RDONLY, 0);
  escaping.resolve = 0x08;
  EXPECT_EQ(call(SYS_openat2, escaping), failed_with(EXDEV));
  const Completion opened = driver_.run(thread_, SYS_openat, open_call("/", O_RDONLY | O_DIRECTORY));
  ASSERT_TRUE(opened.opened.has_value());
  EXPECT_EQ(opened.opened->kind, FileKind::kDirectory);
  EXPECT_EQ(opened.opened->identity.inode.value, status("/").st_ino);
}

TEST_F(Operations, NamesAreBytesAndFaultsStayFaults) {
  const std::string odd = "/\xFF \n\"" + std::string(240, 'x');
  make(odd);
  EXPECT_TRUE(std::filesystem::exists(outside(odd)));
  EXPECT_EQ(call(SYS_openat, open_call("/" + std::string(256, 'y'), O_RDONLY)), failed_with(ENAMETOOLONG));
  EXPECT_EQ(call(SYS_openat, open_call(std::string(4096, '/'), O_RDONLY)), failed_with(ENAMETOOLONG));
  EXPECT_GE(must(SYS_openat, open_call(std::string(4095, '/'), O_RDONLY)), 0);
  Open fault = open_call("", O_RDONLY);
  fault.path.state = TextState::kFault;
  EXPECT_EQ(call(SYS_openat, fault), failed_with(EFAULT));
  fault.path.state = TextState::kTruncated;
  EXPECT_EQ(driver_.run(thread_, SYS_openat, fault).skipped, SkipReason::kUnresolvedPath);
}

TEST_F(Operations, HandlesAreDuplicatedAndClosed) {
  const auto fd = make("/a");
  Duplicate twin{handle(fd), -1, 0, -1};
  const auto copy = must(SYS_dup, twin);
  EXPECT_NE(copy, fd);
  twin.target = copy;
  EXPECT_EQ(must(SYS_dup2, twin), copy);
  twin.target = -1;  // the number asked for stands for nothing here
  EXPECT_GE(must(SYS_dup3, twin), 0);
  twin.command = F_DUPFD_CLOEXEC;
  const auto marked = must(SYS_fcntl, twin);
  EXPECT_EQ(must(SYS_fcntl, ControlDescriptor{handle(marked), F_GETFD, 0}), FD_CLOEXEC);
  must(SYS_execve, ProcessCall{});
  EXPECT_EQ(call(SYS_close, Close{handle(marked)}), failed_with(EBADF));
  must(SYS_close, Close{handle(copy)});
  must(SYS_close_range, CloseRange{fd, fd, 0});
  EXPECT_EQ(call(SYS_close, Close{handle(fd)}), failed_with(EBADF));
}

TEST_F(Operations, BytesAreReadAndWrittenInEveryForm) {
  const auto fd = make("/a");
  EXPECT_EQ(must(SYS_write, write_call(fd, 1000)), 1000);
  Write op = write_call(fd, 500);
  op.position.value = 5000;
  EXPECT_EQ(must(SYS_pwrite64, op), 500);
  op = write_call(fd, 30);
  op.segments = {10, 0, 20};
  EXPECT_EQ(must(SYS_writev, op), 30);
  op.position.value = 9000;
  EXPECT_EQ(must(SYS_pwritev, op), 30);
  op.position.value = 10'000;
  EXPECT_EQ(must(SYS_pwritev2, op), 30);
  EXPECT_EQ(status("/a").st_size, 10'030);
  EXPECT_EQ(must(SYS_lseek, Seek{handle(fd), 0, SEEK_SET}), 0);
  EXPECT_EQ(must(SYS_read, read_call(fd, 4096)), 4096);
  Read in = read_call(fd, 100);
  in.position.value = 10'000;
  EXPECT_EQ(must(SYS_pread64, in), 30);
  in.segments = {10, 90};
  EXPECT_EQ(must(SYS_preadv, in), 30);
  EXPECT_EQ(must(SYS_preadv2, in), 30);
  EXPECT_EQ(must(SYS_readv, in), 100);
  EXPECT_EQ(call(SYS_read, read_call(-1, 10)), failed_with(EBADF));
  in.segments = SegmentLengths(2000, 1);
  EXPECT_EQ(call(SYS_readv, in), failed_with(EINVAL));
}

TEST_F(Operations, DescriptorsOfAFileDoWhatTheySay) {
  const auto fd = make("/a");
  must(SYS_ftruncate, TruncateDescriptor{handle(fd), 8192});
  must(SYS_truncate, TruncatePath{at("/a"), 16'384});
  EXPECT_EQ(status("/a").st_size, 16'384);
  must(SYS_fallocate, Allocate{handle(fd), 0, 0, 65'536});
  EXPECT_EQ(status("/a").st_size, 65'536);
  must(SYS_readahead, ReadAhead{handle(fd), 0, 4096});
  must(SYS_fadvise64, AdviseFile{handle(fd), 0, 0, POSIX_FADV_SEQUENTIAL});
  must(SYS_sync_file_range, SyncFileRange{handle(fd), 0, 4096, 2});
  for (const long number : {SYS_fsync, SYS_fdatasync, SYS_syncfs}) must(number, Sync{handle(fd)});
  must(SYS_sync, SyncAll{});
  must(SYS_fstat, StatDescriptor{handle(fd)});
  must(SYS_fstatfs, StatFilesystemDescriptor{handle(fd)});
  must(SYS_fchmod, ChangeModeDescriptor{handle(fd), 0640});
  EXPECT_EQ(status("/a").st_mode & 07777U, 0640U);
  must(SYS_fchown, ChangeOwnerDescriptor{handle(fd), ::geteuid(), -1});
  must(SYS_flock, Lock{handle(fd), LOCK_EX | LOCK_NB, 0, 0, 0, 0});
  EXPECT_EQ(call(SYS_ioctl, ControlDevice{handle(fd), TCGETS, 0}), failed_with(ENOTTY));
  EXPECT_EQ(driver_.run(thread_, SYS_ioctl, ControlDevice{handle(fd), BLKDISCARD, 0}).skipped,
            SkipReason::kNotReplayable);
}

TEST_F(Operations, BytesMoveBetweenDescriptors) {
  const auto from = make("/from");
  const auto to = make("/to");
  must(SYS_write, write_call(from, 10'000));
  Transfer op;
  op.source = handle(from);
  op.destination = handle(to);
  op.source_explicit = true;
  op.source_position.value = 1000;
  op.length = 2000;
  EXPECT_EQ(must(SYS_sendfile, op), 2000);
  op.destination_explicit = true;
  op.destination_position.value = 4000;
  EXPECT_EQ(must(SYS_copy_file_range, op), 2000);
  EXPECT_EQ(status("/to").st_size, 6000);
  EXPECT_EQ(test::read_file(outside("/from")).substr(1000, 2000), test::read_file(outside("/to")).substr(0, 2000));
}

TEST_F(Operations, MappingsAreTheFilesOwnAndNothingElseCanBeUnmapped) {
  const auto fd = make("/a");
  must(SYS_write, write_call(fd, 8192));
  const auto address = must(SYS_mmap, MapMemory{handle(fd), 0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, 0});
  must(SYS_msync, ControlMemory{address, 8192, MS_SYNC, 0, 0});
  must(SYS_madvise, ControlMemory{address, 8192, MADV_WILLNEED, 0, 0});
  const auto moved = must(SYS_mremap, ControlMemory{address, 8192, 16'384, 0, 0});
  must(SYS_munmap, ControlMemory{moved, 16'384, 0, 0, 0});
  EXPECT_EQ(call(SYS_munmap, ControlMemory{moved, 16'384, 0, 0, 0}), failed_with(EINVAL));
  EXPECT_EQ(call(SYS_munmap, ControlMemory{0, std::int64_t{1} << 46, 0, 0, 0}), failed_with(EINVAL));
  EXPECT_EQ(driver_.run(thread_, SYS_mmap, MapMemory{handle(-1), 0, 4096, PROT_READ, MAP_ANONYMOUS, 0}).skipped,
            SkipReason::kMemoryOnly);
}

TEST_F(Operations, NamesAreMadeLinkedRenamedAndRemoved) {
  must(SYS_mkdir, MakeDirectory{at("/d"), 0755});
  const auto directory = must(SYS_openat, open_call("/d", O_RDONLY | O_DIRECTORY));
  must(SYS_mkdirat, MakeDirectory{at("sub", static_cast<int>(directory)), 0700});
  make("/d/file");
  must(SYS_link, HardLink{at("/d/file"), at("/d/second"), 0});
  must(SYS_linkat, HardLink{at("file", static_cast<int>(directory)), at("/d/third"), 0});
  EXPECT_EQ(status("/d/file").st_nlink, 3U);
  must(SYS_symlink, SymbolicLink{Text::of("file"), at("/d/soft")});
  must(SYS_symlinkat, SymbolicLink{Text::of("gone"), at("loose", static_cast<int>(directory))});
  EXPECT_EQ(must(SYS_readlink, ReadLink{at("/d/soft"), 100}), 4);
  EXPECT_EQ(must(SYS_readlinkat, ReadLink{at("loose", static_cast<int>(directory)), 2}), 2);
  must(SYS_rename, Rename{at("/d/second"), at("/d/renamed"), 0});
  must(SYS_renameat, Rename{at("third", static_cast<int>(directory)), at("/top"), 0});
  EXPECT_EQ(call(SYS_renameat2, Rename{at("/top"), at("/d/file"), RENAME_NOREPLACE}), failed_with(EEXIST));
  must(SYS_mknod, MakeNode{at("/fifo"), S_IFIFO | 0600, 0});
  must(SYS_mknodat, MakeNode{at("regular", static_cast<int>(directory)), S_IFREG | 0600, 0});
  const auto listing = driver_.run(thread_, SYS_getdents64, ReadDirectory{handle(directory), 32'768, {}});
  EXPECT_THAT(listing.directory_names, IsSupersetOf({".", "..", "file", "renamed", "soft", "loose", "sub", "regular"}));
  must(SYS_lseek, Seek{handle(directory), 0, SEEK_SET});
  EXPECT_THAT(driver_.run(thread_, SYS_getdents, ReadDirectory{handle(directory), 32'768, {}}).directory_names,
              IsSupersetOf({"file", "loose"}));
  must(SYS_unlink, Unlink{at("/top"), 0});
  must(SYS_unlinkat, Unlink{at("soft", static_cast<int>(directory)), 0});
  must(SYS_unlinkat, Unlink{at("sub", static_cast<int>(directory)), AT_REMOVEDIR});
  EXPECT_EQ(call(SYS_rmdir, Unlink{at("/d"), 0}), failed_with(ENOTEMPTY));
  EXPECT_EQ(status("/d/file").st_nlink, 2U);
}

TEST_F(Operations, WhatIsKnownOfNamesIsAskedInEveryForm) {
  make("/a");
  for (const long number : {SYS_stat, SYS_lstat, SYS_newfstatat}) must(number, StatPath{at("/a"), 0, 0});
  must(SYS_statx, StatPath{at("/a"), 0, 0x7FF});
  for (const long number : {SYS_access, SYS_faccessat, SYS_faccessat2}) must(number, CheckAccess{at("/a"), R_OK, 0});
  must(SYS_statfs, StatFilesystemPath{at("/")});
  EXPECT_EQ(must(SYS_getcwd, GetWorkingDirectory{100}), 2);
  must(SYS_mkdir, MakeDirectory{at("/d"), 0755});
  must(SYS_chdir, ChangeDirectoryPath{at("/d")});
  EXPECT_EQ(must(SYS_getcwd, GetWorkingDirectory{100}), 3);
  const auto top = must(SYS_openat, open_call("/", O_RDONLY | O_DIRECTORY));
  must(SYS_fchdir, ChangeDirectoryDescriptor{handle(top)});
  must(SYS_stat, StatPath{at("a"), 0, 0});
}

TEST_F(Operations, AttributesOfNamesAreChangedInEveryForm) {
  make("/a");
  must(SYS_chmod, ChangeModePath{at("/a"), 0600, 0});
  must(SYS_fchmodat, ChangeModePath{at("/a"), 0604, 0});
  EXPECT_EQ(status("/a").st_mode & 07777U, 0604U);
  for (const long number : {SYS_chown, SYS_lchown, SYS_fchownat})
    must(number, ChangeOwnerPath{at("/a"), ::geteuid(), ::getegid(), 0});
  SetTimes times;
  times.path = at("/a");
  times.modification = {1'000'000, 5000};
  times.access = {2'000'000, 0};
  for (const long number : {SYS_utime, SYS_utimes, SYS_futimesat, SYS_utimensat}) {
    ++times.modification.seconds;
    must(number, times);
    EXPECT_EQ(status("/a").st_mtim.tv_sec, times.modification.seconds);
  }
  EXPECT_EQ(status("/a").st_mtim.tv_nsec, 5000);
  times.now = true;
  must(SYS_utimensat, times);
  EXPECT_GT(status("/a").st_mtim.tv_sec, 1'500'000'000);
  EXPECT_EQ(must(SYS_umask, SetFileCreationMask{077}), 022);
  make("/masked");
  EXPECT_EQ(status("/masked").st_mode & 07777U, 0600U);
}

TEST_F(Operations, ExtendedAttributesAreSetAskedAndRemoved) {
  const auto fd = make("/a");
  const Text name = Text::of("user.color");
  must(SYS_setxattr, SetXattrPath{at("/a"), name, Text::of("red"), 3, 0});
  EXPECT_EQ(must(SYS_getxattr, QueryXattrPath{at("/a"), name, 100}), 3);
  must(SYS_lsetxattr, SetXattrPath{at("/a"), name, Text::of("ab"), 10, 0});  // recorded in part: filled up
  EXPECT_EQ(must(SYS_lgetxattr, QueryXattrPath{at("/a"), name, 0}), 10);
  must(SYS_fsetxattr, SetXattrDescriptor{handle(fd), Text::of("user.b"), Text::of(""), 0, XATTR_CREATE});
  EXPECT_EQ(must(SYS_fgetxattr, QueryXattrDescriptor{handle(fd), Text::of("user.b"), 10}), 0);
  for (const long number : {SYS_listxattr, SYS_llistxattr})
    EXPECT_GT(must(number, QueryXattrPath{at("/a"), {}, 1000}), 0);
  EXPECT_GT(must(SYS_flistxattr, QueryXattrDescriptor{handle(fd), {}, 1000}), 0);
  must(SYS_removexattr, RemoveXattrPath{at("/a"), name});
  EXPECT_EQ(call(SYS_lremovexattr, RemoveXattrPath{at("/a"), name}), failed_with(ENODATA));
  must(SYS_fremovexattr, RemoveXattrDescriptor{handle(fd), Text::of("user.b")});
}

TEST_F(Operations, WhatIsNoFileCallIsSkippedWithItsReason) {
  const auto skipped = [&](long number, Operation op) { return driver_.run(thread_, number, std::move(op)).skipped; };
  EXPECT_EQ(skipped(SYS_pipe2, MakeDescriptor{}), SkipReason::kNotAFile);
  EXPECT_EQ(skipped(SYS_mount, AdministerPath{at("/a"), at("/b"), 0}), SkipReason::kNotReplayable);
  EXPECT_EQ(skipped(SYS_open_by_handle_at, AdministerDescriptor{}), SkipReason::kNotReplayable);
  EXPECT_EQ(skipped(SYS_clone, ProcessCall{}), SkipReason::kProcessOnly);
  EXPECT_EQ(skipped(SYS_io_submit, OtherCall{}), SkipReason::kNotReplayable);
  EXPECT_EQ(skipped(0, TouchMapping{}), SkipReason::kMemoryOnly);
  EXPECT_EQ(skipped(0, ReceiveDescriptor{}), SkipReason::kNotReplayable);
}

TEST_F(Operations, DataIsRandomAndNoBlockIsWrittenTwice) {
  const auto fd = make("/a");
  for (int i = 0; i < 2000; ++i) must(SYS_write, write_call(fd, 4096));
  for (int i = 0; i < 4; ++i) must(SYS_write, write_call(fd, 1 << 20));
  const std::string bytes = test::read_file(outside("/a"));
  std::set<std::string> blocks;
  for (std::size_t at_byte = 0; at_byte < bytes.size(); at_byte += 4096) blocks.insert(bytes.substr(at_byte, 4096));
  EXPECT_EQ(blocks.size(), bytes.size() / 4096);
  std::array<int, 256> histogram{};
  for (const char c : bytes) ++histogram.at(static_cast<unsigned char>(c));
  const int expected = static_cast<int>(bytes.size() / 256);
  for (const int count : histogram) EXPECT_NEAR(count, expected, expected / 10);
}

TEST_F(Operations, CallsWaitForTheirTime) {
  const Nanoseconds due = driver_.target().now() + Nanoseconds(5'000'000);
  ASSERT_TRUE(driver_.target().submit({thread_, 9, SYS_umask, SetFileCreationMask{022}, due}).has_value());
  const Completion completion = driver_.next();
  EXPECT_GE(completion.start, due);
  EXPECT_EQ(completion.cookie, 9U);
}

TEST(OperationCodec, EveryOperationSurvivesAndCutBytesDoNot) {
  std::array<std::byte, 4096> buffer{};
  SetXattrPath op{at("/x", 7), Text::of("user.n"), Text::of(std::string("a\0b", 3)), 3, 1};
  const auto size = encode_operation(op, buffer);
  ASSERT_TRUE(size.has_value());
  const auto back = decode_operation(std::span(buffer).first(*size));
  ASSERT_TRUE(back.has_value());
  const auto& read = std::get<SetXattrPath>(*back);
  EXPECT_EQ(read.path, op.path);
  EXPECT_EQ(read.value, op.value);
  EXPECT_EQ(read.size, 3);
  for (std::size_t cut = 0; cut < *size; ++cut)
    EXPECT_FALSE(decode_operation(std::span(buffer).first(cut)).has_value());
  EXPECT_FALSE(encode_operation(op, std::span(buffer).first(10)).has_value());
}

}  // namespace
}  // namespace iotape
