// TraceModel: follows a trace's events and knows, before each call, what its arguments stood for.
//
// Used twice: the survey runs it over the whole trace to learn what existed at the beginning and which directories
// change; the replay runs it again, from that beginning, to translate each call's arguments.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "format/event.h"
#include "format/trace_header.h"
#include "replayer/engine/call_paths.h"
#include "replayer/engine/name_space.h"

namespace iotape {

// What a call's arguments meant at the time of the call.
struct CallTargets {
  CallPaths paths;
  std::array<Resolution, kMaximumPaths> resolved;
  std::array<FileIndex, kMaximumPaths> start{kNoFile, kNoFile};  // what each path was relative to
  CallDescriptors descriptors;
  std::array<FileIndex, kMaximumPaths> file{kNoFile, kNoFile};  // of each descriptor
};

// The directories paths start from. Shared by threads exactly as CLONE_FS says.
struct ProcessDirectories {
  FileIndex working = kNoFile;
  FileIndex root = kTopDirectory;
  std::uint32_t umask = 022;
};

class TraceModel {
 public:
  explicit TraceModel(const TraceHeader& header) : header_(header) {}
  TraceModel(const TraceHeader& header, NameSpace initial) : header_(header), names_(std::move(initial)) {}

  // For events other than Syscall.
  void observe(const EventBody& event);
  // Before the call: resolves its arguments. Makes the directories a successful call proves.
  [[nodiscard]] CallTargets resolve(const Syscall& call);
  // After it: what it proves of the beginning and what it changed.
  void apply(const Syscall& call, const CallTargets& targets);
  // After the last event: takes in what was told of files whose directory never showed where it lies.
  void settle() { take_waiting_states(true); }

  [[nodiscard]] NameSpace& names() { return names_; }
  [[nodiscard]] const NameSpace& names() const { return names_; }
  [[nodiscard]] ProcessDirectories& directories(ThreadKey thread);

 private:
  struct Applier;
  // What a process's descriptor numbers stood for when last seen, as far as they were directories.
  using OpenedDirectories = std::map<std::int32_t, FileReference>;
  void take_state(const FileState& state);
  void take_mount(const MountInfo& mount);
  void take_context(const ProcessContext& context);
  void take_start(const ProcessStart& start);
  FileIndex identified(FileIndex file, const FileReference& reference);
  FileIndex locate(const Location& location);
  FileIndex locate_state(const FileState& state);
  FileIndex path_start(const PathArgument& path, ThreadKey thread);
  void take_waiting_states(bool all);
  void resolve_path(const Syscall& call, std::size_t index, CallTargets& targets);
  void learn_descriptor(ThreadKey thread, const Descriptor& descriptor);

  TraceHeader header_;
  NameSpace names_;
  std::map<ThreadKey, std::shared_ptr<ProcessDirectories>> directories_;
  std::map<ProcessId, OpenedDirectories> opened_directories_;
  std::vector<FileState> waiting_states_;
};

}  // namespace iotape
