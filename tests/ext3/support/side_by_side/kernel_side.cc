#include "tests/ext3/support/side_by_side/kernel_side.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>

#include "format/base/file_descriptor.h"
#include "tests/support/test_support.h"

namespace iotape::ext3::test {
namespace {

constexpr std::size_t kPiece = 256 << 10;
constexpr std::size_t kDirectoryBuffer = 64 << 10;

void names_of(const char* buffer, long length, std::vector<std::string>& names) {
  struct Record {
    std::uint64_t inode;
    std::int64_t offset;
    std::uint16_t length;
    std::uint8_t type;
  };
  for (long at = 0; at < length;) {
    Record record{};
    std::memcpy(&record, buffer + at, sizeof record);
    names.emplace_back(buffer + at + 19);
    at += record.length;
  }
}

// A user without privileges, for the thread and as long as it lives.
class Guise {
 public:
  explicit Guise(std::uint32_t user) : user_(user) {
    if (user_ == 0) return;
    ::syscall(SYS_setresgid, -1, user_, -1);
    ::syscall(SYS_setresuid, -1, user_, -1);
  }
  Guise(const Guise&) = delete;
  Guise& operator=(const Guise&) = delete;
  ~Guise() {
    if (user_ == 0) return;
    ::syscall(SYS_setresuid, -1, 0, -1);
    ::syscall(SYS_setresgid, -1, 0, -1);
  }

 private:
  std::uint32_t user_;
};

}  // namespace

// Issues one operation; what the sequences never hold is a failure of the test.
struct KernelCall {
  KernelSide& side;
  const Step& step;
  StepOutcome& outcome;

  [[nodiscard]] int directory(const PathArgument& path) const {
    return path.directory.number == kAtCurrentDirectory ? AT_FDCWD : side.real(path.directory.number);
  }

  long operator()(const Open& op) const {
    const int descriptor = static_cast<int>(open_by(op));
    struct stat status {};
    outcome.opened_directory = descriptor >= 0 && ::fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
    return descriptor < 0 ? -1 : side.keep(descriptor);
  }
  [[nodiscard]] long open_by(const Open& op) const {
    const int start = directory(op.path);
    if (step.number != SYS_openat2) return ::syscall(SYS_openat, start, op.path.bytes.c_str(), op.flags, op.mode);
    open_how how{};
    how.flags = static_cast<std::uint64_t>(op.flags);
    how.mode = static_cast<std::uint64_t>(op.mode);
    how.resolve = static_cast<std::uint64_t>(op.resolve);
    return ::syscall(SYS_openat2, start, op.path.bytes.c_str(), &how, sizeof how);
  }
  long operator()(const Close& op) const {
    const int descriptor = side.real(op.descriptor.number);
    if (descriptor >= 0) side.slots_[static_cast<std::size_t>(op.descriptor.number)] = -1;
    return ::close(descriptor);
  }
  long operator()(const Duplicate& op) const {
    const int descriptor = ::dup(side.real(op.descriptor.number));
    return descriptor < 0 ? -1 : side.keep(descriptor);
  }
  long operator()(const Read& op) const {
    outcome.seen.resize(static_cast<std::size_t>(op.length));
    const int descriptor = side.real(op.descriptor.number);
    const long length = step.number == SYS_pread64
                            ? ::pread(descriptor, outcome.seen.data(), outcome.seen.size(), op.position.value)
                            : ::read(descriptor, outcome.seen.data(), outcome.seen.size());
    outcome.seen.resize(static_cast<std::size_t>(std::max(length, 0L)));
    return length;
  }
  long operator()(const Write& op) const {
    std::vector<std::byte> bytes;
    fill_bytes(step.fill, static_cast<std::size_t>(op.length), bytes);
    const int descriptor = side.real(op.descriptor.number);
    const auto length = static_cast<std::size_t>(op.length);
    return step.number == SYS_pwrite64 ? ::pwrite(descriptor, bytes.data(), length, op.position.value)
                                       : ::write(descriptor, bytes.data(), length);
  }
  long operator()(const Seek& op) const {
    return ::lseek(side.real(op.descriptor.number), op.offset, static_cast<int>(op.whence));
  }
  long operator()(const TruncatePath& op) const { return ::truncate(op.path.bytes.c_str(), op.length); }
  long operator()(const TruncateDescriptor& op) const {
    return ::ftruncate(side.real(op.descriptor.number), op.length);
  }
  long operator()(const Sync& op) const { return ::syscall(step.number, side.real(op.descriptor.number)); }
  long operator()(const SyncAll& /*op*/) const { return ::syscall(SYS_sync); }
  long operator()(const StatPath& op) const {
    struct stat status {};
    return ::fstatat(directory(op.path), op.path.bytes.c_str(), &status, static_cast<int>(op.flags));
  }
  long operator()(const StatDescriptor& op) const {
    struct stat status {};
    return ::fstat(side.real(op.descriptor.number), &status);
  }
  long operator()(const CheckAccess& op) const {
    return ::syscall(439, directory(op.path), op.path.bytes.c_str(), op.mode, op.flags);  // faccessat2
  }
  long operator()(const Rename& op) const {
    return ::syscall(SYS_renameat2, directory(op.from), op.from.bytes.c_str(), directory(op.to), op.to.bytes.c_str(),
                     op.flags);
  }
  long operator()(const HardLink& op) const {
    return ::linkat(directory(op.existing), op.existing.bytes.c_str(), directory(op.created), op.created.bytes.c_str(),
                    static_cast<int>(op.flags));
  }
  long operator()(const SymbolicLink& op) const {
    return ::symlinkat(op.target.bytes.c_str(), directory(op.created), op.created.bytes.c_str());
  }
  long operator()(const ReadLink& op) const {
    std::vector<char> target(static_cast<std::size_t>(op.length));
    return ::readlinkat(directory(op.path), op.path.bytes.c_str(), target.data(), target.size());
  }
  long operator()(const Unlink& op) const {
    return ::unlinkat(directory(op.path), op.path.bytes.c_str(), static_cast<int>(op.flags));
  }
  long operator()(const MakeDirectory& op) const {
    return ::mkdirat(directory(op.path), op.path.bytes.c_str(), static_cast<mode_t>(op.mode));
  }
  long operator()(const MakeNode& op) const {
    return ::mknodat(directory(op.path), op.path.bytes.c_str(), static_cast<mode_t>(op.mode),
                     static_cast<dev_t>(op.device));
  }
  long operator()(const ReadDirectory& op) const {
    std::vector<char> buffer(static_cast<std::size_t>(op.length));
    const long length = ::syscall(SYS_getdents64, side.real(op.descriptor.number), buffer.data(), buffer.size());
    names_of(buffer.data(), length, outcome.names);
    return length;
  }
  long operator()(const GetWorkingDirectory& op) const {
    std::vector<char> buffer(static_cast<std::size_t>(op.length));
    return ::syscall(SYS_getcwd, buffer.data(), buffer.size());
  }
  long operator()(const ChangeDirectoryPath& op) const { return ::chdir(op.path.bytes.c_str()); }
  long operator()(const ChangeModePath& op) const {
    return ::syscall(SYS_fchmodat, directory(op.path), op.path.bytes.c_str(), op.mode);
  }
  long operator()(const ChangeModeDescriptor& op) const {
    return ::fchmod(side.real(op.descriptor.number), static_cast<mode_t>(op.mode));
  }
  long operator()(const ChangeOwnerPath& op) const {
    return ::fchownat(directory(op.path), op.path.bytes.c_str(), static_cast<uid_t>(op.user),
                      static_cast<gid_t>(op.group), static_cast<int>(op.flags));
  }
  long operator()(const ChangeOwnerDescriptor& op) const {
    return ::fchown(side.real(op.descriptor.number), static_cast<uid_t>(op.user), static_cast<gid_t>(op.group));
  }
  long operator()(const SetTimes& op) const {
    const timespec times[2] = {{op.access.seconds, op.access.nanoseconds},
                               {op.modification.seconds, op.modification.nanoseconds}};
    return ::syscall(SYS_utimensat, directory(op.path), op.path.bytes.c_str(), op.now ? nullptr : times, op.flags);
  }
  long operator()(const SetFileCreationMask& op) const { return ::umask(static_cast<mode_t>(op.mask)); }
  long operator()(const SetXattrPath& op) const {
    std::vector<std::byte> bytes;
    fill_bytes(step.fill, static_cast<std::size_t>(op.size), bytes);
    return ::syscall(step.number, op.path.bytes.c_str(), op.name.bytes.c_str(), bytes.data(), op.size, op.flags);
  }
  long operator()(const SetXattrDescriptor& op) const {
    std::vector<std::byte> bytes;
    fill_bytes(step.fill, static_cast<std::size_t>(op.size), bytes);
    return ::syscall(step.number, side.real(op.descriptor.number), op.name.bytes.c_str(), bytes.data(), op.size,
                     op.flags);
  }
  long operator()(const QueryXattrPath& op) const {
    std::vector<char> value(static_cast<std::size_t>(op.size));
    if (step.number == SYS_listxattr || step.number == SYS_llistxattr)
      return ::syscall(step.number, op.path.bytes.c_str(), value.data(), value.size());
    return ::syscall(step.number, op.path.bytes.c_str(), op.name.bytes.c_str(), value.data(), value.size());
  }
  long operator()(const RemoveXattrPath& op) const {
    return ::syscall(step.number, op.path.bytes.c_str(), op.name.bytes.c_str());
  }
  template <typename Other>
  long operator()(const Other& /*op*/) const {
    ADD_FAILURE() << "not for the kernel: " << describe(step);
    errno = ENOSYS;
    return -1;
  }
};

KernelSide::KernelSide(std::string image, std::string mount_point, const std::string& options)
    : image_(std::move(image)), mount_point_(std::move(mount_point)) {
  const auto mounted =
      iotape::test::run_program({"mount", "-t", "ext3", "-o", "loop,nodev," + options, image_, mount_point_});
  EXPECT_EQ(mounted.status, 0) << mounted.err;
  mounted_ = mounted.status == 0;
  if (mounted_) enter();
}

KernelSide::~KernelSide() { unmount(); }

void KernelSide::enter() {
  outside_ = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (::chroot(mount_point_.c_str()) != 0 || ::chdir("/") != 0) ADD_FAILURE() << "chroot: " << std::strerror(errno);
  ::umask(022);
}

void KernelSide::leave() {
  if (::fchdir(outside_) != 0 || ::chroot(".") != 0) std::abort();  // nothing can go on
  ::close(outside_);
  ::umask(022);
}

void KernelSide::unmount() {
  if (!mounted_) return;
  for (const int descriptor : slots_)
    if (descriptor >= 0) ::close(descriptor);
  slots_.clear();
  leave();
  mounted_ = false;
  const auto unmounted = iotape::test::run_program({"umount", mount_point_});
  EXPECT_EQ(unmounted.status, 0) << unmounted.err;
  iotape::test::wait_until_detached(image_);
}

int KernelSide::real(std::int32_t slot) const {
  return slot >= 0 && static_cast<std::size_t>(slot) < slots_.size() ? slots_[static_cast<std::size_t>(slot)] : -1;
}

int KernelSide::keep(int descriptor) {
  const auto free = std::find(slots_.begin(), slots_.end(), -1);
  const auto slot = free - slots_.begin();
  if (free == slots_.end()) slots_.push_back(-1);
  slots_[static_cast<std::size_t>(slot)] = descriptor;
  return static_cast<int>(slot);
}

bool KernelSide::holds_removed() const {
  const auto is_removed = [this](const std::string& link) {
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlinkat(outside_, ("proc/self/" + link).c_str(), target.data(), target.size());
    return std::string_view(target.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)))
        .ends_with(" (deleted)");
  };
  return is_removed("cwd") || std::any_of(slots_.begin(), slots_.end(), [&](int descriptor) {
           return descriptor >= 0 && is_removed("fd/" + std::to_string(descriptor));
         });
}

StepOutcome KernelSide::issue(const Step& step) {
  StepOutcome outcome;
  const Guise guise(step.user);
  outcome.value = std::visit(KernelCall{*this, step, outcome}, step.operation);
  if (outcome.value < 0) outcome.error = errno;
  return outcome;
}

// ---- the tree ----

namespace {

TimePicture picture_of_time(const timespec& time) { return {time.tv_sec, static_cast<std::uint32_t>(time.tv_nsec)}; }

std::string contents_of(int file) {
  ContentsPicture contents;
  std::vector<char> bytes(kPiece);
  for (off_t at = ::lseek(file, 0, SEEK_DATA); at >= 0; at = ::lseek(file, at, SEEK_DATA)) {
    const off_t end = ::lseek(file, at, SEEK_HOLE);
    while (at < end) {
      const ssize_t length =
          ::pread(file, bytes.data(), std::min<std::size_t>(bytes.size(), static_cast<std::size_t>(end - at)), at);
      if (length <= 0) return "cannot be read";
      contents.data(static_cast<std::uint64_t>(at), bytes.data(), static_cast<std::size_t>(length));
      at += length;
    }
  }
  return contents.text();
}

// name: in the working directory.
std::map<std::string, std::string> attributes_of(const char* name) {
  std::map<std::string, std::string> attributes;
  std::vector<char> names(kDirectoryBuffer);
  std::vector<char> value(kDirectoryBuffer);
  const ssize_t length = ::llistxattr(name, names.data(), names.size());
  for (const char* at = names.data(); length > 0 && at < names.data() + length; at += std::strlen(at) + 1) {
    const ssize_t bytes = ::lgetxattr(name, at, value.data(), value.size());
    attributes[at] = std::string(value.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  }
  return attributes;
}

}  // namespace

TreePicture KernelSide::picture() {
  TreePicture tree;
  FirstNames names;
  const FileDescriptor working(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const FileDescriptor root(::open("/", O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC));
  draw(root.get(), ".", "", names, tree);
  struct statfs figures {};
  ::fstatfs(root.get(), &figures);
  tree.free_blocks = figures.f_bfree;
  tree.free_inodes = figures.f_ffree;
  if (::fchdir(working.get()) != 0) ADD_FAILURE() << "cannot go back";
  return tree;
}

void KernelSide::draw(int directory, const std::string& name, const std::string& path, FirstNames& names,
                      TreePicture& tree) {
  if (::fchdir(directory) != 0) ADD_FAILURE() << "cannot enter the directory of " << printable_bytes(path);
  struct stat status {};
  if (::lstat(name.c_str(), &status) != 0) ADD_FAILURE() << printable_bytes(path) << ": " << std::strerror(errno);
  FilePicture picture;
  picture.mode = status.st_mode;
  picture.user = status.st_uid;
  picture.group = status.st_gid;
  picture.links = status.st_nlink;
  picture.size = static_cast<std::uint64_t>(status.st_size);
  picture.sectors = static_cast<std::uint64_t>(status.st_blocks);
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode))
    picture.device = std::uint64_t{gnu_dev_major(status.st_rdev)} << 20U | gnu_dev_minor(status.st_rdev);
  picture.first_name = names.of(status.st_ino, path);
  picture.attributes = attributes_of(name.c_str());
  picture.access = picture_of_time(status.st_atim);
  picture.modification = picture_of_time(status.st_mtim);
  if (S_ISREG(status.st_mode)) {
    const FileDescriptor file(::open(name.c_str(), O_RDONLY | O_NOATIME | O_NOFOLLOW | O_CLOEXEC));
    picture.contents = contents_of(file.get());
  }
  if (S_ISLNK(status.st_mode)) {
    std::vector<char> target(kDirectoryBuffer);
    const ssize_t length = ::readlink(name.c_str(), target.data(), target.size());
    picture.contents.assign(target.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  }
  if (S_ISDIR(status.st_mode)) {
    const FileDescriptor opened(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC));
    std::vector<char> buffer(kDirectoryBuffer);
    for (long length = 1; length > 0;) {
      length = ::syscall(SYS_getdents64, opened.get(), buffer.data(), buffer.size());
      names_of(buffer.data(), length, picture.entries);
    }
    std::erase_if(picture.entries, [](const std::string& entry) { return entry == "." || entry == ".."; });
    std::vector<std::string> sorted = picture.entries;
    std::sort(sorted.begin(), sorted.end());
    for (const std::string& entry : sorted) {
      std::string below = path + "/";
      below += entry;
      draw(opened.get(), entry, below, names, tree);
    }
  }
  tree.files.emplace(path, std::move(picture));
}

}  // namespace iotape::ext3::test
