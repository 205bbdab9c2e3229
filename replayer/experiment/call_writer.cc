#include "replayer/experiment/call_writer.h"

#include <fcntl.h>

#include <algorithm>

#include "format/syscall_numbers.h"
#include "replayer/experiment/call_costs.h"

namespace iotape {
namespace {

constexpr ThreadKey kProgram{ProcessId(1000), ThreadId(1000)};
constexpr DeviceId kRootDevice = DeviceId::of(8, 1);
constexpr DeviceId kDevice = DeviceId::of(7, 0);
constexpr std::uint64_t kTop = 2;             // the inode of /work and of /
constexpr std::uint64_t kFirstNumbered = 16;  // file 0 of the trace
constexpr std::int32_t kDescriptor = 3;
constexpr std::uint64_t kListBuffer = 32'768;
constexpr std::uint64_t kListedPerCall = 1024;

FileReference reference(std::uint64_t inode, FileKind kind, DeviceId device = kDevice) {
  FileReference made;
  made.identity.device = device;
  made.identity.inode = InodeNumber(inode);
  made.kind = kind;
  return made;
}
FileReference numbered(std::uint64_t file, FileKind kind = FileKind::kRegular) {
  return reference(kFirstNumbered + file, kind);
}

PathArgument below_work(const std::string& path) {
  PathArgument argument;
  argument.bytes = path;
  argument.directory.file = reference(kTop, FileKind::kDirectory);
  return argument;
}

MountInfo mounted(DeviceId device, std::string point) {
  MountInfo mount;
  mount.device = mount.block_device = device;
  mount.mount_point = std::move(point);
  mount.filesystem = "ext3";
  mount.subtree = "/";
  return mount;
}

}  // namespace

void CallWriter::begin() {
  events_.emplace_back(mounted(kRootDevice, "/"));
  events_.emplace_back(mounted(kDevice, "/work"));
  ProcessContext context;
  context.time = time_;
  context.thread = kProgram;
  context.working_directory = {reference(kTop, FileKind::kDirectory), "/work", false};
  context.root = {reference(kTop, FileKind::kDirectory, kRootDevice), "/", false};
  events_.emplace_back(std::move(context));
}

EventBody CallWriter::take() {
  EventBody event = std::move(events_.front());
  events_.pop_front();
  return event;
}

void CallWriter::call(std::uint32_t number, Operation operation, std::int64_t value, std::uint64_t units) {
  Syscall made;
  made.thread = kProgram;
  made.number = number;
  made.start = time_;
  const auto* opening = std::get_if<Open>(&operation);
  made.duration = call_cost(number, units, opening != nullptr && (opening->flags & O_CREAT) != 0);
  made.outcome = {value, 0};
  made.operation = std::move(operation);
  time_ += made.duration;
  events_.emplace_back(std::move(made));
}

std::int32_t CallWriter::open(const std::string& path, FileReference file, std::int64_t flags) {
  Open open;
  open.path = below_work(path);
  open.flags = flags;
  open.mode = (flags & O_CREAT) != 0 ? 0644 : 0;
  open.opened = file;
  call(call_number::openat, std::move(open), kDescriptor);
  return kDescriptor;
}
void CallWriter::close(std::int32_t descriptor, FileReference file) {
  call(call_number::close, Close{{descriptor, file}}, 0);
}

void CallWriter::make_directory(const std::string& path) {
  call(call_number::mkdirat, MakeDirectory{below_work(path), 0755}, 0);
}

void CallWriter::make_empty_file(const std::string& path, std::uint64_t file) {
  const FileReference made = numbered(file);
  close(open(path, made, O_WRONLY | O_CREAT | O_EXCL), made);
}

void CallWriter::transfer_all(std::int32_t descriptor, FileReference file, std::uint64_t bytes, std::uint64_t piece,
                              bool write) {
  for (std::uint64_t at = 0; at < bytes; at += piece) {
    const std::uint64_t length = std::min(piece, bytes - at);
    const auto done = static_cast<std::int64_t>(length);
    const FilePosition position{static_cast<std::int64_t>(at)};
    if (write)
      call(call_number::write,
           Write{.descriptor = {descriptor, file}, .length = done, .position = position, .segments = {}}, done,
           length / 1024);
    else
      call(call_number::read,
           Read{.descriptor = {descriptor, file}, .length = done, .position = position, .segments = {}}, done,
           length / 1024);
  }
}

void CallWriter::write_file(const std::string& path, std::uint64_t file, std::uint64_t bytes, std::uint64_t piece) {
  const FileReference made = numbered(file);
  const std::int32_t descriptor = open(path, made, O_WRONLY | O_CREAT | O_EXCL);
  transfer_all(descriptor, made, bytes, piece, true);
  close(descriptor, made);
}

void CallWriter::read_file(const std::string& path, std::uint64_t file, std::uint64_t bytes, std::uint64_t piece) {
  const FileReference read = numbered(file);
  const std::int32_t descriptor = open(path, read, O_RDONLY);
  transfer_all(descriptor, read, bytes, piece, false);
  close(descriptor, read);
}

void CallWriter::stat(const std::string& path) {
  call(call_number::newfstatat, StatPath{.path = below_work(path), .flags = AT_SYMLINK_NOFOLLOW}, 0);
}
void CallWriter::unlink(const std::string& path) { call(call_number::unlinkat, Unlink{below_work(path), 0}, 0); }
void CallWriter::remove_directory(const std::string& path) {
  call(call_number::unlinkat, Unlink{below_work(path), AT_REMOVEDIR}, 0);
}
void CallWriter::rename(const std::string& from, const std::string& to) {
  call(call_number::renameat, Rename{below_work(from), below_work(to), 0}, 0);
}

void CallWriter::list(const std::string& path, std::uint64_t directory, std::uint64_t names) {
  const FileReference listed =
      path == "." ? reference(kTop, FileKind::kDirectory) : numbered(directory, FileKind::kDirectory);
  const std::int32_t descriptor = open(path, listed, O_RDONLY | O_DIRECTORY);
  const std::uint64_t full = names / kListedPerCall + 1;
  for (std::uint64_t i = 0; i <= full; ++i) {
    ReadDirectory read;
    read.descriptor = {descriptor, listed};
    read.length = static_cast<std::int64_t>(kListBuffer);
    call(call_number::getdents64, read, i < full ? static_cast<std::int64_t>(kListBuffer) : 0,
         std::min(names - std::min(names, i * kListedPerCall), kListedPerCall));
  }
  close(descriptor, listed);
}

void CallWriter::sync_filesystem() {
  const FileReference top = reference(kTop, FileKind::kDirectory);
  const std::int32_t descriptor = open(".", top, O_RDONLY | O_DIRECTORY);
  call(call_number::syncfs, Sync{{descriptor, top}}, 0);
  close(descriptor, top);
}

void CallWriter::open_to_write(const std::string& path, std::uint64_t file) {
  Open open;
  open.path = below_work(path);
  open.flags = O_WRONLY | O_CREAT | O_EXCL;
  open.mode = 0644;
  open.opened = numbered(file);
  call(call_number::openat, std::move(open), kDescriptor + 1);
}
void CallWriter::append(std::uint64_t file, std::uint64_t offset, std::uint64_t bytes) {
  const auto length = static_cast<std::int64_t>(bytes);
  const FilePosition position{static_cast<std::int64_t>(offset)};
  call(call_number::write,
       Write{.descriptor = {kDescriptor + 1, numbered(file)}, .length = length, .position = position, .segments = {}},
       length, bytes / 1024);
}
void CallWriter::close_file(std::uint64_t file) { close(kDescriptor + 1, numbered(file)); }

TraceHeader generated_header(const std::string& description) {
  TraceHeader header;
  header.tool_version = IOTAPE_VERSION;
  header.clock = ClockKind::kVirtual;
  header.has_syscalls = true;
  header.source_command = description;
  std::uint64_t state = 0xCBF29CE484222325ULL;  // FNV-1a
  for (auto& byte : header.trace_id) {
    for (const char letter : description) state = (state ^ static_cast<std::uint8_t>(letter)) * 0x100000001B3ULL;
    byte = static_cast<std::uint8_t>(state >> 56U);
  }
  return header;
}

}  // namespace iotape
