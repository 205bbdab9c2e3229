// The operations a Syscall can carry: one small struct per operation, grouped by what the filesystem is asked for
// rather than by system call number (open, creat, openat and openat2 are all Open; Syscall::number tells them apart).
//
// Each struct lists its stored arguments once, in its fields() table; the codec, the printers, the anonymiser and the
// tests walk that table. Wire numbers (kWireNumber of a struct, the number of a field) are part of the file format:
// they are never changed or reused, new fields are appended. FORMAT.md holds the same table and a test compares them.
//
// To add an operation: write its struct, append it to Operation below, and the compiler names every place that must
// handle it (std::visit without a default).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "format/file_identity.h"

namespace iotape {

// How a number is printed. Says nothing about how it is stored.
enum class NumberStyle : std::uint8_t { kDecimal, kOctal, kHexadecimal, kSigned };

template <typename Owner, typename Member>
struct FieldDescription {
  std::uint32_t number;  // wire number, unique within the operation, 1..31
  std::string_view name;
  Member Owner::*member;
  NumberStyle style;
};
template <typename Owner, typename Member>
constexpr FieldDescription<Owner, Member> field(std::uint32_t number, std::string_view name, Member Owner::*member,
                                                NumberStyle style = NumberStyle::kDecimal) {
  return {number, name, member, style};
}

// A position inside a file: the explicit offset, or the file offset before the call. -1 where there is none.
struct FilePosition {
  std::int64_t value = -1;
  constexpr bool operator==(const FilePosition&) const = default;
};

// One timespec argument with UTIME_NOW and UTIME_OMIT kept as the kernel spells them in nanoseconds.
struct TimeArgument {
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  constexpr bool operator==(const TimeArgument&) const = default;
};

// Lengths of the segments of a vectored call; empty for the others.
using SegmentLengths = std::vector<std::int64_t>;

struct Open {
  static constexpr std::uint32_t kWireNumber = 1;
  PathArgument path;
  std::int64_t flags = 0;
  std::int64_t mode = 0;
  std::int64_t resolve = 0;  // openat2
  FileReference opened;      // what the new descriptor stands for; unknown when the call failed
  static constexpr auto fields() {
    return std::tuple(field(1, "path", &Open::path), field(2, "flags", &Open::flags, NumberStyle::kOctal),
                      field(3, "mode", &Open::mode, NumberStyle::kOctal),
                      field(4, "resolve", &Open::resolve, NumberStyle::kHexadecimal),
                      field(5, "opened", &Open::opened));
  }
};

struct Close {
  static constexpr std::uint32_t kWireNumber = 2;
  Descriptor descriptor;
  static constexpr auto fields() { return std::tuple(field(1, "fd", &Close::descriptor)); }
};

struct CloseRange {
  static constexpr std::uint32_t kWireNumber = 3;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t flags = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "first", &CloseRange::first), field(2, "last", &CloseRange::last),
                      field(3, "flags", &CloseRange::flags, NumberStyle::kHexadecimal));
  }
};

// dup, dup2, dup3 and fcntl(F_DUPFD, F_DUPFD_CLOEXEC). The outcome is the new number.
struct Duplicate {
  static constexpr std::uint32_t kWireNumber = 4;
  Descriptor descriptor;
  std::int64_t target = -1;   // dup2, dup3: the number asked for; F_DUPFD: the least number
  std::int64_t flags = 0;     // dup3
  std::int64_t command = -1;  // fcntl command, -1 for the dup family
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &Duplicate::descriptor),
                      field(2, "target", &Duplicate::target, NumberStyle::kSigned),
                      field(3, "flags", &Duplicate::flags, NumberStyle::kOctal),
                      field(4, "command", &Duplicate::command, NumberStyle::kSigned));
  }
};

// fcntl commands other than duplicating and locking: F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_SETPIPE_SZ, ...
struct ControlDescriptor {
  static constexpr std::uint32_t kWireNumber = 5;
  Descriptor descriptor;
  std::int64_t command = 0;
  std::int64_t argument = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &ControlDescriptor::descriptor), field(2, "command", &ControlDescriptor::command),
                      field(3, "argument", &ControlDescriptor::argument, NumberStyle::kHexadecimal));
  }
};

// flock, and fcntl(F_SETLK, F_SETLKW, F_GETLK and their OFD forms).
struct Lock {
  static constexpr std::uint32_t kWireNumber = 6;
  Descriptor descriptor;
  std::int64_t command = 0;  // flock operation or fcntl command
  std::int64_t type = 0;     // F_RDLCK, F_WRLCK, F_UNLCK
  std::int64_t whence = 0;
  std::int64_t start = 0;
  std::int64_t length = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &Lock::descriptor), field(2, "command", &Lock::command),
                      field(3, "type", &Lock::type), field(4, "whence", &Lock::whence),
                      field(5, "start", &Lock::start, NumberStyle::kSigned),
                      field(6, "length", &Lock::length, NumberStyle::kSigned));
  }
};

// read, pread64, readv, preadv, preadv2.
struct Read {
  static constexpr std::uint32_t kWireNumber = 7;
  Descriptor descriptor;
  std::int64_t length = 0;
  FilePosition position;
  SegmentLengths segments;
  std::int64_t flags = 0;  // RWF_*
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &Read::descriptor), field(2, "length", &Read::length),
                      field(3, "position", &Read::position), field(4, "segments", &Read::segments),
                      field(5, "flags", &Read::flags, NumberStyle::kHexadecimal));
  }
};

// write, pwrite64, writev, pwritev, pwritev2.
struct Write {
  static constexpr std::uint32_t kWireNumber = 8;
  Descriptor descriptor;
  std::int64_t length = 0;
  FilePosition position;
  SegmentLengths segments;
  std::int64_t flags = 0;          // RWF_*
  std::int64_t content_hash = 0;   // --content hash; 0 = not taken
  std::int64_t content_ratio = 0;  // --content ratio: compressed size in 1/1000 of the original; 0 = not taken
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &Write::descriptor), field(2, "length", &Write::length),
                      field(3, "position", &Write::position), field(4, "segments", &Write::segments),
                      field(5, "flags", &Write::flags, NumberStyle::kHexadecimal),
                      field(6, "content_hash", &Write::content_hash, NumberStyle::kHexadecimal),
                      field(7, "content_ratio", &Write::content_ratio));
  }
};

struct Seek {
  static constexpr std::uint32_t kWireNumber = 9;
  Descriptor descriptor;
  std::int64_t offset = 0;
  std::int64_t whence = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &Seek::descriptor), field(2, "offset", &Seek::offset, NumberStyle::kSigned),
                      field(3, "whence", &Seek::whence));
  }
};

// sendfile, splice, tee, copy_file_range: bytes from one descriptor to another inside the kernel.
// An explicit offset (a non-NULL pointer) is kept with its value before the call.
struct Transfer {
  static constexpr std::uint32_t kWireNumber = 10;
  Descriptor source;
  FilePosition source_position;
  bool source_explicit = false;
  Descriptor destination;
  FilePosition destination_position;
  bool destination_explicit = false;
  std::int64_t length = 0;
  std::int64_t flags = 0;
  static constexpr auto fields() {
    return std::tuple(
        field(1, "source", &Transfer::source), field(2, "source_position", &Transfer::source_position),
        field(3, "source_explicit", &Transfer::source_explicit), field(4, "destination", &Transfer::destination),
        field(5, "destination_position", &Transfer::destination_position),
        field(6, "destination_explicit", &Transfer::destination_explicit), field(7, "length", &Transfer::length),
        field(8, "flags", &Transfer::flags, NumberStyle::kHexadecimal));
  }
};

struct ReadAhead {
  static constexpr std::uint32_t kWireNumber = 11;
  Descriptor descriptor;
  std::int64_t offset = 0;
  std::int64_t length = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &ReadAhead::descriptor), field(2, "offset", &ReadAhead::offset),
                      field(3, "length", &ReadAhead::length));
  }
};

struct AdviseFile {
  static constexpr std::uint32_t kWireNumber = 12;
  Descriptor descriptor;
  std::int64_t offset = 0;
  std::int64_t length = 0;
  std::int64_t advice = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &AdviseFile::descriptor), field(2, "offset", &AdviseFile::offset),
                      field(3, "length", &AdviseFile::length), field(4, "advice", &AdviseFile::advice));
  }
};

struct TruncatePath {
  static constexpr std::uint32_t kWireNumber = 13;
  PathArgument path;
  std::int64_t length = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "path", &TruncatePath::path),
                      field(2, "length", &TruncatePath::length, NumberStyle::kSigned));
  }
};

struct TruncateDescriptor {
  static constexpr std::uint32_t kWireNumber = 14;
  Descriptor descriptor;
  std::int64_t length = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &TruncateDescriptor::descriptor),
                      field(2, "length", &TruncateDescriptor::length, NumberStyle::kSigned));
  }
};

struct Allocate {
  static constexpr std::uint32_t kWireNumber = 15;
  Descriptor descriptor;
  std::int64_t mode = 0;
  std::int64_t offset = 0;
  std::int64_t length = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &Allocate::descriptor),
                      field(2, "mode", &Allocate::mode, NumberStyle::kHexadecimal),
                      field(3, "offset", &Allocate::offset, NumberStyle::kSigned),
                      field(4, "length", &Allocate::length, NumberStyle::kSigned));
  }
};

// fsync, fdatasync, syncfs.
struct Sync {
  static constexpr std::uint32_t kWireNumber = 16;
  Descriptor descriptor;
  static constexpr auto fields() { return std::tuple(field(1, "fd", &Sync::descriptor)); }
};

struct SyncAll {
  static constexpr std::uint32_t kWireNumber = 17;
  static constexpr auto fields() { return std::tuple(); }
};

struct SyncFileRange {
  static constexpr std::uint32_t kWireNumber = 18;
  Descriptor descriptor;
  std::int64_t offset = 0;
  std::int64_t length = 0;
  std::int64_t flags = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &SyncFileRange::descriptor), field(2, "offset", &SyncFileRange::offset),
                      field(3, "length", &SyncFileRange::length),
                      field(4, "flags", &SyncFileRange::flags, NumberStyle::kHexadecimal));
  }
};

struct MapMemory {
  static constexpr std::uint32_t kWireNumber = 19;
  Descriptor descriptor;  // number -1 for an anonymous mapping
  std::int64_t address = 0;
  std::int64_t length = 0;
  std::int64_t protection = 0;
  std::int64_t flags = 0;
  std::int64_t offset = 0;
  static constexpr auto fields() {
    return std::tuple(
        field(1, "fd", &MapMemory::descriptor), field(2, "address", &MapMemory::address, NumberStyle::kHexadecimal),
        field(3, "length", &MapMemory::length),
        field(4, "protection", &MapMemory::protection, NumberStyle::kHexadecimal),
        field(5, "flags", &MapMemory::flags, NumberStyle::kHexadecimal), field(6, "offset", &MapMemory::offset));
  }
};

// munmap, mremap, mprotect, msync, madvise, mlock and their like: an address range and up to two more numbers
// (mremap: new length, flags; mprotect: protection; msync: flags; madvise: advice).
struct ControlMemory {
  static constexpr std::uint32_t kWireNumber = 20;
  std::int64_t address = 0;
  std::int64_t length = 0;
  std::int64_t argument = 0;
  std::int64_t flags = 0;
  std::int64_t new_address = 0;  // mremap with MREMAP_FIXED
  static constexpr auto fields() {
    return std::tuple(field(1, "address", &ControlMemory::address, NumberStyle::kHexadecimal),
                      field(2, "length", &ControlMemory::length), field(3, "argument", &ControlMemory::argument),
                      field(4, "flags", &ControlMemory::flags, NumberStyle::kHexadecimal),
                      field(5, "new_address", &ControlMemory::new_address, NumberStyle::kHexadecimal));
  }
};

// stat, lstat, newfstatat, statx. What the kernel answered is kept as a FileState (source kStatCall).
struct StatPath {
  static constexpr std::uint32_t kWireNumber = 21;
  PathArgument path;
  std::int64_t flags = 0;
  std::int64_t mask = 0;  // statx
  static constexpr auto fields() {
    return std::tuple(field(1, "path", &StatPath::path), field(2, "flags", &StatPath::flags, NumberStyle::kHexadecimal),
                      field(3, "mask", &StatPath::mask, NumberStyle::kHexadecimal));
  }
};

struct StatDescriptor {
  static constexpr std::uint32_t kWireNumber = 22;
  Descriptor descriptor;
  static constexpr auto fields() { return std::tuple(field(1, "fd", &StatDescriptor::descriptor)); }
};

// access, faccessat, faccessat2.
struct CheckAccess {
  static constexpr std::uint32_t kWireNumber = 23;
  PathArgument path;
  std::int64_t mode = 0;
  std::int64_t flags = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "path", &CheckAccess::path), field(2, "mode", &CheckAccess::mode, NumberStyle::kOctal),
                      field(3, "flags", &CheckAccess::flags, NumberStyle::kHexadecimal));
  }
};

struct StatFilesystemPath {
  static constexpr std::uint32_t kWireNumber = 24;
  PathArgument path;
  static constexpr auto fields() { return std::tuple(field(1, "path", &StatFilesystemPath::path)); }
};

struct StatFilesystemDescriptor {
  static constexpr std::uint32_t kWireNumber = 25;
  Descriptor descriptor;
  static constexpr auto fields() { return std::tuple(field(1, "fd", &StatFilesystemDescriptor::descriptor)); }
};

struct Rename {
  static constexpr std::uint32_t kWireNumber = 26;
  PathArgument from;
  PathArgument to;
  std::int64_t flags = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "from", &Rename::from), field(2, "to", &Rename::to),
                      field(3, "flags", &Rename::flags, NumberStyle::kHexadecimal));
  }
};

struct HardLink {
  static constexpr std::uint32_t kWireNumber = 27;
  PathArgument existing;
  PathArgument created;
  std::int64_t flags = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "existing", &HardLink::existing), field(2, "created", &HardLink::created),
                      field(3, "flags", &HardLink::flags, NumberStyle::kHexadecimal));
  }
};

struct SymbolicLink {
  static constexpr std::uint32_t kWireNumber = 28;
  Text target;
  PathArgument created;
  static constexpr auto fields() {
    return std::tuple(field(1, "target", &SymbolicLink::target), field(2, "created", &SymbolicLink::created));
  }
};

struct ReadLink {
  static constexpr std::uint32_t kWireNumber = 29;
  PathArgument path;
  std::int64_t length = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "path", &ReadLink::path), field(2, "length", &ReadLink::length));
  }
};

// unlink, unlinkat (with AT_REMOVEDIR too), rmdir.
struct Unlink {
  static constexpr std::uint32_t kWireNumber = 30;
  PathArgument path;
  std::int64_t flags = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "path", &Unlink::path), field(2, "flags", &Unlink::flags, NumberStyle::kHexadecimal));
  }
};

struct MakeDirectory {
  static constexpr std::uint32_t kWireNumber = 31;
  PathArgument path;
  std::int64_t mode = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "path", &MakeDirectory::path),
                      field(2, "mode", &MakeDirectory::mode, NumberStyle::kOctal));
  }
};

struct MakeNode {
  static constexpr std::uint32_t kWireNumber = 32;
  PathArgument path;
  std::int64_t mode = 0;
  std::int64_t device = 0;  // as passed, in userspace's encoding
  static constexpr auto fields() {
    return std::tuple(field(1, "path", &MakeNode::path), field(2, "mode", &MakeNode::mode, NumberStyle::kOctal),
                      field(3, "device", &MakeNode::device, NumberStyle::kHexadecimal));
  }
};

// getdents, getdents64.
struct ReadDirectory {
  static constexpr std::uint32_t kWireNumber = 33;
  Descriptor descriptor;
  std::int64_t length = 0;
  FilePosition position;  // the directory cookie before the call
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &ReadDirectory::descriptor), field(2, "length", &ReadDirectory::length),
                      field(3, "position", &ReadDirectory::position));
  }
};

struct GetWorkingDirectory {
  static constexpr std::uint32_t kWireNumber = 34;
  std::int64_t length = 0;
  static constexpr auto fields() { return std::tuple(field(1, "length", &GetWorkingDirectory::length)); }
};

// chdir, chroot.
struct ChangeDirectoryPath {
  static constexpr std::uint32_t kWireNumber = 35;
  PathArgument path;
  static constexpr auto fields() { return std::tuple(field(1, "path", &ChangeDirectoryPath::path)); }
};

struct ChangeDirectoryDescriptor {
  static constexpr std::uint32_t kWireNumber = 36;
  Descriptor descriptor;
  static constexpr auto fields() { return std::tuple(field(1, "fd", &ChangeDirectoryDescriptor::descriptor)); }
};

// chmod, fchmodat, fchmodat2.
struct ChangeModePath {
  static constexpr std::uint32_t kWireNumber = 37;
  PathArgument path;
  std::int64_t mode = 0;
  std::int64_t flags = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "path", &ChangeModePath::path),
                      field(2, "mode", &ChangeModePath::mode, NumberStyle::kOctal),
                      field(3, "flags", &ChangeModePath::flags, NumberStyle::kHexadecimal));
  }
};

struct ChangeModeDescriptor {
  static constexpr std::uint32_t kWireNumber = 38;
  Descriptor descriptor;
  std::int64_t mode = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &ChangeModeDescriptor::descriptor),
                      field(2, "mode", &ChangeModeDescriptor::mode, NumberStyle::kOctal));
  }
};

// chown, lchown, fchownat. user or group -1 leaves it as it is.
struct ChangeOwnerPath {
  static constexpr std::uint32_t kWireNumber = 39;
  PathArgument path;
  std::int64_t user = 0;
  std::int64_t group = 0;
  std::int64_t flags = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "path", &ChangeOwnerPath::path),
                      field(2, "user", &ChangeOwnerPath::user, NumberStyle::kSigned),
                      field(3, "group", &ChangeOwnerPath::group, NumberStyle::kSigned),
                      field(4, "flags", &ChangeOwnerPath::flags, NumberStyle::kHexadecimal));
  }
};

struct ChangeOwnerDescriptor {
  static constexpr std::uint32_t kWireNumber = 40;
  Descriptor descriptor;
  std::int64_t user = 0;
  std::int64_t group = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &ChangeOwnerDescriptor::descriptor),
                      field(2, "user", &ChangeOwnerDescriptor::user, NumberStyle::kSigned),
                      field(3, "group", &ChangeOwnerDescriptor::group, NumberStyle::kSigned));
  }
};

// utime, utimes, futimesat, utimensat. path.state is kNull for utimensat(fd, NULL, ...).
struct SetTimes {
  static constexpr std::uint32_t kWireNumber = 41;
  PathArgument path;
  bool now = false;  // the times pointer was NULL
  TimeArgument access;
  TimeArgument modification;
  std::int64_t flags = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "path", &SetTimes::path), field(2, "now", &SetTimes::now),
                      field(3, "access", &SetTimes::access), field(4, "modification", &SetTimes::modification),
                      field(5, "flags", &SetTimes::flags, NumberStyle::kHexadecimal));
  }
};

struct SetFileCreationMask {
  static constexpr std::uint32_t kWireNumber = 42;
  std::int64_t mask = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "mask", &SetFileCreationMask::mask, NumberStyle::kOctal));
  }
};

// setxattr, lsetxattr, setxattrat. The value's bytes are kept up to the recorder's limit.
struct SetXattrPath {
  static constexpr std::uint32_t kWireNumber = 43;
  PathArgument path;
  Text name;
  Text value;
  std::int64_t size = 0;
  std::int64_t flags = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "path", &SetXattrPath::path), field(2, "name", &SetXattrPath::name),
                      field(3, "value", &SetXattrPath::value), field(4, "size", &SetXattrPath::size),
                      field(5, "flags", &SetXattrPath::flags, NumberStyle::kHexadecimal));
  }
};

struct SetXattrDescriptor {
  static constexpr std::uint32_t kWireNumber = 44;
  Descriptor descriptor;
  Text name;
  Text value;
  std::int64_t size = 0;
  std::int64_t flags = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &SetXattrDescriptor::descriptor), field(2, "name", &SetXattrDescriptor::name),
                      field(3, "value", &SetXattrDescriptor::value), field(4, "size", &SetXattrDescriptor::size),
                      field(5, "flags", &SetXattrDescriptor::flags, NumberStyle::kHexadecimal));
  }
};

// getxattr, lgetxattr, getxattrat; also listxattr and removexattr (Syscall::number tells; list has no name).
struct QueryXattrPath {
  static constexpr std::uint32_t kWireNumber = 45;
  PathArgument path;
  Text name;
  std::int64_t size = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "path", &QueryXattrPath::path), field(2, "name", &QueryXattrPath::name),
                      field(3, "size", &QueryXattrPath::size));
  }
};

struct QueryXattrDescriptor {
  static constexpr std::uint32_t kWireNumber = 46;
  Descriptor descriptor;
  Text name;
  std::int64_t size = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &QueryXattrDescriptor::descriptor), field(2, "name", &QueryXattrDescriptor::name),
                      field(3, "size", &QueryXattrDescriptor::size));
  }
};

struct RemoveXattrPath {
  static constexpr std::uint32_t kWireNumber = 47;
  PathArgument path;
  Text name;
  static constexpr auto fields() {
    return std::tuple(field(1, "path", &RemoveXattrPath::path), field(2, "name", &RemoveXattrPath::name));
  }
};

struct RemoveXattrDescriptor {
  static constexpr std::uint32_t kWireNumber = 48;
  Descriptor descriptor;
  Text name;
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &RemoveXattrDescriptor::descriptor),
                      field(2, "name", &RemoveXattrDescriptor::name));
  }
};

// Calls that make descriptors which are not files of a filesystem: pipe, socket, eventfd, memfd_create, epoll_create1,
// inotify_init1, io_uring_setup, ... For pipe and socketpair, first and second are the two new numbers.
struct MakeDescriptor {
  static constexpr std::uint32_t kWireNumber = 49;
  std::int64_t first = -1;
  std::int64_t second = -1;
  std::int64_t flags = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "first", &MakeDescriptor::first, NumberStyle::kSigned),
                      field(2, "second", &MakeDescriptor::second, NumberStyle::kSigned),
                      field(3, "flags", &MakeDescriptor::flags, NumberStyle::kHexadecimal));
  }
};

struct ControlDevice {  // ioctl
  static constexpr std::uint32_t kWireNumber = 50;
  Descriptor descriptor;
  std::int64_t request = 0;
  std::int64_t argument = 0;  // the number itself, or for known requests the value it points to
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &ControlDevice::descriptor),
                      field(2, "request", &ControlDevice::request, NumberStyle::kHexadecimal),
                      field(3, "argument", &ControlDevice::argument, NumberStyle::kHexadecimal));
  }
};

// mount, umount2, pivot_root, swapon, acct, ...: a call on paths that a replay never issues, kept for the record.
struct AdministerPath {
  static constexpr std::uint32_t kWireNumber = 51;
  PathArgument path;
  PathArgument other;
  std::int64_t flags = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "path", &AdministerPath::path), field(2, "other", &AdministerPath::other),
                      field(3, "flags", &AdministerPath::flags, NumberStyle::kHexadecimal));
  }
};

// A call on a descriptor that has no shape of its own above: name_to_handle_at, inotify_add_watch, fsconfig, ...
struct AdministerDescriptor {
  static constexpr std::uint32_t kWireNumber = 52;
  Descriptor descriptor;
  PathArgument path;
  std::int64_t flags = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &AdministerDescriptor::descriptor), field(2, "path", &AdministerDescriptor::path),
                      field(3, "flags", &AdministerDescriptor::flags, NumberStyle::kHexadecimal));
  }
};

// clone, fork, vfork, clone3, execve, unshare, setns, exit, setuid, ...: what they do to contexts is told by Process
// events.
struct ProcessCall {
  static constexpr std::uint32_t kWireNumber = 53;
  std::int64_t flags = 0;
  std::int64_t argument = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "flags", &ProcessCall::flags, NumberStyle::kHexadecimal),
                      field(2, "argument", &ProcessCall::argument, NumberStyle::kHexadecimal));
  }
};

// Any call unknown to this table, or of a foreign ABI (foreign: 1 = i386, 2 = x32): six raw arguments.
struct OtherCall {
  static constexpr std::uint32_t kWireNumber = 54;
  std::int64_t argument0 = 0;
  std::int64_t argument1 = 0;
  std::int64_t argument2 = 0;
  std::int64_t argument3 = 0;
  std::int64_t argument4 = 0;
  std::int64_t argument5 = 0;
  std::int64_t foreign = 0;
  static constexpr auto fields() {
    return std::tuple(field(1, "argument0", &OtherCall::argument0, NumberStyle::kHexadecimal),
                      field(2, "argument1", &OtherCall::argument1, NumberStyle::kHexadecimal),
                      field(3, "argument2", &OtherCall::argument2, NumberStyle::kHexadecimal),
                      field(4, "argument3", &OtherCall::argument3, NumberStyle::kHexadecimal),
                      field(5, "argument4", &OtherCall::argument4, NumberStyle::kHexadecimal),
                      field(6, "argument5", &OtherCall::argument5, NumberStyle::kHexadecimal),
                      field(7, "foreign", &OtherCall::foreign));
  }
};

// Room kept in version 1 for what later recorders capture.

// Pages of a mapping that were read in or dirtied without a system call.
struct TouchMapping {
  static constexpr std::uint32_t kWireNumber = 55;
  FileReference file;
  std::int64_t page = 0;  // in units of 4,096 bytes
  std::int64_t count = 0;
  bool dirtied = false;
  static constexpr auto fields() {
    return std::tuple(field(1, "file", &TouchMapping::file), field(2, "page", &TouchMapping::page),
                      field(3, "count", &TouchMapping::count), field(4, "dirtied", &TouchMapping::dirtied));
  }
};

// A descriptor that arrived from another process (SCM_RIGHTS, pidfd_getfd).
struct ReceiveDescriptor {
  static constexpr std::uint32_t kWireNumber = 56;
  Descriptor descriptor;
  std::int64_t sender = 0;
  std::int64_t sender_number = -1;
  static constexpr auto fields() {
    return std::tuple(field(1, "fd", &ReceiveDescriptor::descriptor), field(2, "sender", &ReceiveDescriptor::sender),
                      field(3, "sender_fd", &ReceiveDescriptor::sender_number, NumberStyle::kSigned));
  }
};

using Operation =
    std::variant<Open, Close, CloseRange, Duplicate, ControlDescriptor, Lock, Read, Write, Seek, Transfer, ReadAhead,
                 AdviseFile, TruncatePath, TruncateDescriptor, Allocate, Sync, SyncAll, SyncFileRange, MapMemory,
                 ControlMemory, StatPath, StatDescriptor, CheckAccess, StatFilesystemPath, StatFilesystemDescriptor,
                 Rename, HardLink, SymbolicLink, ReadLink, Unlink, MakeDirectory, MakeNode, ReadDirectory,
                 GetWorkingDirectory, ChangeDirectoryPath, ChangeDirectoryDescriptor, ChangeModePath,
                 ChangeModeDescriptor, ChangeOwnerPath, ChangeOwnerDescriptor, SetTimes, SetFileCreationMask,
                 SetXattrPath, SetXattrDescriptor, QueryXattrPath, QueryXattrDescriptor, RemoveXattrPath,
                 RemoveXattrDescriptor, MakeDescriptor, ControlDevice, AdministerPath, AdministerDescriptor,
                 ProcessCall, OtherCall, TouchMapping, ReceiveDescriptor>;
inline constexpr std::size_t kOperationCount = std::variant_size_v<Operation>;

// Calls visit(field description, member) for each stored argument of an operation, in wire order.
template <typename Op, typename Visitor>
constexpr void for_each_field(Op& operation, Visitor&& visit) {
  std::apply([&](const auto&... description) { (visit(description, operation.*(description.member)), ...); },
             std::remove_const_t<Op>::fields());
}

}  // namespace iotape
