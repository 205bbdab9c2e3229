#include "replayer/target/issue.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <utime.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

namespace iotape {
namespace {

// Younger than the C library's list.
constexpr std::uint32_t kFchmodat2 = 452;
constexpr std::uint32_t kSetxattrat = 463;
constexpr std::uint32_t kGetxattrat = 464;
constexpr std::uint32_t kListxattrat = 465;
constexpr std::uint32_t kRemovexattrat = 466;
struct XattrArguments {
  std::uint64_t value;
  std::uint32_t size;
  std::uint32_t flags;
};
static_assert(sizeof(XattrArguments) == 16);

constexpr std::size_t kMaximumSegments = 1024;
constexpr std::size_t kMaximumXattr = 65'536;
constexpr std::int64_t kSector = 512;
constexpr std::size_t kPage = 4096;

const char* pointer_of(TextState state, const std::string& bytes) {
  if (state == TextState::kNull) return nullptr;
  // An address no process has, so that the kernel fails as it did when the recorder could not read it either.
  if (state == TextState::kFault) return reinterpret_cast<const char*>(std::uintptr_t{1});
  return bytes.c_str();
}
const char* pointer_of(const PathArgument& path) { return pointer_of(path.state, path.bytes); }
const char* pointer_of(const Text& text) { return pointer_of(text.state, text.bytes); }
int directory_of(const PathArgument& path) { return path.directory.number; }
// A call without a directory argument can be issued as recorded only when there is none to pass.
bool plain(const PathArgument& path) { return path.directory.number == kAtCurrentDirectory; }

IssuedCall answered(std::int64_t raw) {
  const Nanoseconds now = host_now();
  return {raw, now, now};
}

DeviceId device_id(dev_t device) { return DeviceId::of(gnu_dev_major(device), gnu_dev_minor(device)); }

FileReference reference_of(std::int64_t handle) {
  struct stat state {};
  if (raw_system_call(SYS_fstat, handle, system_call_argument(&state)) != 0) return {};
  FileReference reference;
  reference.identity.device = device_id(state.st_dev);
  reference.identity.inode = InodeNumber(state.st_ino);
  reference.kind = file_kind_of_mode(state.st_mode, FileKind::kUnknown);
  return reference;
}

class Issuer {
 public:
  Issuer(std::uint32_t number, IssueContext& context) : number_(number), context_(context) {}

  IssuedCall operator()(const Open& op) {
    const IssuedCall issued = open(op);
    if (issued.raw < 0) return issued;
    note_handle(issued.raw);
    if ((op.flags & O_DIRECT) != 0) context_.shared.direct_seen.store(true, std::memory_order_relaxed);
    context_.opened = reference_of(issued.raw);
    return issued;
  }

  IssuedCall operator()(const Close& op) { return issue_system_call(SYS_close, op.descriptor.number); }
  IssuedCall operator()(const CloseRange& op) {
    return issue_system_call(SYS_close_range, op.first, op.last, op.flags);
  }

  IssuedCall operator()(const Duplicate& op) {
    const IssuedCall issued = duplicate(op);
    if (issued.raw >= 0) note_handle(issued.raw);
    return issued;
  }

  IssuedCall operator()(const ControlDescriptor& op) {
    std::uint64_t hint = static_cast<std::uint64_t>(op.argument);
    const bool by_pointer = op.command == F_GET_RW_HINT || op.command == F_SET_RW_HINT;
    if (op.command == F_SETFL && (op.argument & O_DIRECT) != 0)
      context_.shared.direct_seen.store(true, std::memory_order_relaxed);
    return issue_system_call(SYS_fcntl, op.descriptor.number, op.command,
                             by_pointer ? system_call_argument(&hint) : op.argument);
  }

  IssuedCall operator()(const Lock& op) {
    if (number_ == SYS_flock) return issue_system_call(SYS_flock, op.descriptor.number, op.command);
    struct flock lock {};
    lock.l_type = static_cast<short>(op.type);
    lock.l_whence = static_cast<short>(op.whence);
    lock.l_start = op.start;
    lock.l_len = op.length;
    return issue_system_call(SYS_fcntl, op.descriptor.number, op.command, &lock);
  }

  IssuedCall operator()(const Read& op) {
    std::byte* scratch = context_.shared.pool.scratch();
    if (number_ == SYS_pread64)
      return issue_system_call(SYS_pread64, op.descriptor.number, scratch, op.length, op.position.value);
    if (number_ != SYS_readv && number_ != SYS_preadv && number_ != SYS_preadv2)
      return issue_system_call(SYS_read, op.descriptor.number, scratch, op.length);
    std::array<iovec, kMaximumSegments> segments;
    const std::size_t count = fill_segments(op, segments, [&](std::size_t /*length*/) { return scratch; });
    return vectored(op, segments.data(), count, {SYS_readv, SYS_preadv, SYS_preadv2});
  }

  IssuedCall operator()(const Write& op) {
    if (number_ == SYS_pwrite64)
      return issue_system_call(SYS_pwrite64, op.descriptor.number, data(op.length), op.length, op.position.value);
    if (number_ != SYS_writev && number_ != SYS_pwritev && number_ != SYS_pwritev2)
      return issue_system_call(SYS_write, op.descriptor.number, data(op.length), op.length);
    std::array<iovec, kMaximumSegments> segments;
    const std::size_t count = fill_segments(op, segments, [&](std::size_t length) {
      return const_cast<std::byte*>(data(static_cast<std::int64_t>(length)));
    });
    return vectored(op, segments.data(), count, {SYS_writev, SYS_pwritev, SYS_pwritev2});
  }

  IssuedCall operator()(const Seek& op) {
    return issue_system_call(SYS_lseek, op.descriptor.number, op.offset, op.whence);
  }

  IssuedCall operator()(const Transfer& op) {
    std::int64_t from = op.source_position.value;
    std::int64_t to = op.destination_position.value;
    std::int64_t* from_pointer = op.source_explicit ? &from : nullptr;
    std::int64_t* to_pointer = op.destination_explicit ? &to : nullptr;
    const int source = op.source.number;
    const int destination = op.destination.number;
    if (number_ == SYS_sendfile) return issue_system_call(SYS_sendfile, destination, source, from_pointer, op.length);
    if (number_ == SYS_tee) return issue_system_call(SYS_tee, source, destination, op.length, op.flags);
    const std::uint32_t call = number_ == SYS_splice ? SYS_splice : SYS_copy_file_range;
    return issue_system_call(call, source, from_pointer, destination, to_pointer, op.length, op.flags);
  }

  IssuedCall operator()(const ReadAhead& op) {
    return issue_system_call(SYS_readahead, op.descriptor.number, op.offset, op.length);
  }
  IssuedCall operator()(const AdviseFile& op) {
    return issue_system_call(SYS_fadvise64, op.descriptor.number, op.offset, op.length, op.advice);
  }
  IssuedCall operator()(const TruncatePath& op) {
    return issue_system_call(SYS_truncate, pointer_of(op.path), op.length);
  }
  IssuedCall operator()(const TruncateDescriptor& op) {
    return issue_system_call(SYS_ftruncate, op.descriptor.number, op.length);
  }
  IssuedCall operator()(const Allocate& op) {
    return issue_system_call(SYS_fallocate, op.descriptor.number, op.mode, op.offset, op.length);
  }

  IssuedCall operator()(const Sync& op) {
    const bool known = number_ == SYS_fdatasync || number_ == SYS_syncfs;
    return issue_system_call(known ? number_ : SYS_fsync, op.descriptor.number);
  }
  // sync(2) would write back every filesystem of the machine: the target's alone is meant.
  IssuedCall operator()(const SyncAll& /*op*/) {
    const std::int64_t top =
        raw_system_call(SYS_openat, AT_FDCWD, system_call_argument("/"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0) return answered(top);
    const IssuedCall issued = issue_system_call(SYS_syncfs, top);
    raw_system_call(SYS_close, top);
    return issued;
  }
  IssuedCall operator()(const SyncFileRange& op) {
    return issue_system_call(SYS_sync_file_range, op.descriptor.number, op.offset, op.length, op.flags);
  }

  IssuedCall operator()(const MapMemory& op) {
    MemoryMap& memory = context_.shared.memory;
    if (op.length > 0 && !memory.has_room(static_cast<std::uint64_t>(op.length))) return answered(-ENOMEM);
    const std::int64_t flags = op.flags & ~std::int64_t{MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_LOCKED | MAP_32BIT};
    // A private writable mapping that is populated would take memory; an executable one would want an exec mount.
    std::int64_t protection = op.protection & ~std::int64_t{PROT_EXEC};
    if ((flags & MAP_TYPE) == MAP_PRIVATE) protection &= ~std::int64_t{PROT_WRITE};
    const IssuedCall issued = issue_system_call(SYS_mmap, nullptr, op.length, protection, flags | MAP_NORESERVE,
                                                op.descriptor.number, op.offset);
    if (OpOutcome::from_kernel(issued.raw).ok())
      memory.add(static_cast<std::uint64_t>(issued.raw), static_cast<std::uint64_t>(op.length));
    return issued;
  }

  IssuedCall operator()(const ControlMemory& op) {
    MemoryMap& memory = context_.shared.memory;
    const auto address = static_cast<std::uint64_t>(op.address);
    const auto length = static_cast<std::uint64_t>(op.length);
    if (address % kPage != 0 || !memory.contains(address, length)) return answered(-EINVAL);
    if (number_ == SYS_munmap) {
      memory.remove(address, length);
      return issue_system_call(SYS_munmap, address, length);
    }
    if (number_ == SYS_mremap) return move_mapping(address, length, static_cast<std::uint64_t>(op.argument));
    if (number_ == SYS_msync) return issue_system_call(SYS_msync, address, length, op.flags | op.argument);
    if (number_ == SYS_madvise) return issue_system_call(SYS_madvise, address, length, op.argument);
    return answered(-ENOSYS);
  }

  IssuedCall operator()(const StatPath& op) {
    if (number_ == SYS_statx)
      return issue_system_call(SYS_statx, directory_of(op.path), pointer_of(op.path), op.flags, op.mask, room());
    if (number_ == SYS_stat && plain(op.path)) return issue_system_call(SYS_stat, pointer_of(op.path), room());
    if (number_ == SYS_lstat && plain(op.path)) return issue_system_call(SYS_lstat, pointer_of(op.path), room());
    const std::int64_t flags = number_ == SYS_lstat ? op.flags | AT_SYMLINK_NOFOLLOW : op.flags;
    return issue_system_call(SYS_newfstatat, directory_of(op.path), pointer_of(op.path), room(), flags);
  }
  IssuedCall operator()(const StatDescriptor& op) { return issue_system_call(SYS_fstat, op.descriptor.number, room()); }

  IssuedCall operator()(const CheckAccess& op) {
    if (number_ == SYS_access && plain(op.path)) return issue_system_call(SYS_access, pointer_of(op.path), op.mode);
    if (number_ == SYS_faccessat2)
      return issue_system_call(SYS_faccessat2, directory_of(op.path), pointer_of(op.path), op.mode, op.flags);
    return issue_system_call(SYS_faccessat, directory_of(op.path), pointer_of(op.path), op.mode);
  }

  IssuedCall operator()(const StatFilesystemPath& op) {
    return issue_system_call(SYS_statfs, pointer_of(op.path), room());
  }
  IssuedCall operator()(const StatFilesystemDescriptor& op) {
    return issue_system_call(SYS_fstatfs, op.descriptor.number, room());
  }

  IssuedCall operator()(const Rename& op) {
    const char* from = pointer_of(op.from);
    const char* to = pointer_of(op.to);
    if (number_ == SYS_rename && plain(op.from) && plain(op.to)) return issue_system_call(SYS_rename, from, to);
    if (number_ == SYS_renameat2)
      return issue_system_call(SYS_renameat2, directory_of(op.from), from, directory_of(op.to), to, op.flags);
    return issue_system_call(SYS_renameat, directory_of(op.from), from, directory_of(op.to), to);
  }

  IssuedCall operator()(const HardLink& op) {
    const char* existing = pointer_of(op.existing);
    const char* created = pointer_of(op.created);
    if (number_ == SYS_link && plain(op.existing) && plain(op.created))
      return issue_system_call(SYS_link, existing, created);
    return issue_system_call(SYS_linkat, directory_of(op.existing), existing, directory_of(op.created), created,
                             op.flags);
  }

  IssuedCall operator()(const SymbolicLink& op) {
    const char* target = pointer_of(op.target);
    if (number_ == SYS_symlink && plain(op.created))
      return issue_system_call(SYS_symlink, target, pointer_of(op.created));
    return issue_system_call(SYS_symlinkat, target, directory_of(op.created), pointer_of(op.created));
  }

  IssuedCall operator()(const ReadLink& op) {
    const std::int64_t length = std::min<std::int64_t>(op.length, static_cast<std::int64_t>(kMaximumXattr));
    if (number_ == SYS_readlink && plain(op.path))
      return issue_system_call(SYS_readlink, pointer_of(op.path), room(), length);
    return issue_system_call(SYS_readlinkat, directory_of(op.path), pointer_of(op.path), room(), length);
  }

  IssuedCall operator()(const Unlink& op) {
    const bool directory = number_ == SYS_rmdir;
    if ((directory || number_ == SYS_unlink) && plain(op.path)) return issue_system_call(number_, pointer_of(op.path));
    return issue_system_call(SYS_unlinkat, directory_of(op.path), pointer_of(op.path),
                             directory ? AT_REMOVEDIR : op.flags);
  }

  IssuedCall operator()(const MakeDirectory& op) {
    if (number_ == SYS_mkdir && plain(op.path)) return issue_system_call(SYS_mkdir, pointer_of(op.path), op.mode);
    return issue_system_call(SYS_mkdirat, directory_of(op.path), pointer_of(op.path), op.mode);
  }

  IssuedCall operator()(const MakeNode& op) {
    if (number_ == SYS_mknod && plain(op.path))
      return issue_system_call(SYS_mknod, pointer_of(op.path), op.mode, op.device);
    return issue_system_call(SYS_mknodat, directory_of(op.path), pointer_of(op.path), op.mode, op.device);
  }

  IssuedCall operator()(const ReadDirectory& op) {
    const std::int64_t room_bytes = static_cast<std::int64_t>(context_.response.size());
    const std::uint32_t call = number_ == SYS_getdents ? SYS_getdents : SYS_getdents64;
    const IssuedCall issued =
        issue_system_call(call, op.descriptor.number, room(), std::clamp<std::int64_t>(op.length, 0, room_bytes));
    context_.response_bytes = issued.raw > 0 ? static_cast<std::size_t>(issued.raw) : 0;
    return issued;
  }

  IssuedCall operator()(const GetWorkingDirectory& op) {
    return issue_system_call(SYS_getcwd, room(), std::clamp<std::int64_t>(op.length, 0, kMaximumXattr));
  }
  IssuedCall operator()(const ChangeDirectoryPath& op) {
    return issue_system_call(number_ == SYS_chroot ? SYS_chroot : SYS_chdir, pointer_of(op.path));
  }
  IssuedCall operator()(const ChangeDirectoryDescriptor& op) {
    return issue_system_call(SYS_fchdir, op.descriptor.number);
  }

  IssuedCall operator()(const ChangeModePath& op) {
    if (number_ == SYS_chmod && plain(op.path)) return issue_system_call(SYS_chmod, pointer_of(op.path), op.mode);
    if (number_ == kFchmodat2)
      return issue_system_call(kFchmodat2, directory_of(op.path), pointer_of(op.path), op.mode, op.flags);
    return issue_system_call(SYS_fchmodat, directory_of(op.path), pointer_of(op.path), op.mode);
  }
  IssuedCall operator()(const ChangeModeDescriptor& op) {
    return issue_system_call(SYS_fchmod, op.descriptor.number, op.mode);
  }

  IssuedCall operator()(const ChangeOwnerPath& op) {
    if ((number_ == SYS_chown || number_ == SYS_lchown) && plain(op.path))
      return issue_system_call(number_, pointer_of(op.path), op.user, op.group);
    const std::int64_t flags = number_ == SYS_lchown ? op.flags | AT_SYMLINK_NOFOLLOW : op.flags;
    return issue_system_call(SYS_fchownat, directory_of(op.path), pointer_of(op.path), op.user, op.group, flags);
  }
  IssuedCall operator()(const ChangeOwnerDescriptor& op) {
    return issue_system_call(SYS_fchown, op.descriptor.number, op.user, op.group);
  }

  IssuedCall operator()(const SetTimes& op) {
    const char* path = pointer_of(op.path);
    constexpr std::int64_t kNanosecondsPerMicrosecond = 1000;
    if (number_ == SYS_utime && plain(op.path)) {
      const utimbuf times{op.access.seconds, op.modification.seconds};
      return issue_system_call(SYS_utime, path, op.now ? nullptr : &times);
    }
    if (number_ == SYS_utimes || number_ == SYS_futimesat) {
      const std::array<timeval, 2> times{
          {{op.access.seconds, op.access.nanoseconds / kNanosecondsPerMicrosecond},
           {op.modification.seconds, op.modification.nanoseconds / kNanosecondsPerMicrosecond}}};
      return issue_system_call(SYS_futimesat, directory_of(op.path), path, op.now ? nullptr : times.data());
    }
    const std::array<timespec, 2> times{
        {{op.access.seconds, op.access.nanoseconds}, {op.modification.seconds, op.modification.nanoseconds}}};
    return issue_system_call(SYS_utimensat, directory_of(op.path), path, op.now ? nullptr : times.data(), op.flags);
  }

  IssuedCall operator()(const SetFileCreationMask& op) { return issue_system_call(SYS_umask, op.mask); }

  IssuedCall operator()(const SetXattrPath& op) {
    const std::string value = xattr_value(op.value, op.size);
    if (number_ == kSetxattrat || !plain(op.path)) {
      const XattrArguments arguments{static_cast<std::uint64_t>(system_call_argument(value.data())),
                                     static_cast<std::uint32_t>(op.size), static_cast<std::uint32_t>(op.flags)};
      return issue_system_call(kSetxattrat, directory_of(op.path), pointer_of(op.path), 0, pointer_of(op.name),
                               &arguments, sizeof(arguments));
    }
    return issue_system_call(number_ == SYS_lsetxattr ? SYS_lsetxattr : SYS_setxattr, pointer_of(op.path),
                             pointer_of(op.name), value.data(), op.size, op.flags);
  }
  IssuedCall operator()(const SetXattrDescriptor& op) {
    const std::string value = xattr_value(op.value, op.size);
    return issue_system_call(SYS_fsetxattr, op.descriptor.number, pointer_of(op.name), value.data(), op.size, op.flags);
  }

  IssuedCall operator()(const QueryXattrPath& op) {
    const std::int64_t size = xattr_room(op.size);
    const char* path = pointer_of(op.path);
    if (number_ == kListxattrat) return issue_system_call(kListxattrat, directory_of(op.path), path, 0, room(), size);
    if (number_ == SYS_listxattr || number_ == SYS_llistxattr) return issue_system_call(number_, path, room(), size);
    if (number_ == kGetxattrat || !plain(op.path)) {
      const XattrArguments arguments{static_cast<std::uint64_t>(system_call_argument(room())),
                                     static_cast<std::uint32_t>(size), 0};
      return issue_system_call(kGetxattrat, directory_of(op.path), path, 0, pointer_of(op.name), &arguments,
                               sizeof(arguments));
    }
    return issue_system_call(number_ == SYS_lgetxattr ? SYS_lgetxattr : SYS_getxattr, path, pointer_of(op.name), room(),
                             size);
  }
  IssuedCall operator()(const QueryXattrDescriptor& op) {
    const std::int64_t size = xattr_room(op.size);
    if (number_ == SYS_flistxattr) return issue_system_call(SYS_flistxattr, op.descriptor.number, room(), size);
    return issue_system_call(SYS_fgetxattr, op.descriptor.number, pointer_of(op.name), room(), size);
  }

  IssuedCall operator()(const RemoveXattrPath& op) {
    if (number_ == kRemovexattrat || !plain(op.path))
      return issue_system_call(kRemovexattrat, directory_of(op.path), pointer_of(op.path), 0, pointer_of(op.name));
    return issue_system_call(number_ == SYS_lremovexattr ? SYS_lremovexattr : SYS_removexattr, pointer_of(op.path),
                             pointer_of(op.name));
  }
  IssuedCall operator()(const RemoveXattrDescriptor& op) {
    return issue_system_call(SYS_fremovexattr, op.descriptor.number, pointer_of(op.name));
  }

  IssuedCall operator()(const ControlDevice& op) {
    const bool number_argument = op.request == FICLONE;
    return issue_system_call(SYS_ioctl, op.descriptor.number, op.request,
                             number_argument ? op.argument : system_call_argument(room()));
  }

  IssuedCall operator()(const ProcessCall& op) {
    if (number_ == SYS_unshare) return issue_system_call(SYS_unshare, op.flags);
    return close_on_exec();
  }

  // The policy never lets these through; should one come all the same, it is not known here.
  IssuedCall operator()(const MakeDescriptor& /*op*/) { return answered(-ENOSYS); }
  IssuedCall operator()(const AdministerPath& /*op*/) { return answered(-ENOSYS); }
  IssuedCall operator()(const AdministerDescriptor& /*op*/) { return answered(-ENOSYS); }
  IssuedCall operator()(const OtherCall& /*op*/) { return answered(-ENOSYS); }
  IssuedCall operator()(const TouchMapping& /*op*/) { return answered(-ENOSYS); }
  IssuedCall operator()(const ReceiveDescriptor& /*op*/) { return answered(-ENOSYS); }

 private:
  struct VectoredFamily {
    std::uint32_t plain;
    std::uint32_t positioned;
    std::uint32_t flagged;
  };

  std::byte* room() { return context_.response.data(); }

  void note_handle(std::int64_t handle) {
    auto& highest = context_.shared.highest_handle;
    int seen = highest.load(std::memory_order_relaxed);
    while (handle > seen && !highest.compare_exchange_weak(seen, static_cast<int>(handle))) continue;
  }

  const std::byte* data(std::int64_t length) {
    const std::size_t size = std::min(static_cast<std::size_t>(std::max<std::int64_t>(length, 0)), kMaximumTransfer);
    DataPool& pool = context_.shared.pool;
    const bool aligned = length % kSector == 0 && context_.shared.direct_seen.load(std::memory_order_relaxed);
    return aligned ? pool.next_aligned_data(context_.cursor, size) : pool.next_data(context_.cursor, size);
  }

  IssuedCall open(const Open& op) {
    const char* path = pointer_of(op.path);
    if (number_ == SYS_openat2) {
      const open_how how{static_cast<std::uint64_t>(op.flags), static_cast<std::uint64_t>(op.mode),
                         static_cast<std::uint64_t>(op.resolve)};
      return issue_system_call(SYS_openat2, directory_of(op.path), path, &how, sizeof(how));
    }
    const bool as_recorded = plain(op.path);
    // creat has no flags argument and would wait on a fifo; open with its three flags is the same call inside.
    const std::int64_t flags = number_ == SYS_creat ? op.flags | O_CREAT | O_WRONLY | O_TRUNC : op.flags;
    if (as_recorded && (number_ == SYS_open || number_ == SYS_creat))
      return issue_system_call(SYS_open, path, flags, op.mode);
    return issue_system_call(SYS_openat, directory_of(op.path), path, flags, op.mode);
  }

  IssuedCall duplicate(const Duplicate& op) {
    const int handle = op.descriptor.number;
    const bool close_on_exec = (op.flags & O_CLOEXEC) != 0 || op.command == F_DUPFD_CLOEXEC;
    if (op.target >= 0 && number_ == SYS_dup2) return issue_system_call(SYS_dup2, handle, op.target);
    if (op.target >= 0 && number_ == SYS_dup3) return issue_system_call(SYS_dup3, handle, op.target, op.flags);
    if (number_ == SYS_dup) return issue_system_call(SYS_dup, handle);
    return issue_system_call(SYS_fcntl, handle, close_on_exec ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
  }

  template <typename Op, typename Place>
  std::size_t fill_segments(const Op& op, std::array<iovec, kMaximumSegments>& segments, Place place) {
    if (op.segments.empty()) {
      const auto length = static_cast<std::size_t>(op.length);
      segments[0] = {place(length), length};
      return 1;
    }
    for (std::size_t i = 0; i < std::min(op.segments.size(), kMaximumSegments); ++i) {
      const auto length = static_cast<std::size_t>(op.segments[i]);
      segments[i] = {place(length), length};
    }
    return op.segments.size();  // above 1,024 the kernel answers EINVAL before it looks at them
  }

  template <typename Op>
  IssuedCall vectored(const Op& op, const iovec* segments, std::size_t count, const VectoredFamily& family) {
    const int handle = op.descriptor.number;
    if (number_ == family.plain) return issue_system_call(family.plain, handle, segments, count);
    if (number_ == family.positioned)
      return issue_system_call(family.positioned, handle, segments, count, op.position.value, 0);
    return issue_system_call(family.flagged, handle, segments, count, op.position.value, 0, op.flags);
  }

  IssuedCall move_mapping(std::uint64_t address, std::uint64_t length, std::uint64_t new_length) {
    MemoryMap& memory = context_.shared.memory;
    if (!memory.has_room(new_length)) return answered(-ENOMEM);
    const IssuedCall issued = issue_system_call(SYS_mremap, address, length, new_length, MREMAP_MAYMOVE);
    if (!OpOutcome::from_kernel(issued.raw).ok()) return issued;
    memory.remove(address, length);
    memory.add(static_cast<std::uint64_t>(issued.raw), new_length);
    return issued;
  }

  static std::int64_t xattr_room(std::int64_t size) {
    return std::min<std::int64_t>(size, static_cast<std::int64_t>(kMaximumXattr));
  }
  // A value recorded only in part is continued with bytes of the pool; one beyond the kernel's limit is not made.
  std::string xattr_value(const Text& value, std::int64_t size) {
    std::string bytes = value.bytes;
    const std::size_t wanted = std::min(static_cast<std::size_t>(std::max<std::int64_t>(size, 0)), kMaximumXattr);
    if (bytes.size() >= wanted) return bytes;
    const std::size_t missing = wanted - bytes.size();
    bytes.append(reinterpret_cast<const char*>(context_.shared.pool.next_data(context_.cursor, missing)), missing);
    return bytes;
  }

  IssuedCall close_on_exec() {
    IssuedCall issued;
    issued.start = host_now();
    issued.raw = raw_system_call(SYS_unshare, CLONE_FILES);
    const int highest = context_.shared.highest_handle.load();
    for (int handle = 0; issued.raw == 0 && handle <= highest; ++handle) {
      const std::int64_t flags = raw_system_call(SYS_fcntl, handle, F_GETFD);
      if (flags >= 0 && (flags & FD_CLOEXEC) != 0) raw_system_call(SYS_close, handle);
    }
    issued.end = host_now();
    return issued;
  }

  std::uint32_t number_;
  IssueContext& context_;
};

}  // namespace

IssuedCall issue(const Operation& operation, std::uint32_t number, IssueContext& context) {
  context.opened = {};
  context.response_bytes = 0;
  return std::visit(Issuer{number, context}, operation);
}

}  // namespace iotape
