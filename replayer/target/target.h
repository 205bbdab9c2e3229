// Target: anything that answers filesystem calls: a directory, a kernel filesystem made fresh, the built-in ext3,
// nothing.
//
// Asynchronous: the engine submits calls for threads and takes completions as they come; a target may run them on real
// threads and CLOCK_BOOTTIME or in virtual time. The engine never asks the host's clock, only now().
// At most one call per thread is in flight. Calls of different threads may complete in any order.
//
// Descriptors in a submitted Operation hold the target's own handle numbers (what an Open completed with), never the
// trace's; -1 is a descriptor that is not open (EBADF). That includes the directory of a path argument
// (kAtCurrentDirectory stays), Duplicate::target (an open handle to be replaced, or -1: the target chooses the number,
// whatever the call), CloseRange::first and last, and ControlDevice::argument of FICLONE. ControlMemory::address lies
// within what a MapMemory completed with, else the answer is EINVAL. Absolute paths start at the target's top ("/") or,
// after a chroot, at the thread's own root; nothing outside the target can be named.
//
// ProcessCall means something for three calls only: execve and execveat give the thread its own descriptor table and
// close what is marked close-on-exec; unshare takes CLONE_FILES and CLONE_FS apart. Other ProcessCalls are skipped.
// A target's errno is data (Completion::outcome). An Error means the target itself broke and the replay must stop.
// An operation added to the Operation variant fails to compile in every target that does not handle it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "format/base/result.h"
#include "format/event.h"
#include "format/event_sink.h"
#include "format/trace_header.h"

namespace iotape {

using TargetThread = StrongId<struct TargetThreadTag, std::uint32_t>;

// A thread of the replayed workload. What it shares with its parent follows the recorded clone flags exactly.
struct ThreadStart {
  TargetThread thread;
  ThreadKey recorded;                  // who it was: a target that makes its own requests says by it whose they are
  std::optional<TargetThread> parent;  // absent for the first thread of a process met while it already ran
  bool share_descriptors = false;      // CLONE_FILES: else a copy of the parent's table, or an empty one
  bool share_filesystem = false;       // CLONE_FS: cwd, root, umask
  bool share_memory = false;           // CLONE_VM: which mappings munmap and msync mean
  bool privileged = true;              // was root; false: permission bits bind this thread even when the replay is root
  std::uint32_t umask = 022;           // for a thread without a parent
  std::string working_directory = "/";  // for a thread without a parent; a path inside the target
};

// What the recording knows of the processor's part in a call. A target that simulates a processor spends it.
struct RecordedWork {
  Nanoseconds before;  // the program's own, since its call before; zero when the pace is not to think
  Nanoseconds inside;  // the kernel's, within the call: not what it waited, nor what recording it cost
};

struct TargetCall {
  TargetThread thread;
  std::uint64_t cookie = 0;  // comes back in the completion
  std::uint32_t number = 0;  // x86-64 system call number: which member of the operation's family
  Operation operation;
  Nanoseconds not_before;  // on now()'s clock; a time in the past means at once
  RecordedWork work{};
};

struct Completion {
  TargetThread thread;
  std::uint64_t cookie = 0;
  OpOutcome outcome;
  Nanoseconds start;  // when the call was really issued
  Nanoseconds end;
  Nanoseconds blocked{};                     // of that, how long its thread did not compute
  std::optional<FileReference> opened;       // what a new descriptor stands for, when the target can tell
  std::vector<std::string> directory_names;  // names a ReadDirectory returned, in the target's own order
  // Not kIssued: the target did not issue the call (kRefused, kNotReplayable, kMemoryOnly, ...) and outcome is empty.
  SkipReason skipped = SkipReason::kIssued;
  bool adjusted = false;     // issued in the weaker form the policy allows: other owner, no setuid bit
  bool interrupted = false;  // it waited beyond the target's limit and was interrupted: outcome is EINTR
};

// One thing that has to exist before the first call, in creation order (parents first).
struct InitialNode {
  std::string path;  // inside the target, absolute
  FileKind kind = FileKind::kRegular;
  std::uint32_t mode = 0644;  // permission bits
  std::uint64_t size = 0;
  std::optional<std::uint64_t> allocated;  // bytes on disk where known: less than size leaves a hole at the end
  std::optional<std::uint32_t> user;
  std::optional<std::uint32_t> group;
  std::optional<std::int64_t> modification_time;  // ns since 1970
  std::string link_target;                        // symbolic links
  std::string hard_link_to;                       // another node's path: this is one more name of it
  std::uint64_t special_device = 0;
  std::vector<std::pair<std::string, std::string>> xattrs;
};
using InitialTree = std::vector<InitialNode>;
using PrepareProgress = std::function<void(std::uint64_t nodes_done)>;

enum class Fill : std::uint8_t { kRandom, kZero };

// A machine that exists only as a model.
struct SimulatedMachineFacts {
  std::uint32_t cpus = 1;
  std::uint64_t memory = 0;  // bytes
};

struct TargetFacts {
  std::string description;         // the target fully resolved, e.g. kernel:ext4,size=8G,mkfs=...
  std::string filesystem;          // ext4, xfs, null, ...
  std::optional<DeviceId> device;  // whose block requests belong to the replay
  ClockKind clock = ClockKind::kBootTime;
  bool answers = true;          // false: outcomes mean nothing (null:), compare none
  bool makes_requests = false;  // take_requests gives the device's block requests: no recorder is needed
  std::optional<SimulatedMachineFacts> machine{};  // calls' RecordedWork is spent; results say nothing of this host
  std::vector<std::string> notes;  // what a reader of the figures must know, one sentence each without a period
};

class Target {
 public:
  Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  virtual ~Target() = default;

  [[nodiscard]] virtual TargetFacts facts() const = 0;
  [[nodiscard]] virtual Nanoseconds now() const = 0;

  // The order of a replay: prepare, make_cold (both optional), then threads and calls, then finish. Several replays may
  // follow each other before finish, each with threads of its own and make_cold between them.
  // Makes the initial tree, then syncs it. progress, when set, is told now and then how many nodes are done.
  virtual Result<void> prepare(const InitialTree& tree, const PrepareProgress& progress) = 0;
  Result<void> prepare(const InitialTree& tree) { return prepare(tree, {}); }
  // Writes back and forgets every cached page, inode and dentry of the target; facts().notes says what could not be
  // done. REQUIRES: no thread lives.
  virtual Result<void> make_cold() = 0;

  // REQUIRES: the parent, when there is one, is started and has no call in flight.
  virtual Result<void> start_thread(const ThreadStart& start) = 0;
  // The process and thread that carries out a thread's calls, as the target's block requests name it.
  [[nodiscard]] virtual std::optional<ThreadKey> system_thread(TargetThread) const { return std::nullopt; }
  // REQUIRES: the thread has no call in flight.
  virtual Result<void> end_thread(TargetThread thread) = 0;

  virtual Result<void> submit(TargetCall call) = 0;
  // Waits for the next completion. REQUIRES: a call is in flight.
  virtual Result<Completion> next_completion() = 0;
  // Whether next_completion would give one without waiting. A target that never waits, or whose time stands still while
  // nobody waits, need not say.
  [[nodiscard]] virtual bool has_completion() const { return false; }

  // Of a target that makes_requests: what came so far is forgotten, and from now on they are kept. take_requests gives
  // those that came since the last time (the first time with the DeviceInfo and MountInfo that say what they are, also
  // when it was asked to watch before), and how many.
  virtual Result<void> watch_requests() { return {}; }
  virtual Result<std::uint64_t> take_requests(EventSink& /*sink*/) { return 0; }

  // Bytes in use on the target's filesystem; after finish() what they were before it was let go. nullopt: it has none.
  virtual Result<std::optional<std::uint64_t>> space_used() { return std::nullopt; }

  // After the last completion: syncs (counted as part of the run when sync is true), lets go of everything.
  virtual Result<void> finish(bool sync) = 0;
};

}  // namespace iotape
