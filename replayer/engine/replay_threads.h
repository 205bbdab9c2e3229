// The traced threads as a replay knows them: which target thread carries each, and what its descriptors stand for.
//
// Descriptor tables are data here and real in the target: shared or copied exactly as the recorded clone flags say, in
// both places. The numbers differ: a trace's 5 may be the target's 3.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "format/event.h"
#include "replayer/engine/name_space.h"
#include "replayer/target/target.h"

namespace iotape {

enum class HandleKind : std::uint8_t {
  kTarget,    // open in the target under `number`
  kNotAFile,  // pipe, socket, tty, anonymous
  kExternal,  // a file outside every root
  kLost,      // its opening was not recorded
};

struct Handle {
  HandleKind kind = HandleKind::kLost;
  std::int32_t number = -1;  // in the target; -1 when the replayed open failed where the recorded one did not
  bool close_on_exec = false;
  FileIndex file = kNoFile;
};
using HandleTable = std::unordered_map<std::int32_t, Handle>;

// Recorded file mappings by their start; addresses in the target differ.
struct Mapping {
  std::int64_t length = 0;
  std::int64_t target_address = 0;
  // In thread order: what target_address is relative to, once the call that mapped it has completed.
  std::shared_ptr<std::int64_t> base{};
};
using MappingTable = std::map<std::int64_t, Mapping>;

struct TargetDirectory {  // where a target thread's working directory is
  FileIndex working = kNoFile;
};

struct ReplayThread {
  TargetThread target;
  std::shared_ptr<HandleTable> handles = std::make_shared<HandleTable>();
  std::shared_ptr<TargetDirectory> directory = std::make_shared<TargetDirectory>();
  std::shared_ptr<MappingTable> mappings = std::make_shared<MappingTable>();
  std::optional<ThreadKey> parent;  // who made it, where that was recorded
  bool privileged = true;
  Nanoseconds last_end_recorded;  // when its last issued call (or its own start) ended in the trace ...
  Nanoseconds last_end;           // ... and in the replay
  Nanoseconds skipped_wait;       // what its calls since then that were not issued waited in the trace
  bool in_flight = false;
};

class ReplayThreads {
 public:
  [[nodiscard]] ReplayThread* find(ThreadKey thread);
  // Any thread of the same process, or nullptr.
  [[nodiscard]] ReplayThread* sibling(ThreadKey thread);
  ReplayThread& add(ThreadKey key, ReplayThread thread);
  void remove(ThreadKey thread) { threads_.erase(thread); }
  [[nodiscard]] TargetThread next_target_thread() { return TargetThread(next_++); }
  [[nodiscard]] std::vector<ThreadKey> of_process(ProcessId process) const;
  [[nodiscard]] std::vector<ThreadKey> all() const;
  [[nodiscard]] bool shares_descriptors(const ReplayThread& thread) const { return thread.handles.use_count() > 1; }

 private:
  std::map<ThreadKey, ReplayThread> threads_;
  std::uint32_t next_ = 1;
};

// What a new thread starts with, by CLONE_FILES, CLONE_FS and CLONE_VM.
[[nodiscard]] ReplayThread cloned(const ReplayThread& parent, std::uint64_t clone_flags);

}  // namespace iotape
