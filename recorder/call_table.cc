#include "recorder/call_table.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>
#include <utility>

#include "format/syscall_table.h"

namespace iotape {
namespace {

using View = CallView;
constexpr std::int64_t kNoDirectory = kAtCurrentDirectory;

// ---- pieces ----

Descriptor descriptor(const View& v, unsigned index, FileReference file) {
  return {static_cast<std::int32_t>(v.fixed.args[index]), file};
}
Descriptor fd(const View& v, unsigned index = 0) { return descriptor(v, index, v.file); }

PathArgument path_in(Text text, std::int64_t directory, FileReference file) {
  return {text.state, std::move(text.bytes), {static_cast<std::int32_t>(directory), file}};
}
PathArgument path_a(View& v, std::int64_t directory = kNoDirectory) {
  return path_in(std::move(v.text_a), directory, v.file);
}
// The second path with a directory of its own.
PathArgument path_b(View& v, std::int64_t directory) { return path_in(std::move(v.text_b), directory, v.file_b); }
// The second path of a call that knows only the working directory.
PathArgument path_b_here(View& v) { return path_in(std::move(v.text_b), kNoDirectory, v.file); }

FilePosition position(std::int64_t value) { return {value}; }
FilePosition position_of_file(const View& v) { return {v.fixed.position}; }

TimeArgument seconds(std::int64_t value) { return {value, 0}; }
// Beside UTIME_NOW and UTIME_OMIT the kernel ignores the seconds, and programs leave whatever was on the stack there.
TimeArgument timespec_of(std::int64_t whole, std::int64_t nano) {
  return {nano == UTIME_NOW || nano == UTIME_OMIT ? 0 : whole, nano};
}
TimeArgument microseconds(std::int64_t whole, std::int64_t micro) { return {whole, micro * 1000}; }

// ---- open, close, descriptors ----

Operation opened(View& v, PathArgument path, std::int64_t flags, std::int64_t mode, std::int64_t resolve = 0) {
  Open op;
  op.path = std::move(path);
  op.flags = flags;
  // The kernel looks at the mode only when something may be created; what is in the register otherwise is noise.
  op.mode = (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) != 0 ? mode : 0;
  op.resolve = resolve;
  op.opened = v.file_b;
  return op;
}
Operation open_path(View& v) { return opened(v, path_a(v), v.int_arg(1), v.int_arg(2) & 0xFFFF); }
Operation creat_path(View& v) { return opened(v, path_a(v), O_CREAT | O_WRONLY | O_TRUNC, v.int_arg(1) & 0xFFFF); }
Operation open_at(View& v) { return opened(v, path_a(v, v.int_arg(0)), v.int_arg(2), v.int_arg(3) & 0xFFFF); }
Operation open_at2(View& v) { return opened(v, path_a(v, v.int_arg(0)), v.numbers[0], v.numbers[1], v.numbers[2]); }
Operation close_fd(View& v) { return Close{fd(v)}; }
Operation close_many(View& v) { return CloseRange{v.unsigned_arg(0), v.unsigned_arg(1), v.int_arg(2)}; }
Operation dup_any(View& v) { return Duplicate{fd(v), -1, 0, -1}; }
Operation dup_to(View& v) { return Duplicate{fd(v), v.int_arg(1), v.int_arg(2), -1}; }

constexpr bool is_lock_command(std::int64_t command) {
  return command == F_GETLK || command == F_SETLK || command == F_SETLKW || (command >= 36 && command <= 38);
}
Lock lock_from_flock(const View& v) {
  struct Flock {
    std::int16_t type;
    std::int16_t whence;
    std::int32_t padding;
    std::int64_t start;
    std::int64_t length;
  } given{};
  static_assert(sizeof given == 24);
  std::memcpy(&given, v.numbers.data(), sizeof given);
  return Lock{fd(v), v.int_arg(1), given.type, given.whence, given.start, given.length};
}
Operation control_fd(View& v) {
  const std::int64_t command = v.int_arg(1);
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) return Duplicate{fd(v), v.int_arg(2), 0, command};
  if (is_lock_command(command)) return lock_from_flock(v);
  return ControlDescriptor{fd(v), command, v.arg(2)};
}
Operation lock_file(View& v) { return Lock{fd(v), v.int_arg(1), 0, 0, 0, 0}; }

Operation make_with_flags(View&, std::int64_t flags) { return MakeDescriptor{-1, -1, flags}; }
template <unsigned Index>
Operation make_flags_in(View& v) {
  return make_with_flags(v, v.int_arg(Index));
}
Operation make_plain(View& v) { return make_with_flags(v, 0); }
Operation made_pair(const View& v, std::int64_t flags) {
  std::array<std::int32_t, 2> pair{-1, -1};
  if (v.number_bytes >= sizeof pair) std::memcpy(pair.data(), v.numbers.data(), sizeof pair);
  return MakeDescriptor{pair[0], pair[1], flags};
}
Operation make_pipe(View& v) { return made_pair(v, 0); }
Operation make_pipe2(View& v) { return made_pair(v, v.int_arg(1)); }
Operation make_socketpair(View& v) { return made_pair(v, v.int_arg(1)); }

// ---- data ----

template <typename Op>
Operation transfer(View& v, std::int64_t length, FilePosition where, std::int64_t flags = 0) {
  Op op;
  op.descriptor = fd(v);
  op.length = length;
  op.position = where;
  op.segments = std::move(v.segments);
  op.flags = flags;
  return op;
}
std::int64_t total(const SegmentLengths& segments) {
  std::uint64_t sum = 0;
  for (const std::int64_t length : segments) sum += static_cast<std::uint64_t>(length);
  return static_cast<std::int64_t>(sum);
}
template <typename Op>
Operation plain_io(View& v) {
  return transfer<Op>(v, v.arg(2), position_of_file(v));
}
template <typename Op>
Operation positioned_io(View& v) {
  return transfer<Op>(v, v.arg(2), position(v.arg(3)));
}
template <typename Op>
Operation vector_io(View& v) {
  return transfer<Op>(v, total(v.segments), position_of_file(v));
}
template <typename Op>
Operation positioned_vector_io(View& v) {
  return transfer<Op>(v, total(v.segments), position(v.arg(3)));
}
template <typename Op>
Operation positioned_vector_io2(View& v) {
  const bool current = v.arg(3) == -1;
  return transfer<Op>(v, total(v.segments), current ? position_of_file(v) : position(v.arg(3)), v.int_arg(5));
}
Operation seek_fd(View& v) { return Seek{fd(v), v.arg(1), v.int_arg(2)}; }

// The value an offset pointer had before the call: read when it began, or, when its page was not there yet, what it
// holds after the call less what was moved.
FilePosition offset_before(const View& v, unsigned slot) {
  if ((v.have_numbers >> slot & 1U) != 0) return {v.numbers[slot]};
  return {-1};
}
Operation between_files(View& v) {
  Transfer op;
  op.source = descriptor(v, 0, v.file);
  op.source_explicit = v.arg(1) != 0;
  op.source_position = op.source_explicit ? offset_before(v, 0) : position_of_file(v);
  op.destination = descriptor(v, 2, v.file_b);
  op.destination_explicit = v.arg(3) != 0;
  op.destination_position = op.destination_explicit ? offset_before(v, 1) : position(v.numbers[3]);
  op.length = v.arg(4);
  op.flags = v.int_arg(5);
  return op;
}
Operation send_file(View& v) {
  Transfer op;
  op.source = descriptor(v, 1, v.file_b);
  op.source_explicit = v.arg(2) != 0;
  op.source_position = op.source_explicit ? offset_before(v, 0) : position(v.numbers[3]);
  op.destination = descriptor(v, 0, v.file);
  op.destination_position = position_of_file(v);
  op.length = v.arg(3);
  return op;
}
Operation tee_pipe(View& v) {
  Transfer op;
  op.source = descriptor(v, 0, v.file);
  op.destination = descriptor(v, 1, v.file_b);
  op.length = v.arg(2);
  op.flags = v.int_arg(3);
  return op;
}
Operation read_ahead(View& v) { return ReadAhead{fd(v), v.arg(1), v.arg(2)}; }
Operation advise_file(View& v) { return AdviseFile{fd(v), v.arg(1), v.arg(2), v.int_arg(3)}; }
Operation truncate_path(View& v) { return TruncatePath{path_a(v), v.arg(1)}; }
Operation truncate_fd(View& v) { return TruncateDescriptor{fd(v), v.arg(1)}; }
Operation allocate(View& v) { return Allocate{fd(v), v.int_arg(1), v.arg(2), v.arg(3)}; }
Operation sync_fd(View& v) { return Sync{fd(v)}; }
Operation sync_all(View&) { return SyncAll{}; }
Operation sync_range(View& v) { return SyncFileRange{fd(v), v.arg(1), v.arg(2), v.int_arg(3)}; }

// ---- memory ----

Operation map_memory(View& v) {
  return MapMemory{descriptor(v, 4, v.file), v.arg(0), v.arg(1), v.int_arg(2), v.int_arg(3), v.arg(5)};
}
Operation control_memory(View& v) { return ControlMemory{v.arg(0), v.arg(1), v.int_arg(2), 0, 0}; }
Operation remap_memory(View& v) { return ControlMemory{v.arg(0), v.arg(1), v.arg(2), v.int_arg(3), v.arg(4)}; }
Operation remap_pages(View& v) { return ControlMemory{v.arg(0), v.arg(1), v.arg(2), v.int_arg(4), v.arg(3)}; }

// ---- names and attributes ----

Operation stat_path(View& v) { return StatPath{path_a(v), 0, 0}; }
Operation lstat_path(View& v) { return StatPath{path_a(v), AT_SYMLINK_NOFOLLOW, 0}; }
Operation stat_at(View& v) { return StatPath{path_a(v, v.int_arg(0)), v.int_arg(3), 0}; }
Operation statx_at(View& v) { return StatPath{path_a(v, v.int_arg(0)), v.int_arg(2), v.unsigned_arg(3)}; }
Operation stat_fd(View& v) { return StatDescriptor{fd(v)}; }
Operation access_path(View& v) { return CheckAccess{path_a(v), v.int_arg(1), 0}; }
// faccessat takes no flags: a fourth argument is whatever the register held.
Operation access_at(View& v) { return CheckAccess{path_a(v, v.int_arg(0)), v.int_arg(2), 0}; }
Operation access_at2(View& v) { return CheckAccess{path_a(v, v.int_arg(0)), v.int_arg(2), v.int_arg(3)}; }
Operation statfs_path(View& v) { return StatFilesystemPath{path_a(v)}; }
Operation statfs_fd(View& v) { return StatFilesystemDescriptor{fd(v)}; }
template <typename Op>
Operation two_paths(View& v) {
  PathArgument second = path_b_here(v);
  return Op{path_a(v), std::move(second), 0};
}
template <typename Op>
Operation two_paths_at(View& v) {
  PathArgument second = path_b(v, v.int_arg(2));
  return Op{path_a(v, v.int_arg(0)), std::move(second), v.int_arg(4)};
}
Operation symlink_path(View& v) {
  Text target = std::move(v.text_a);
  return SymbolicLink{std::move(target), path_b_here(v)};
}
Operation symlink_at(View& v) {
  Text target = std::move(v.text_a);
  return SymbolicLink{std::move(target), path_in(std::move(v.text_b), v.int_arg(1), v.file)};
}
Operation readlink_path(View& v) { return ReadLink{path_a(v), v.int_arg(2)}; }
Operation readlink_at(View& v) { return ReadLink{path_a(v, v.int_arg(0)), v.int_arg(3)}; }
Operation unlink_path(View& v) { return Unlink{path_a(v), 0}; }
Operation unlink_at(View& v) { return Unlink{path_a(v, v.int_arg(0)), v.int_arg(2)}; }
Operation mkdir_path(View& v) { return MakeDirectory{path_a(v), v.int_arg(1) & 0xFFFF}; }
Operation mkdir_at(View& v) { return MakeDirectory{path_a(v, v.int_arg(0)), v.int_arg(2) & 0xFFFF}; }
Operation mknod_path(View& v) { return MakeNode{path_a(v), v.int_arg(1) & 0xFFFF, v.unsigned_arg(2)}; }
Operation mknod_at(View& v) { return MakeNode{path_a(v, v.int_arg(0)), v.int_arg(2) & 0xFFFF, v.unsigned_arg(3)}; }
Operation read_directory(View& v) { return ReadDirectory{fd(v), v.unsigned_arg(2), position_of_file(v)}; }
Operation get_directory(View& v) { return GetWorkingDirectory{v.arg(1)}; }
Operation change_directory(View& v) { return ChangeDirectoryPath{path_a(v)}; }
Operation change_directory_fd(View& v) { return ChangeDirectoryDescriptor{fd(v)}; }
Operation chmod_path(View& v) { return ChangeModePath{path_a(v), v.int_arg(1) & 0xFFFF, 0}; }
// fchmodat takes no flags in the kernel; fchmodat2 does.
Operation chmod_at(View& v) { return ChangeModePath{path_a(v, v.int_arg(0)), v.int_arg(2) & 0xFFFF, 0}; }
Operation chmod_at2(View& v) { return ChangeModePath{path_a(v, v.int_arg(0)), v.int_arg(2) & 0xFFFF, v.int_arg(3)}; }
Operation chmod_fd(View& v) { return ChangeModeDescriptor{fd(v), v.int_arg(1) & 0xFFFF}; }
Operation chown_path(View& v) { return ChangeOwnerPath{path_a(v), v.int_arg(1), v.int_arg(2), 0}; }
Operation lchown_path(View& v) { return ChangeOwnerPath{path_a(v), v.int_arg(1), v.int_arg(2), AT_SYMLINK_NOFOLLOW}; }
Operation chown_at(View& v) {
  return ChangeOwnerPath{path_a(v, v.int_arg(0)), v.int_arg(2), v.int_arg(3), v.int_arg(4)};
}
Operation chown_fd(View& v) { return ChangeOwnerDescriptor{fd(v), v.int_arg(1), v.int_arg(2)}; }

Operation set_times(View& v, PathArgument path, bool now, bool micro, std::int64_t flags) {
  SetTimes op;
  op.path = std::move(path);
  op.now = now;
  op.flags = flags;
  const auto& n = v.numbers;
  op.access = micro ? microseconds(n[0], n[1]) : timespec_of(n[0], n[1]);
  op.modification = micro ? microseconds(n[2], n[3]) : timespec_of(n[2], n[3]);
  return op;
}
Operation utime_path(View& v) {
  SetTimes op;
  op.path = path_a(v);
  op.now = v.arg(1) == 0;
  op.access = seconds(v.numbers[0]);
  op.modification = seconds(v.numbers[1]);
  return op;
}
Operation utimes_path(View& v) { return set_times(v, path_a(v), v.arg(1) == 0, true, 0); }
Operation utimes_at(View& v) { return set_times(v, path_a(v, v.int_arg(0)), v.arg(2) == 0, true, 0); }
Operation utimens_at(View& v) { return set_times(v, path_a(v, v.int_arg(0)), v.arg(2) == 0, false, v.int_arg(3)); }
Operation set_mask(View& v) { return SetFileCreationMask{v.int_arg(0)}; }

// ---- extended attributes ----

Operation set_xattr_path(View& v) {
  return SetXattrPath{path_a(v), std::move(v.text_b), std::move(v.value), v.arg(3), v.int_arg(4)};
}
Operation set_xattr_fd(View& v) {
  return SetXattrDescriptor{fd(v), std::move(v.text_b), std::move(v.value), v.arg(3), v.int_arg(4)};
}
Operation set_xattr_at(View& v) {
  constexpr std::uint64_t kLow = 0xFFFFFFFF;
  const auto size_and_flags = static_cast<std::uint64_t>(v.numbers[1]);
  return SetXattrPath{path_a(v, v.int_arg(0)), std::move(v.text_b), std::move(v.value),
                      static_cast<std::int64_t>(size_and_flags & kLow),
                      static_cast<std::int64_t>(size_and_flags >> 32U)};
}
Operation get_xattr_path(View& v) { return QueryXattrPath{path_a(v), std::move(v.text_b), v.arg(3)}; }
Operation get_xattr_fd(View& v) { return QueryXattrDescriptor{fd(v), std::move(v.text_b), v.arg(3)}; }
Operation get_xattr_at(View& v) {
  return QueryXattrPath{path_a(v, v.int_arg(0)), std::move(v.text_b), v.numbers[1] & 0xFFFFFFFF};
}
Text no_name() { return {TextState::kNull, {}}; }
Operation list_xattr_path(View& v) { return QueryXattrPath{path_a(v), no_name(), v.arg(2)}; }
Operation list_xattr_fd(View& v) { return QueryXattrDescriptor{fd(v), no_name(), v.arg(2)}; }
Operation list_xattr_at(View& v) { return QueryXattrPath{path_a(v, v.int_arg(0)), no_name(), v.arg(4)}; }
Operation remove_xattr_path(View& v) { return RemoveXattrPath{path_a(v), std::move(v.text_b)}; }
Operation remove_xattr_fd(View& v) { return RemoveXattrDescriptor{fd(v), std::move(v.text_b)}; }
Operation remove_xattr_at(View& v) { return RemoveXattrPath{path_a(v, v.int_arg(0)), std::move(v.text_b)}; }

// ---- the rest ----

Operation control_device(View& v) {
  const bool pointed = v.number_bytes >= sizeof(std::int64_t);
  std::int64_t argument = v.arg(2);
  if (pointed) argument = static_cast<std::int64_t>(static_cast<std::uint32_t>(v.numbers[0]));
  return ControlDevice{fd(v), v.unsigned_arg(1), argument};
}
template <int Flags>
Operation administer_path(View& v) {
  if constexpr (Flags < 0)
    return AdministerPath{path_a(v), {}, 0};
  else
    return AdministerPath{path_a(v), {}, v.unsigned_arg(Flags)};
}
template <int Flags>
Operation administer_at(View& v) {
  return AdministerPath{path_a(v, v.int_arg(0)), {}, v.unsigned_arg(Flags)};
}
Operation mount_filesystem(View& v) {
  PathArgument source = path_b_here(v);
  return AdministerPath{path_a(v), std::move(source), v.arg(3)};
}
Operation pivot(View& v) {
  PathArgument old = path_b_here(v);
  return AdministerPath{path_a(v), std::move(old), 0};
}
Operation move_a_mount(View& v) {
  PathArgument target = path_b(v, v.int_arg(2));
  return AdministerPath{path_a(v, v.int_arg(0)), std::move(target), v.unsigned_arg(4)};
}
template <unsigned Flags>
Operation administer_fd(View& v) {
  return AdministerDescriptor{fd(v), {TextState::kNull, {}, {}}, v.unsigned_arg(Flags)};
}
Operation name_to_handle(View& v) {
  return AdministerDescriptor{fd(v), path_in(std::move(v.text_a), v.int_arg(0), v.file), v.int_arg(4)};
}
Operation watch_path(View& v) {
  return AdministerDescriptor{fd(v), path_in(std::move(v.text_a), kNoDirectory, v.file_b), v.unsigned_arg(2)};
}
Operation mark_path(View& v) {
  return AdministerDescriptor{fd(v), path_in(std::move(v.text_a), v.int_arg(3), v.file_b), v.unsigned_arg(1)};
}
// -1: the call has no such argument.
template <int Argument>
std::int64_t argument_if_any(View& v) {
  if constexpr (Argument < 0)
    return 0;
  else
    return v.arg(Argument);
}
template <int Flags, int Argument>
Operation process_call(View& v) {
  return ProcessCall{argument_if_any<Flags>(v), argument_if_any<Argument>(v)};
}
// For identities: -1 means "leave", as a 32-bit number.
template <int Flags, int Argument>
Operation process_ids(View& v) {
  return ProcessCall{Flags < 0 ? 0 : v.int_arg(Flags < 0 ? 0 : Flags), v.int_arg(Argument)};
}
Operation clone_three(View& v) { return ProcessCall{v.numbers[0], 0}; }

// ---- shapes, spelt short ----

constexpr wire_shape take(std::uint8_t arguments, std::uint8_t extra = 0) {
  return {1, arguments, 0, 0, 0, 0, 0, extra};
}
constexpr wire_shape on_fd(std::uint8_t arguments, std::uint8_t extra = 0) {
  return {1, arguments, 1, 0, 0, 0, 0, extra};
}
constexpr wire_shape here(std::uint8_t arguments, std::uint8_t extra = 0) {
  return {1, arguments, WIRE_FILE_CWD, 0, 0, 1, 0, extra};
}
constexpr wire_shape at(std::uint8_t arguments, std::uint8_t extra = 0) { return {1, arguments, 1, 0, 0, 2, 0, extra}; }
constexpr wire_shape here_named(std::uint8_t arguments, std::uint8_t extra = 0) {
  return {1, arguments, WIRE_FILE_CWD, 0, 0, 1, 2, extra};
}
constexpr wire_shape fd_named(std::uint8_t arguments, std::uint8_t extra = 0) {
  return {1, arguments, 1, 0, 0, 0, 2, extra};
}
constexpr wire_shape at_named(std::uint8_t arguments, std::uint8_t extra = 0) {
  return {1, arguments, 1, 0, 0, 2, 4, extra};
}
constexpr wire_shape both_here(std::uint8_t arguments, std::uint8_t first = 1, std::uint8_t second = 2) {
  return {1, arguments, WIRE_FILE_CWD, 0, 0, first, second, 0};
}
constexpr wire_shape both_at(std::uint8_t arguments) { return {1, arguments, 1, 3, 0, 2, 4, 0}; }
constexpr wire_shape kRaw = take(6);

constexpr CallRow kRows[] = {
    {0, on_fd(3), &plain_io<Read>},
    {1, on_fd(3), &plain_io<Write>},
    {2, here(3, WIRE_EXTRA_OPENED), &open_path},
    {3, on_fd(1), &close_fd},
    {4, here(2, WIRE_EXTRA_STAT), &stat_path},
    {5, on_fd(2, WIRE_EXTRA_STAT), &stat_fd},
    {6, here(2, WIRE_EXTRA_STAT), &lstat_path},
    {8, on_fd(3), &seek_fd},
    {9, {1, 6, 5, 0, 0, 0, 0, 0}, &map_memory},
    {10, take(3), &control_memory},
    {11, take(2), &control_memory},
    {16, on_fd(3, WIRE_EXTRA_IOCTL), &control_device},
    {17, on_fd(4), &positioned_io<Read>},
    {18, on_fd(4), &positioned_io<Write>},
    {19, on_fd(3, WIRE_EXTRA_SEGMENTS), &vector_io<Read>},
    {20, on_fd(3, WIRE_EXTRA_SEGMENTS), &vector_io<Write>},
    {21, here(2), &access_path},
    {22, take(1, WIRE_EXTRA_PAIR), &make_pipe},
    {25, take(5), &remap_memory},
    {26, take(3), &control_memory},
    {27, take(3), &control_memory},
    {28, take(3), &control_memory},
    {32, on_fd(1), &dup_any},
    {33, on_fd(2), &dup_to},
    {40, {1, 4, 1, 2, 0, 0, 0, WIRE_EXTRA_OFFSET}, &send_file},
    {41, take(3), &make_flags_in<1>},
    {43, take(3), &make_plain},
    {46, kRaw, &build_other},
    {47, kRaw, &build_other},
    {53, take(4, WIRE_EXTRA_SOCKETPAIR), &make_socketpair},
    {56, take(1), &process_call<0, -1>},
    {57, take(0), &process_call<-1, -1>},
    {58, take(0), &process_call<-1, -1>},
    {59, take(0), &process_call<-1, -1>},
    {60, take(1), &process_ids<-1, 0>},
    {72, on_fd(3, WIRE_EXTRA_FLOCK), &control_fd},
    {73, on_fd(2), &lock_file},
    {74, on_fd(1), &sync_fd},
    {75, on_fd(1), &sync_fd},
    {76, here(2), &truncate_path},
    {77, on_fd(2), &truncate_fd},
    {78, on_fd(3), &read_directory},
    {79, take(2), &get_directory},
    {80, here(1), &change_directory},
    {81, on_fd(1), &change_directory_fd},
    {82, both_here(2), &two_paths<Rename>},
    {83, here(2), &mkdir_path},
    {84, here(1), &unlink_path},
    {85, here(2, WIRE_EXTRA_OPENED), &creat_path},
    {86, both_here(2), &two_paths<HardLink>},
    {87, here(1), &unlink_path},
    {88, both_here(2), &symlink_path},
    {89, here(3), &readlink_path},
    {90, here(2), &chmod_path},
    {91, on_fd(2), &chmod_fd},
    {92, here(3), &chown_path},
    {93, on_fd(3), &chown_fd},
    {94, here(3), &lchown_path},
    {95, take(1), &set_mask},
    {105, take(1), &process_ids<-1, 0>},
    {106, take(1), &process_ids<-1, 0>},
    {113, take(2), &process_ids<1, 0>},
    {114, take(2), &process_ids<1, 0>},
    {116, take(1), &process_ids<-1, 0>},
    {117, take(3), &process_ids<1, 0>},
    {119, take(3), &process_ids<1, 0>},
    {122, take(1), &process_ids<-1, 0>},
    {123, take(1), &process_ids<-1, 0>},
    {126, take(0), &process_call<-1, -1>},
    {132, here(2, WIRE_EXTRA_UTIMBUF), &utime_path},
    {133, here(3), &mknod_path},
    {134, here(1), &administer_path<-1>},
    {136, kRaw, &build_other},
    {137, here(1), &statfs_path},
    {138, on_fd(1), &statfs_fd},
    {149, take(2), &control_memory},
    {150, take(2), &control_memory},
    {151, kRaw, &build_other},
    {152, kRaw, &build_other},
    {155, both_here(2), &pivot},
    {160, take(1), &process_ids<-1, 0>},
    {161, here(1), &change_directory},
    {162, take(0), &sync_all},
    {163, here(1), &administer_path<-1>},
    {165, both_here(4, 2, 1), &mount_filesystem},
    {166, here(2), &administer_path<1>},
    {167, here(2), &administer_path<1>},
    {168, here(1), &administer_path<-1>},
    {179, {1, 2, WIRE_FILE_CWD, 0, 0, 2, 0, 0}, &administer_path<0>},
    {187, on_fd(3), &read_ahead},
    {188, here_named(5, WIRE_EXTRA_VALUE), &set_xattr_path},
    {189, here_named(5, WIRE_EXTRA_VALUE), &set_xattr_path},
    {190, fd_named(5, WIRE_EXTRA_VALUE), &set_xattr_fd},
    {191, here_named(4), &get_xattr_path},
    {192, here_named(4), &get_xattr_path},
    {193, fd_named(4), &get_xattr_fd},
    {194, here(3), &list_xattr_path},
    {195, here(3), &list_xattr_path},
    {196, on_fd(3), &list_xattr_fd},
    {197, here_named(2), &remove_xattr_path},
    {198, here_named(2), &remove_xattr_path},
    {199, fd_named(2), &remove_xattr_fd},
    {206, kRaw, &build_other},
    {207, kRaw, &build_other},
    {208, kRaw, &build_other},
    {209, kRaw, &build_other},
    {210, kRaw, &build_other},
    {213, take(0), &make_plain},
    {216, take(5), &remap_pages},
    {217, on_fd(3), &read_directory},
    {221, on_fd(4), &advise_file},
    {231, take(1), &process_ids<-1, 0>},
    {235, here(2, WIRE_EXTRA_TIMEVALS), &utimes_path},
    {251, take(3), &process_ids<-1, 2>},
    {253, take(0), &make_plain},
    {254, {1, 3, 1, WIRE_FILE_CWD, 0, 2, 0, 0}, &watch_path},
    {255, on_fd(2), &administer_fd<1>},
    {257, at(4, WIRE_EXTRA_OPENED), &open_at},
    {258, at(3), &mkdir_at},
    {259, at(4), &mknod_at},
    {260, at(5), &chown_at},
    {261, at(3, WIRE_EXTRA_TIMEVALS_AT), &utimes_at},
    {262, at(4, WIRE_EXTRA_STAT_AT), &stat_at},
    {263, at(3), &unlink_at},
    {264, both_at(4), &two_paths_at<Rename>},
    {265, both_at(5), &two_paths_at<HardLink>},
    {266, {1, 3, 2, 0, 0, 1, 3, 0}, &symlink_at},
    {267, at(4), &readlink_at},
    {268, at(3), &chmod_at},
    {269, at(3), &access_at},
    {272, take(1), &process_call<0, -1>},
    {275, {1, 6, 1, 3, 0, 0, 0, WIRE_EXTRA_OFFSETS}, &between_files},
    {276, {1, 4, 1, 2, 0, 0, 0, 0}, &tee_pipe},
    {277, on_fd(4), &sync_range},
    {278, on_fd(4), &administer_fd<3>},
    {280, at(4, WIRE_EXTRA_TIMESPECS), &utimens_at},
    {282, take(1), &make_plain},
    {283, take(2), &make_flags_in<1>},
    {284, take(1), &make_plain},
    {285, on_fd(4), &allocate},
    {288, take(4), &make_flags_in<3>},
    {289, take(4), &make_flags_in<3>},
    {290, take(2), &make_flags_in<1>},
    {291, take(1), &make_flags_in<0>},
    {292, on_fd(3), &dup_to},
    {293, take(2, WIRE_EXTRA_PAIR), &make_pipe2},
    {294, take(1), &make_flags_in<0>},
    {295, on_fd(4, WIRE_EXTRA_SEGMENTS), &positioned_vector_io<Read>},
    {296, on_fd(4, WIRE_EXTRA_SEGMENTS), &positioned_vector_io<Write>},
    {298, take(5), &make_flags_in<4>},
    {299, kRaw, &build_other},
    {300, take(1), &make_flags_in<0>},
    {301, {1, 4, 1, 4, 0, 5, 0, 0}, &mark_path},
    {302, take(2), &process_ids<-1, 1>},
    {303, at(5), &name_to_handle},
    {304, on_fd(3), &administer_fd<2>},
    {306, on_fd(1), &sync_fd},
    {307, kRaw, &build_other},
    {308, take(2), &process_ids<1, 0>},
    {310, kRaw, &build_other},
    {311, kRaw, &build_other},
    {316, both_at(5), &two_paths_at<Rename>},
    {319, take(2), &make_flags_in<1>},
    {321, take(1), &make_flags_in<0>},
    {322, take(5), &process_ids<4, 0>},
    {323, take(1), &make_flags_in<0>},
    {325, take(3), &control_memory},
    {326, {1, 6, 1, 3, 0, 0, 0, WIRE_EXTRA_OFFSETS}, &between_files},
    {327, on_fd(6, WIRE_EXTRA_SEGMENTS), &positioned_vector_io2<Read>},
    {328, on_fd(6, WIRE_EXTRA_SEGMENTS), &positioned_vector_io2<Write>},
    {332, at(5, WIRE_EXTRA_STATX), &statx_at},
    {333, kRaw, &build_other},
    {425, take(1), &make_plain},
    {426, kRaw, &build_other},
    {427, kRaw, &build_other},
    {428, at(3), &administer_at<2>},
    {429, both_at(5), &move_a_mount},
    {430, take(2), &make_flags_in<1>},
    {431, on_fd(2), &administer_fd<1>},
    {432, on_fd(2), &administer_fd<1>},
    {433, at(3), &administer_at<2>},
    {434, take(2), &make_flags_in<1>},
    {435, take(0, WIRE_EXTRA_CLONE3), &clone_three},
    {436, take(3), &close_many},
    {437, at(4, WIRE_EXTRA_OPENED_HOW), &open_at2},
    {438, take(3), &make_flags_in<2>},
    {439, at(4), &access_at2},
    {440, kRaw, &build_other},
    {442, at(3), &administer_at<2>},
    {443, on_fd(2), &administer_fd<1>},
    {444, take(3), &make_flags_in<2>},
    {445, kRaw, &build_other},
    {446, kRaw, &build_other},
    {447, take(1), &make_flags_in<0>},
    {451, on_fd(4), &administer_fd<3>},
    {452, at(4), &chmod_at2},
    {453, kRaw, &build_other},
    {457, kRaw, &build_other},
    {458, kRaw, &build_other},
    {462, take(3), &control_memory},
    {463, {1, 6, 1, 0, 0, 2, 4, WIRE_EXTRA_XATTRAT}, &set_xattr_at},
    {464, {1, 6, 1, 0, 0, 2, 4, WIRE_EXTRA_XATTRAT}, &get_xattr_at},
    {465, at(5), &list_xattr_at},
    {466, at_named(4), &remove_xattr_at},
    {467, at(3), &administer_at<2>},
    {468, at(5), &administer_at<4>},
    {469, at(5), &administer_at<4>},
};

using Index = std::array<const CallRow*, kSyscallNumberLimit>;
constexpr Index make_index() {
  Index index{};
  for (const CallRow& row : kRows) index[row.number] = &row;
  return index;
}
constexpr Index kIndex = make_index();

}  // namespace

Operation build_other(CallView& v) {
  const bool i386 = (v.fixed.flags & WIRE_CALL_I386) != 0;
  const bool x32 = (v.fixed.flags & WIRE_CALL_X32) != 0;
  return OtherCall{v.arg(0), v.arg(1), v.arg(2), v.arg(3), v.arg(4), v.arg(5), i386 ? 1 : x32 ? 2 : 0};
}

const CallRow* call_row(std::uint32_t number) { return number < kIndex.size() ? kIndex[number] : nullptr; }
std::span<const CallRow> call_rows() { return kRows; }

void fill_call_shapes(std::span<wire_shape> shapes) {
  for (std::uint32_t number = 0; number < shapes.size(); ++number) {
    const bool known = number < kSyscallNumberLimit && !syscall_description(number).name.empty();
    // A number nobody has a name for is a call newer than this table: kept with its raw arguments.
    shapes[number] = known ? wire_shape{} : kRaw;
  }
  for (const CallRow& row : kRows) shapes[row.number] = row.shape;
}

}  // namespace iotape
