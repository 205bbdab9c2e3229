// Event: what a trace consists of. A closed variant; every consumer visits it without a default, so a new kind of event
// fails to compile wherever it is not yet handled. No protobuf here: format/codec turns events into blocks and back.
//
// Units: times are nanoseconds on the clock named in TraceHeader (CLOCK_BOOTTIME for recordings), sectors are 512
// bytes, sizes and offsets are bytes. Strings are raw bytes as the process passed them.
// Order: a trace holds its events in the order in which they ended (Event time, see event_time); two calls that do not
// overlap are therefore always in the order in which they happened, and a blocked call comes after the one that freed
// it. Ownership: an Event owns all it refers to and can be kept or copied freely.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "format/base/strong_id.h"
#include "format/file_identity.h"
#include "format/op_outcome.h"
#include "format/operations.h"

namespace iotape {

struct ThreadKey {
  ProcessId process;
  ThreadId thread;
  constexpr auto operator<=>(const ThreadKey&) const = default;
};

// ---- system calls ----

enum class CallInterface : std::uint8_t { kSyscall = 0, kIoUring = 1, kAio = 2, kPageFault = 3 };
inline constexpr int kCallInterfaceCount = 4;

// Why a replay did not issue a call. Part of the file format: append only.
enum class SkipReason : std::uint8_t {
  kIssued = 0,
  kNotAFile = 1,        // pipe, socket, tty, anonymous descriptor
  kExternal = 2,        // outside every replay root
  kNotReplayable = 3,   // mounts, ioctls without a meaning elsewhere, foreign ABI, unknown calls
  kProcessOnly = 4,     // fork, exec, exit: replayed as contexts, not as calls
  kMemoryOnly = 5,      // anonymous mappings, mprotect, madvise
  kLostHandle = 6,      // the descriptor was opened while events were being lost
  kRefused = 7,         // the sandbox's policy: device node, setuid, foreign owner, oversized allocation
  kUnresolvedPath = 8,  // the recorder could not read the path
  kNotSelected = 9,     // left out by the replay's own --from, --to, --process, --path, --syscall
};
inline constexpr int kSkipReasonCount = 10;

// In a result trace: which recorded call this one repeats and how well it was repeated.
struct ReplayRecord {
  EventId source;
  Nanoseconds due;  // on this trace's clock
  OpOutcome expected;
  SkipReason skipped = SkipReason::kIssued;
  bool operator==(const ReplayRecord&) const = default;
};

struct Syscall {
  ThreadKey thread;
  std::uint32_t number = 0;  // x86-64 system call number as the process issued it
  CallInterface interface = CallInterface::kSyscall;
  Nanoseconds start;
  Nanoseconds duration;
  Nanoseconds blocked;  // the part of duration spent off the CPU
  OpOutcome outcome;
  bool unfinished = false;  // the thread died or the recording ended inside the call; outcome is meaningless
  Operation operation;
  std::optional<StackId> user_stack;
  std::optional<StackId> kernel_stack;
  std::optional<ReplayRecord> replay;
};

// ---- block requests ----

enum class BlockOperation : std::uint8_t {
  kRead = 0,
  kWrite = 1,
  kFlush = 2,
  kDiscard = 3,
  kSecureErase = 4,
  kWriteZeroes = 5,
  kZoneAppend = 6,
  kZoneManagement = 7,
  kDriver = 8,
  kOther = 9,
};
inline constexpr int kBlockOperationCount = 10;

// Request flags under our own numbers, since the kernel's move between versions. Append only.
enum BlockFlag : std::uint32_t {
  kBlockSync = 1U << 0U,
  kBlockMetadata = 1U << 1U,
  kBlockPriority = 1U << 2U,
  kBlockForceUnitAccess = 1U << 3U,
  kBlockPreflush = 1U << 4U,
  kBlockReadAhead = 1U << 5U,
  kBlockBackground = 1U << 6U,
  kBlockNoWait = 1U << 7U,
  kBlockSwap = 1U << 8U,
  kBlockIdle = 1U << 9U,
  kBlockNoMerge = 1U << 10U,
  kBlockAtomic = 1U << 11U,
};

// What a block holds. The recorder can tell the first four apart; the built-in ext3 knows the rest.
enum class BlockCause : std::uint8_t {
  kUnknown = 0,
  kData = 1,
  kMetadata = 2,
  kJournal = 3,
  kInodeTable = 4,
  kInodeBitmap = 5,
  kBlockBitmap = 6,
  kDirectoryLeaf = 7,
  kHtreeIndex = 8,
  kIndirect = 9,
  kSuperblock = 10,
  kGroupDescriptor = 11,
  kXattr = 12,
  kSwap = 13,
};
inline constexpr int kBlockCauseCount = 14;

// One bio of a request. Parts are attribution and queue-order statistics; they are not counted as events.
struct RequestPart {
  Nanoseconds queue;
  Sectors sector;  // on BlockRequest::device, like the request's own
  std::int64_t bytes = 0;
  std::uint32_t flags = 0;  // BlockFlag
  ThreadKey submitter;      // who called into the block layer: often a kernel thread
  ThreadKey dirtier;        // who last dirtied the file's pages; {0, 0} when unknown
  FileReference file;  // whose pages these are; for metadata the block device's inode is not kept, kind is kUnknown
  std::int64_t file_offset = -1;
  BlockCause cause = BlockCause::kUnknown;
  // When the traced system call that submitted it began; with submitter it names that call. Not an EventId, because
  // the call ends, and is written, after the request it waits for.
  std::optional<Nanoseconds> call_start;
  bool operator==(const RequestPart&) const = default;
};

struct BlockRequest {
  DeviceId device;     // the whole disk
  DeviceId partition;  // where it was queued; equals device when the disk is not partitioned
  BlockOperation operation = BlockOperation::kRead;
  std::uint32_t flags = 0;  // BlockFlag
  Sectors sector;           // from the start of the whole disk
  std::int64_t bytes = 0;
  std::optional<Nanoseconds> issue;     // absent for bio-based devices and for requests already under way
  std::optional<Nanoseconds> complete;  // absent in imported issue-only traces and at the end of a recording
  std::int32_t error = 0;               // errno of the completion
  std::uint32_t requeues = 0;
  std::vector<RequestPart> parts;
};

// ---- processes ----

struct ProcessStart {  // fork, clone, or the first sight of a process that already ran
  Nanoseconds time;
  ThreadKey thread;
  ThreadKey parent;
  std::uint64_t clone_flags = 0;
  bool already_running = false;
  std::string command;  // comm, at most 15 bytes
  bool operator==(const ProcessStart&) const = default;
};

struct ProcessExec {
  Nanoseconds time;
  ThreadKey thread;
  std::string command;
  Text file;                           // by --args: hidden, or as passed
  std::vector<std::string> arguments;  // only with --args all
  bool operator==(const ProcessExec&) const = default;
};

struct ProcessExit {
  Nanoseconds time;
  ThreadKey thread;
  std::int32_t status = 0;  // as wait(2) reports it
  bool whole_process = false;
  bool operator==(const ProcessExit&) const = default;
};

// The context paths are resolved in. Written when a process is first met and whenever it changes.
struct ProcessContext {
  Nanoseconds time;
  ThreadKey thread;
  Location working_directory;
  Location root;
  std::uint32_t umask = 022;
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  bool operator==(const ProcessContext&) const = default;
};

// One descriptor a process held when it was first met.
struct InheritedDescriptor {
  Nanoseconds time;
  ThreadKey thread;
  Descriptor descriptor;
  std::int64_t flags = 0;  // O_*
  std::int64_t offset = 0;
  bool close_on_exec = false;
  std::string path;  // resolved, empty when it has none
  bool operator==(const InheritedDescriptor&) const = default;
};

// ---- files, devices, mounts ----

enum class StateSource : std::uint8_t { kFirstTouch = 0, kStatCall = 1, kRemoval = 2, kSnapshot = 3, kInferred = 4 };
inline constexpr int kStateSourceCount = 5;

// What is known of a file before the run changed it. Absent fields were not seen; zero is a value.
struct FileState {
  Nanoseconds time;
  StateSource source = StateSource::kFirstTouch;
  FileReference file;
  FileReference parent;  // the directory, when known
  std::string name;      // within parent; empty when unknown
  std::string path;      // resolved absolute path, when known
  std::optional<std::uint64_t> size;
  std::optional<std::uint32_t> mode;  // permission bits and type
  std::optional<std::uint32_t> links;
  std::optional<std::uint32_t> user;
  std::optional<std::uint32_t> group;
  std::optional<std::int64_t> modification_time;  // ns since 1970
  std::optional<std::uint64_t> blocks;            // 512-byte units allocated
  std::optional<std::uint64_t> special_device;    // of device nodes
  std::optional<std::string> link_target;
  std::optional<std::uint64_t> directory_position;  // order within the parent, from a snapshot
  std::vector<std::pair<std::string, std::string>> xattrs;
  bool operator==(const FileState&) const = default;
};

struct DeviceInfo {
  DeviceId device;
  DeviceId whole_disk;  // equals device for a disk
  std::string name;     // as in /sys/block, e.g. loop0; never a serial number
  Sectors start;        // of the partition on its disk
  Sectors size;
  bool rotational = false;
  // The disk that holds a loop device's image: its requests come to that disk a second time.
  std::optional<DeviceId> backing{};
  bool operator==(const DeviceInfo&) const = default;
};

struct MountInfo {
  DeviceId device;        // s_dev
  DeviceId block_device;  // what requests are seen on; 0:0 when there is none
  std::string mount_point;
  std::string filesystem;  // ext3, xfs, btrfs, tmpfs, ...
  std::string options;     // without paths and labels
  std::string subtree;     // the directory of the filesystem that is mounted, usually "/"
  std::uint32_t block_size = 0;
  std::optional<std::uint32_t> hash_version;  // ext2/3/4: dx hash, as in the superblock
  std::optional<std::array<std::uint32_t, 4>> hash_seed;
  bool read_only = false;
  bool operator==(const MountInfo&) const = default;
};

// ---- the rest ----

struct Marker {
  Nanoseconds time;
  std::string text;
  bool operator==(const Marker&) const = default;
};

// Part of the file format: append only. What each means is said in FORMAT.md.
enum class LossCause : std::uint8_t {
  kRingFull = 0,         // an event found no room in the ring
  kOrphanExit = 1,       // a call was under way when recording began: its beginning is unknown (not counted as lost)
  kTaskStorage = 2,      // no memory for per-task state
  kRequestMap = 3,       // more block requests in flight than the recorder can pair
  kDamagedBlock = 4,     // a block of the file failed its checksum
  kTruncatedFile = 5,    // the file ends inside a block
  kDiskFull = 6,         // the trace could not be written
  kNotCaptured = 7,      // seen but outside what this recorder captures (io_uring, AIO); not counted as lost
  kMalformedRecord = 8,  // the recorder's own record could not be decoded
  kPartMap = 9,          // parts of requests that could not be kept
};
inline constexpr int kLossCauseCount = 10;

struct Loss {
  LossCause cause = LossCause::kRingFull;
  Nanoseconds first;
  Nanoseconds last;
  std::int32_t cpu = -1;  // -1: not of one CPU
  std::uint64_t count = 0;
  std::string detail;
  bool operator==(const Loss&) const = default;
};

// A call stack, outermost frame last. Referred to by Syscall and written before its first use.
struct Stack {
  StackId id;
  std::vector<std::string> frames;
  bool operator==(const Stack&) const = default;
};

using EventBody = std::variant<Syscall, BlockRequest, ProcessStart, ProcessExec, ProcessExit, ProcessContext,
                               InheritedDescriptor, FileState, DeviceInfo, MountInfo, Marker, Loss, Stack>;

struct Event {
  EventId id;                  // assigned by the writer; the reader gives it back
  std::uint32_t recorder = 0;  // which recorder made it, in merged traces
  EventBody body;
};

// The time an event has in the file's order: when a call ended, when a request completed (or was issued), when the
// fact was noted. Nanoseconds(0) for devices, mounts and stacks, which have none.
[[nodiscard]] Nanoseconds event_time(const EventBody& body);

}  // namespace iotape
