// What calls answer above the filesystem's own operations: rights, flags, and which of several errors is told. The
// kernel's answers, as side_by_side_test.cc found them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "replayer/ext3/inode_codec.h"
#include "tests/ext3/support/side_by_side/our_side.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3::test {
namespace {

constexpr std::uint32_t kSomebody = 1000;

PathArgument path(std::string bytes) {
  PathArgument argument;
  argument.bytes = std::move(bytes);
  return argument;
}

class CallsTest : public testing::Test {
 protected:
  CallsTest() : image_(std::uint64_t{16} << 20U, options()), side_(image_.device(), {}) {}
  ~CallsTest() override {
    side_.unmount();
    IOTAPE_EXPECT_SOUND(image_.device());
  }
  static FilesystemOptions options() {
    FilesystemOptions options;
    options.block_size = 1024;
    return options;
  }

  // errno, 0 when it went well.
  int call(std::uint32_t number, const Operation& operation) {
    outcome_ = side_.issue({number, operation, 7, user_});
    return outcome_.error;
  }
  int open(const std::string& name, std::int64_t flags, std::int64_t mode = 0644) {
    Open op;
    op.path = path(name);
    op.flags = flags;
    op.mode = mode;
    return call(SYS_openat, op);
  }
  int make_directory(const std::string& name, std::int64_t mode = 0755) {
    MakeDirectory op;
    op.path = path(name);
    op.mode = mode;
    return call(SYS_mkdirat, op);
  }
  int symlink(const std::string& target, const std::string& name) {
    SymbolicLink op;
    op.target = Text::of(target);
    op.created = path(name);
    return call(SYS_symlinkat, op);
  }
  int rename(const std::string& from, const std::string& to, std::int64_t flags = 0) {
    Rename op;
    op.from = path(from);
    op.to = path(to);
    op.flags = flags;
    return call(SYS_renameat2, op);
  }
  int unlink(const std::string& name, std::int64_t flags = 0) {
    Unlink op;
    op.path = path(name);
    op.flags = flags;
    return call(SYS_unlinkat, op);
  }
  int set_attribute(const std::string& file, const std::string& name, std::int64_t size = 5, std::int64_t flags = 0) {
    SetXattrPath op;
    op.path = path(file);
    op.name = Text::of(name);
    op.size = size;
    op.flags = flags;
    return call(SYS_lsetxattr, op);
  }
  int get_attribute(const std::string& file, const std::string& name) {
    QueryXattrPath op;
    op.path = path(file);
    op.name = Text::of(name);
    op.size = 100;
    return call(SYS_lgetxattr, op);
  }
  int change_owner(const std::string& file, std::int64_t user, std::int64_t group) {
    ChangeOwnerPath op;
    op.path = path(file);
    op.user = user;
    op.group = group;
    return call(SYS_fchownat, op);
  }
  int change_mode(const std::string& file, std::int64_t mode) {
    ChangeModePath op;
    op.path = path(file);
    op.mode = mode;
    return call(SYS_fchmodat, op);
  }
  int set_times(const std::string& file, TimeArgument access, TimeArgument modification) {
    SetTimes op;
    op.path = path(file);
    op.access = access;
    op.modification = modification;
    return call(SYS_utimensat, op);
  }
  FilePicture file(const std::string& name) { return side_.picture().files[name]; }
  void become(std::uint32_t user) { user_ = user; }

  TestVolumeImage image_;
  OurSide side_;
  StepOutcome outcome_;
  std::uint32_t user_ = 0;
};

TEST_F(CallsTest, RenameLooksAtFlagsThenDotsThenNamesThenTheTree) {
  ASSERT_EQ(make_directory("/d"), 0);
  ASSERT_EQ(make_directory("/d/e"), 0);
  ASSERT_EQ(open("/f", O_CREAT), 0);
  EXPECT_EQ(rename("/nothing", "/", RENAME_NOREPLACE | RENAME_EXCHANGE), EINVAL);
  EXPECT_EQ(rename("/nothing", "/x", 1 << 5), EINVAL);
  EXPECT_EQ(rename("/nothing", "/.", RENAME_NOREPLACE), EEXIST);
  EXPECT_EQ(rename("/nothing", "/."), EBUSY);
  EXPECT_EQ(rename("/nothing", "/" + std::string(256, 'n')), ENOENT);
  EXPECT_EQ(rename("/f", "/" + std::string(256, 'n')), ENAMETOOLONG);
  EXPECT_EQ(rename("/f", "/x/"), ENOTDIR);
  EXPECT_EQ(rename("/f", "/x/", RENAME_EXCHANGE), ENOENT);
  ASSERT_EQ(open("/d/e/f", O_CREAT), 0);
  EXPECT_EQ(rename("/d/e/f", "/d/e"), ENOTEMPTY);  // not EISDIR
  EXPECT_EQ(rename("/d", "/d/e/x"), EINVAL);
}

TEST_F(CallsTest, RenameOfAFileToItselfNeedsNoRights) {
  ASSERT_EQ(open("/f", O_CREAT), 0);
  become(kSomebody);
  EXPECT_EQ(rename("/f", "/f"), 0);
  EXPECT_EQ(rename("/f", "/g"), EACCES);
}

TEST_F(CallsTest, WhoMovesADirectoryElsewhereWritesToIt) {
  ASSERT_EQ(make_directory("/a", 0777), 0);
  ASSERT_EQ(change_mode("/a", 0777), 0);
  ASSERT_EQ(make_directory("/a/d", 0755), 0);
  ASSERT_EQ(make_directory("/a/b", 0777), 0);
  ASSERT_EQ(change_mode("/a/b", 0777), 0);
  become(kSomebody);
  EXPECT_EQ(rename("/a/d", "/a/b/d"), EACCES);
  EXPECT_EQ(rename("/a/d", "/a/e"), 0);
}

TEST_F(CallsTest, CallsOnNamesDoNotFollowALinkBeforeASlash) {
  ASSERT_EQ(make_directory("/d"), 0);
  ASSERT_EQ(symlink("/d", "/link"), 0);
  ASSERT_EQ(symlink("/nowhere", "/dangling"), 0);
  EXPECT_EQ(unlink("/link/"), ENOTDIR);
  EXPECT_EQ(make_directory("/dangling/"), EEXIST);
  ASSERT_EQ(open("/f", O_CREAT), 0);
  EXPECT_EQ(rename("/f", "/dangling/", RENAME_EXCHANGE), ENOTDIR);
  EXPECT_EQ(open("/f/", O_CREAT), EISDIR);
}

TEST_F(CallsTest, DotsAreRemovedByNobodyEachForItsOwnReason) {
  for (const char* const name : {"/..", "/../", "/../.."}) EXPECT_EQ(unlink(name, AT_REMOVEDIR), ENOTEMPTY) << name;
  for (const char* const name : {"/.", "/.//"}) EXPECT_EQ(unlink(name, AT_REMOVEDIR), EINVAL) << name;
  EXPECT_EQ(unlink("//", AT_REMOVEDIR), EBUSY);
  EXPECT_EQ(unlink("/.."), EISDIR);
}

TEST_F(CallsTest, NamesOfAttributesDecideWhoMaySetThem) {
  ASSERT_EQ(open("/f", O_CREAT, 0666), 0);
  ASSERT_EQ(change_mode("/f", 0666), 0);
  ASSERT_EQ(symlink("x", "/link"), 0);
  ASSERT_EQ(make_directory("/sticky"), 0);
  ASSERT_EQ(change_mode("/sticky", 01777), 0);
  EXPECT_EQ(set_attribute("/link", "user.a"), EPERM);
  EXPECT_EQ(get_attribute("/link", "user.a"), ENODATA);
  EXPECT_EQ(set_attribute("/link", "trusted.a"), 0);
  EXPECT_EQ(set_attribute("/link", "user."), EPERM);
  EXPECT_EQ(set_attribute("/f", "user."), EINVAL);
  EXPECT_EQ(set_attribute("/f", "trusted.a"), 0);
  become(kSomebody);
  EXPECT_EQ(set_attribute("/f", "user.a"), 0);
  EXPECT_EQ(set_attribute("/sticky", "user.a"), EPERM);
  EXPECT_EQ(set_attribute("/f", "trusted.a"), EPERM);
  EXPECT_EQ(get_attribute("/f", "trusted.a"), ENODATA);
  EXPECT_EQ(set_attribute("/f", "security.a"), EPERM);
  EXPECT_EQ(set_attribute("/f", "system.unknown"), EOPNOTSUPP);
}

TEST_F(CallsTest, AnAttributesNameFlagsAndSizeAreLookedAtBeforeThePath) {
  EXPECT_EQ(set_attribute("/nothing", "user.a", 5, 8), EINVAL);
  EXPECT_EQ(set_attribute("/nothing", ""), ERANGE);
  EXPECT_EQ(set_attribute("/nothing", "user." + std::string(251, 'n')), ERANGE);
  EXPECT_EQ(set_attribute("/nothing", "user.a", 65'537), E2BIG);
  EXPECT_EQ(get_attribute("/nothing", ""), ERANGE);
  EXPECT_EQ(get_attribute("/nothing", "user.a"), ENOENT);
}

TEST_F(CallsTest, SetIdBitsGoWithOwnersAndWithTheWritesOfStrangers) {
  for (const char* const name : {"/chown", "/nobody", "/write", "/locked"}) ASSERT_EQ(open(name, O_CREAT | O_RDWR), 0);
  const auto written = Descriptor{2, {}};
  const auto locked = Descriptor{3, {}};
  for (const char* const name : {"/chown", "/nobody", "/write"}) ASSERT_EQ(change_mode(name, 06755), 0);
  ASSERT_EQ(change_mode("/locked", 02766), 0);
  ASSERT_EQ(change_owner("/chown", 5, 5), 0);
  ASSERT_EQ(change_owner("/nobody", -1, -1), 0);
  become(kSomebody);
  for (const Descriptor& descriptor : {written, locked}) {
    Write op;
    op.descriptor = descriptor;
    op.length = 10;
    ASSERT_EQ(call(SYS_write, op), 0);
  }
  for (const char* const name : {"/chown", "/nobody", "/write"}) EXPECT_EQ(file(name).mode, 0100755U) << name;
  EXPECT_EQ(file("/locked").mode, 0100766U);
}

TEST_F(CallsTest, AStrangerMayChangeNoOwnerButNobodys) {
  ASSERT_EQ(open("/f", O_CREAT), 0);
  ASSERT_EQ(open("/program", O_CREAT), 0);
  ASSERT_EQ(change_mode("/program", 04755), 0);
  become(kSomebody);
  EXPECT_EQ(change_owner("/f", -1, -1), 0);
  EXPECT_EQ(change_owner("/f", kSomebody, -1), EPERM);
  EXPECT_EQ(change_owner("/program", -1, -1), EPERM);
}

TEST_F(CallsTest, AnOwnerMayNameTheGroupThatAFileHas) {
  ASSERT_EQ(open("/f", O_CREAT), 0);
  ASSERT_EQ(change_owner("/f", kSomebody, 4'000'000'000), 0);
  become(kSomebody);
  EXPECT_EQ(change_owner("/f", kSomebody, 4'000'000'000), 0);
  EXPECT_EQ(change_owner("/f", -1, 4'000'000'000), 0);
  EXPECT_EQ(change_owner("/f", -1, 4'000'000'001), EPERM);
}

TEST_F(CallsTest, ChmodByAStrangerToTheGroupTakesTheSetGroupBitOffDirectoriesToo) {
  ASSERT_EQ(make_directory("/d"), 0);
  ASSERT_EQ(change_owner("/d", kSomebody, 0), 0);
  become(kSomebody);
  ASSERT_EQ(change_mode("/d", 02775), 0);
  EXPECT_EQ(file("/d").mode, 040775U);
}

TEST_F(CallsTest, TimesToBeLeftAloneNeedNoFile) {
  EXPECT_EQ(set_times("/nothing", {0, UTIME_OMIT}, {0, UTIME_OMIT}), 0);
  EXPECT_EQ(set_times("/nothing", {0, UTIME_OMIT}, {0, 0}), ENOENT);
}

TEST_F(CallsTest, TheEndsOfWhatAnInodeHoldsHaveNoNanoseconds) {
  ASSERT_EQ(open("/f", O_CREAT), 0);
  ASSERT_EQ(set_times("/f", {-9'000'000'000, 5}, {1, 5}), 0);
  EXPECT_EQ(file("/f").access, (TimePicture{-2'147'483'648, 0}));
  EXPECT_EQ(file("/f").modification, (TimePicture{1, 5}));
  EXPECT_EQ(storable_time(128, {9'000'000'000, 5}), (FileTime{2'147'483'647, 0}));
  EXPECT_EQ(storable_time(256, {90'000'000'000, 5}), (FileTime{15'032'385'535, 0}));
}

TEST_F(CallsTest, ReadingAtTheEndOfAFileIsAnAccess) {
  ASSERT_EQ(open("/f", O_CREAT | O_RDWR), 0);
  ASSERT_EQ(set_times("/f", {1, 0}, {2, 0}), 0);
  Read op;
  op.descriptor.number = 0;
  ASSERT_EQ(call(SYS_read, op), 0);
  EXPECT_EQ(file("/f").access.seconds, 1);  // nothing was asked for
  op.length = 10;
  ASSERT_EQ(call(SYS_read, op), 0);
  EXPECT_GT(file("/f").access.seconds, 1'000'000);
}

TEST_F(CallsTest, ReadingADirectoryIntoTooSmallABufferIsAnAccess) {
  ASSERT_EQ(make_directory("/d"), 0);
  ASSERT_EQ(open("/d", O_DIRECTORY), 0);
  ASSERT_EQ(set_times("/d", {1, 0}, {2, 0}), 0);
  EXPECT_EQ(call(SYS_getdents64, ReadDirectory{{0, {}}, 10, {}}), EINVAL);
  EXPECT_GT(file("/d").access.seconds, 1'000'000);
}

TEST_F(CallsTest, InARemovedDirectoryNothingIsMadeWhateverTheRights) {
  ASSERT_EQ(make_directory("/d"), 0);
  ASSERT_EQ(open("/d", O_DIRECTORY), 0);
  ASSERT_EQ(unlink("/d", AT_REMOVEDIR), 0);
  become(kSomebody);
  Open op;
  op.path = path("f");
  op.path.directory.number = 0;
  op.flags = O_CREAT;
  EXPECT_EQ(call(SYS_openat, op), ENOENT);
  EXPECT_EQ(call(SYS_mkdirat, MakeDirectory{op.path, 0755}), ENOENT);
}

TEST_F(CallsTest, DotDotOfARemovedDirectoryLeadsToWhereItWasThoughThatIsRemovedToo) {
  for (const char* name : {"/a", "/a/b", "/a/b/c", "/a/b/c/d", "/empty"}) ASSERT_EQ(make_directory(name), 0);
  ASSERT_EQ(open("/a/b/c/d", O_DIRECTORY), 0);
  for (const char* name : {"/a/b/c/d", "/a/b/c"}) ASSERT_EQ(unlink(name, AT_REMOVEDIR), 0);
  ASSERT_EQ(rename("/empty", "/a/b"), 0);  // a directory that another takes the place of is removed as well
  Open op;
  op.path = path("../../../f");
  op.path.directory.number = 0;
  op.flags = O_CREAT | O_WRONLY;
  EXPECT_EQ(call(SYS_openat, op), 0);
  EXPECT_TRUE(side_.picture().files.contains("/a/f"));
  op.path.bytes = "../f";
  EXPECT_EQ(call(SYS_openat, op), ENOENT);
  op.path.bytes = "../b";
  EXPECT_EQ(call(SYS_openat, op), ENOENT);
}

TEST_F(CallsTest, LongTargetsOfLinksThatLeadToLinksAreALoopInTheEnd) {
  const std::string detour = std::string(400, '/');
  ASSERT_EQ(symlink("." + detour + "l", "/l"), 0);
  EXPECT_EQ(open("/l" + std::string(3800, '/') + "x", O_RDONLY), ELOOP);
}

TEST_F(CallsTest, OffsetsBeyondTheLargestFileCannotBeSought) {
  ASSERT_EQ(open("/f", O_CREAT | O_RDWR), 0);
  const auto limit = static_cast<std::int64_t>(side_.volume().geometry.largest_file());
  Seek op;
  op.descriptor.number = 0;
  op.offset = limit;
  EXPECT_EQ(call(SYS_lseek, op), 0);
  op.offset = limit + 1;
  EXPECT_EQ(call(SYS_lseek, op), EINVAL);
  op.whence = SEEK_CUR;
  op.offset = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(call(SYS_lseek, op), EINVAL);
}

TEST_F(CallsTest, FlagsOfOpenAreLookedAtInTheKernelsOrder) {
  ASSERT_EQ(make_directory("/d"), 0);
  ASSERT_EQ(open("/f", O_CREAT), 0);
  ASSERT_EQ(symlink("/f", "/link"), 0);
  EXPECT_EQ(open("/link", O_NOFOLLOW | O_DIRECTORY), ENOTDIR);
  EXPECT_EQ(open("/link", O_NOFOLLOW), ELOOP);
  EXPECT_EQ(open("/f", O_PATH | O_DIRECTORY), ENOTDIR);
  EXPECT_EQ(open("/d", O_CREAT), EISDIR);
  become(kSomebody);
  EXPECT_EQ(open("/f", O_RDONLY), 0);
  EXPECT_EQ(open("/f", O_RDONLY | O_TRUNC), EACCES);
}

TEST_F(CallsTest, LengthsAndSizesAreLookedAtBeforeWhatTheyAreFor) {
  EXPECT_EQ(call(SYS_ftruncate, TruncateDescriptor{{9, {}}, -1}), EINVAL);
  EXPECT_EQ(call(SYS_ftruncate, TruncateDescriptor{{9, {}}, 1}), EBADF);
  EXPECT_EQ(call(SYS_truncate, TruncatePath{path("/nothing"), -1}), EINVAL);
  EXPECT_EQ(call(SYS_readlinkat, ReadLink{path("/nothing"), 0}), EINVAL);
  EXPECT_EQ(call(SYS_readlinkat, ReadLink{path(""), 10}), ENOENT);
  EXPECT_EQ(symlink(std::string(4096, 't'), "/no/such/place"), ENAMETOOLONG);
}

TEST_F(CallsTest, AFileCutWithinAHoleKeepsNoEmptyIndirectBlock) {
  ASSERT_EQ(open("/f", O_CREAT | O_RDWR), 0);
  for (const std::int64_t offset : {50'000, 1'000'000, 100'000'000}) {
    Write op;
    op.descriptor.number = 0;
    op.length = 1000;
    op.position.value = offset;
    ASSERT_EQ(call(SYS_pwrite64, op), 0);
    ASSERT_GT(file("/f").sectors, 2U);
    ASSERT_EQ(call(SYS_ftruncate, TruncateDescriptor{{0, {}}, offset - 10'000}), 0);
    EXPECT_EQ(file("/f").sectors, 0U) << offset;
  }
}

// ---- renames that leave a whiteout ----

TEST_F(CallsTest, ARenameMayLeaveAWhiteoutInTheOldNamesPlace) {
  ASSERT_EQ(open("/f", O_CREAT | O_WRONLY), 0);
  ASSERT_EQ(make_directory("/d"), 0);
  ASSERT_EQ(open("/d/taken", O_CREAT | O_WRONLY), 0);
  EXPECT_EQ(rename("/f", "/d/taken", RENAME_WHITEOUT | RENAME_EXCHANGE), EINVAL);
  EXPECT_EQ(rename("/f", "/d/taken", RENAME_WHITEOUT | RENAME_NOREPLACE), EEXIST);
  EXPECT_EQ(rename("/f", "/d/taken", RENAME_WHITEOUT), 0);
  EXPECT_EQ(rename("/d", "/e", RENAME_WHITEOUT), 0);
  EXPECT_EQ(rename("/d", "/d2", RENAME_WHITEOUT), 0);  // a whiteout is a file like others
  EXPECT_EQ(open("/e/taken", O_RDONLY), 0);
  EXPECT_EQ(open("/f", O_RDONLY), ENXIO);
  EXPECT_EQ(open("/f/x", O_RDONLY), ENOTDIR);
  EXPECT_EQ(unlink("/f"), 0);
  EXPECT_EQ(unlink("/d"), 0);
}

TEST_F(CallsTest, ThatNoInodeIsLeftForAWhiteoutIsFoundBeforeWhatItsRenameReplaces) {
  for (const char* name : {"/d", "/full", "/full/x"}) ASSERT_EQ(make_directory(name), 0);
  EXPECT_EQ(rename("/d", "/full", RENAME_WHITEOUT), ENOTEMPTY);
  for (int i = 0; open("/f" + std::to_string(i), O_CREAT | O_WRONLY) == 0; ++i)
    ASSERT_EQ(call(SYS_close, Close{{static_cast<std::int32_t>(outcome_.value), {}}}), 0);
  EXPECT_EQ(outcome_.error, ENOSPC);
  EXPECT_EQ(rename("/d", "/full", RENAME_WHITEOUT), ENOSPC);
  EXPECT_EQ(rename("/d", "/full"), ENOTEMPTY);
}

// ---- openat2 ----

TEST_F(CallsTest, OpenInBoundsStaysInThem) {
  ASSERT_EQ(make_directory("/d"), 0);
  ASSERT_EQ(open("/d/f", O_CREAT | O_WRONLY), 0);
  ASSERT_EQ(open("/f", O_CREAT | O_WRONLY), 0);
  ASSERT_EQ(symlink("f", "/d/near"), 0);
  ASSERT_EQ(symlink("/f", "/d/absolute"), 0);
  ASSERT_EQ(symlink("../f", "/d/up"), 0);
  ASSERT_EQ(open("/d", O_RDONLY | O_DIRECTORY), 0);
  const auto directory = static_cast<std::int32_t>(outcome_.value);
  const auto open2 = [&](const std::string& name, std::int64_t resolve, std::int64_t flags = O_RDONLY,
                         std::int64_t mode = 0) {
    Open op;
    op.path = path(name);
    op.path.directory.number = directory;
    op.flags = flags;
    op.mode = mode;
    op.resolve = resolve;
    return call(SYS_openat2, op);
  };
  EXPECT_EQ(open2("f", RESOLVE_BENEATH), 0);
  EXPECT_EQ(open2("near", RESOLVE_BENEATH), 0);
  EXPECT_EQ(open2("../f", RESOLVE_BENEATH), EXDEV);
  EXPECT_EQ(open2("../d/f", RESOLVE_BENEATH), EXDEV);
  EXPECT_EQ(open2("/f", RESOLVE_BENEATH), EXDEV);
  EXPECT_EQ(open2("absolute", RESOLVE_BENEATH), EXDEV);
  EXPECT_EQ(open2("up", RESOLVE_BENEATH), EXDEV);
  EXPECT_EQ(open2("absolute", RESOLVE_IN_ROOT), 0);
  EXPECT_EQ(open2("up", RESOLVE_IN_ROOT), 0);
  EXPECT_EQ(open2("/f", RESOLVE_IN_ROOT), 0);
  EXPECT_EQ(open2("/d/f", RESOLVE_IN_ROOT), ENOENT);
  EXPECT_EQ(open2("near", RESOLVE_NO_SYMLINKS), ELOOP);
  EXPECT_EQ(open2("f", RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS), 0);
  EXPECT_EQ(open2("f", RESOLVE_BENEATH | RESOLVE_IN_ROOT), EINVAL);
  EXPECT_EQ(open2("f", 0x1000), EINVAL);
  EXPECT_EQ(open2("f", 0, O_RDONLY, 0644), EINVAL);
  EXPECT_EQ(open2("new", RESOLVE_CACHED, O_CREAT | O_WRONLY, 0644), EAGAIN);
  EXPECT_EQ(open2("new", RESOLVE_BENEATH, O_CREAT | O_WRONLY, 0644), 0);
}

// ---- chattr ----

TEST_F(CallsTest, FlagsOfChattrBindEverybodyAndAreRootsToSet) {
  ASSERT_EQ(open("/f", O_CREAT | O_RDWR, 0666), 0);
  ControlDevice op;
  op.descriptor.number = static_cast<std::int32_t>(outcome_.value);
  const auto set = [&](std::int64_t flags) {
    op.request = FS_IOC_SETFLAGS;
    op.argument = flags;
    return call(SYS_ioctl, op);
  };
  EXPECT_EQ(set(FS_NODUMP_FL), 0);
  EXPECT_EQ(set(FS_DIRSYNC_FL), EOPNOTSUPP);
  EXPECT_EQ(set(0x80000000), EOPNOTSUPP);
  EXPECT_EQ(set(FS_APPEND_FL), 0);
  EXPECT_EQ(open("/f", O_WRONLY), EPERM);
  EXPECT_EQ(open("/f", O_WRONLY | O_APPEND), 0);
  EXPECT_EQ(unlink("/f"), EPERM);
  EXPECT_EQ(set(FS_IMMUTABLE_FL), 0);
  EXPECT_EQ(open("/f", O_WRONLY | O_APPEND), EPERM);
  EXPECT_EQ(set(FS_IMMUTABLE_FL | FS_NODUMP_FL), EPERM);
  user_ = kSomebody;
  EXPECT_EQ(set(0), EPERM);
  user_ = 0;
  op.request = FS_IOC_FSSETXATTR;
  op.argument = FS_XFLAG_NOATIME;
  EXPECT_EQ(call(SYS_ioctl, op), 0);
  EXPECT_EQ(unlink("/f"), 0);
  op.request = 0x1234;
  EXPECT_EQ(call(SYS_ioctl, op), ENOTTY);
}

}  // namespace
}  // namespace iotape::ext3::test
