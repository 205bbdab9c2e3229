// A target that remembers what it was asked and answers as told, on a virtual clock; and a builder of traces.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>

#include "replayer/engine/initial_tree.h"
#include "replayer/engine/replay_engine.h"
#include "replayer/engine/trace_survey.h"
#include "replayer/target/target.h"

namespace iotape::test {

class FakeTarget final : public Target {
 public:
  // What it answers; by default success, new descriptors counting from 100, bytes as asked for.
  std::function<OpOutcome(const TargetCall&)> answer = [this](const TargetCall& call) { return success(call); };
  Nanoseconds cost{1000};
  Nanoseconds clock{1'000'000};
  std::vector<TargetCall> calls;
  std::vector<ThreadStart> starts;
  std::vector<TargetThread> ended;
  std::size_t most_alive = 0;  // threads at once

  OpOutcome success(const TargetCall& call) {
    if (std::holds_alternative<Open>(call.operation) || std::holds_alternative<Duplicate>(call.operation))
      return {next_handle_++, 0};
    if (const auto* read = std::get_if<Read>(&call.operation)) return {read->length, 0};
    if (const auto* write = std::get_if<Write>(&call.operation)) return {write->length, 0};
    return {0, 0};
  }

  TargetFacts facts() const override {
    return {.description = "fake:",
            .filesystem = "fake",
            .device = {},
            .clock = ClockKind::kVirtual,
            .answers = true,
            .notes = {}};
  }
  Nanoseconds now() const override { return clock; }
  Result<void> prepare(const InitialTree&, const PrepareProgress&) override { return {}; }
  Result<void> make_cold() override { return {}; }
  Result<void> start_thread(const ThreadStart& start) override {
    starts.push_back(start);
    most_alive = std::max(most_alive, starts.size() - ended.size());
    return {};
  }
  Result<void> end_thread(TargetThread thread) override {
    ended.push_back(thread);
    return {};
  }
  Result<void> submit(TargetCall call) override {
    calls.push_back(call);
    pending_.push_back(std::move(call));
    return {};
  }
  // A held call is not completed before release() or before nothing else is left.
  std::function<bool(const TargetCall&)> hold = [](const TargetCall&) { return false; };
  bool newest_first = false;
  // A refused call is not issued.
  std::function<bool(const TargetCall&)> refuse = [](const TargetCall&) { return false; };
  // Breaks the target instead of completing a call.
  std::function<Result<void>()> broken = []() -> Result<void> { return {}; };
  Result<Completion> next_completion() override {
    IOTAPE_TRY(broken());
    if (pending_.empty()) return failure(ErrorCode::kIo, "nothing is in flight");
    auto chosen = std::find_if(pending_.begin(), pending_.end(), [&](const TargetCall& call) { return !hold(call); });
    if (chosen == pending_.end()) chosen = pending_.begin();
    if (newest_first) chosen = std::prev(pending_.end());
    TargetCall call = std::move(*chosen);
    pending_.erase(chosen);
    Completion done;
    done.thread = call.thread;
    done.cookie = call.cookie;
    done.start = std::max(clock, call.not_before);
    done.end = done.start + cost;
    if (refuse(call)) {
      done.skipped = SkipReason::kRefused;
      return done;
    }
    done.outcome = answer(call);
    clock = done.end;
    return done;
  }
  Result<void> finish(bool) override { return {}; }

  template <typename Op>
  [[nodiscard]] std::vector<Op> of() const {
    std::vector<Op> found;
    for (const TargetCall& call : calls)
      if (const auto* op = std::get_if<Op>(&call.operation)) found.push_back(*op);
    return found;
  }

 private:
  std::int64_t next_handle_ = 100;
  std::deque<TargetCall> pending_;
};

inline constexpr ThreadKey kOne{ProcessId(10), ThreadId(10)};
inline constexpr ThreadKey kTwo{ProcessId(20), ThreadId(20)};
inline constexpr DeviceId kDisk = DeviceId::of(7, 0);

inline FileReference file_of(std::uint64_t inode, FileKind kind, DeviceId device = kDisk) {
  FileReference reference;
  reference.identity.device = device;
  reference.identity.inode = InodeNumber(inode);
  reference.kind = kind;
  return reference;
}
inline FileReference directory_of(std::uint64_t inode) { return file_of(inode, FileKind::kDirectory); }
inline FileReference regular_of(std::uint64_t inode) { return file_of(inode, FileKind::kRegular); }
inline Descriptor fd(std::int32_t number, FileReference file) { return {number, file}; }
inline PathArgument at(std::string bytes, std::int32_t number, FileReference directory) {
  PathArgument path;
  path.bytes = std::move(bytes);
  path.directory = {number, directory};
  return path;
}

inline constexpr std::uint64_t kCwdInode = 2;
inline constexpr std::uint32_t kUnlinkat = 263;
inline constexpr std::uint32_t kOpenat = 257;
inline constexpr std::uint32_t kMkdirat = 258;

// Events of a process that begins in /mnt/job (inode 2), 1 us apart.
class TraceBuilder {
 public:
  TraceBuilder() {
    header.clock = ClockKind::kBootTime;
    mount(DeviceId::of(8, 1), "/", "ext4");
    mount(kDisk, "/mnt", "ext4");
    context(kOne, "/mnt/job", kCwdInode);
  }
  void mount(DeviceId device, std::string point, std::string filesystem) {
    MountInfo info;
    info.device = device;
    info.mount_point = std::move(point);
    info.filesystem = std::move(filesystem);
    events.emplace_back(info);
  }
  void context(ThreadKey thread, std::string path, std::uint64_t inode, DeviceId device = kDisk) {
    ProcessContext context;
    context.time = time;
    context.thread = thread;
    context.working_directory = {file_of(inode, FileKind::kDirectory, device), std::move(path), false};
    context.root = {file_of(2, FileKind::kDirectory, DeviceId::of(8, 1)), "/", false};
    events.emplace_back(context);
  }
  void start(ThreadKey thread, ThreadKey parent, std::uint64_t flags) {
    ProcessStart event;
    event.time = time;
    event.thread = thread;
    event.parent = parent;
    event.clone_flags = flags;
    events.emplace_back(event);
  }
  // A whole process.
  void end(ThreadKey thread) {
    ProcessExit event;
    event.time = time;
    event.thread = thread;
    event.whole_process = true;
    events.emplace_back(event);
  }
  void exec(ThreadKey thread) {
    ProcessExec event;
    event.time = time;
    event.thread = thread;
    events.emplace_back(event);
  }
  Syscall& call(std::uint32_t number, Operation operation, OpOutcome outcome = {}, ThreadKey thread = kOne) {
    Syscall made;
    made.thread = thread;
    made.number = number;
    made.start = time;
    made.duration = Nanoseconds(100);
    made.outcome = outcome;
    made.operation = std::move(operation);
    time += Nanoseconds(1000);
    events.emplace_back(std::move(made));
    return std::get<Syscall>(events.back());
  }
  // Short forms, relative to a directory descriptor (default: the working directory).
  static PathArgument here(std::string bytes) {
    return at(std::move(bytes), kAtCurrentDirectory, directory_of(kCwdInode));
  }
  Syscall& open(PathArgument path, std::int64_t flags, std::int64_t got, FileReference opened,
                ThreadKey thread = kOne) {
    Open op;
    op.path = std::move(path);
    op.flags = flags;
    op.opened = opened;
    return call(kOpenat, op, {got, 0}, thread);
  }
  Syscall& unlink(PathArgument path, std::int64_t flags = 0, OpOutcome outcome = {}) {
    return call(kUnlinkat, Unlink{std::move(path), flags}, outcome);
  }
  Syscall& mkdir(PathArgument path) { return call(kMkdirat, MakeDirectory{std::move(path), 0755}); }
  Syscall& close(Descriptor descriptor, ThreadKey thread = kOne) { return call(3, Close{descriptor}, {}, thread); }
  Syscall& write(Descriptor descriptor, std::int64_t position, std::int64_t bytes, ThreadKey thread = kOne) {
    Write op;
    op.descriptor = descriptor;
    op.length = bytes;
    op.position = {position};
    return call(1, op, {bytes, 0}, thread);
  }
  Syscall& read(Descriptor descriptor, std::int64_t position, std::int64_t bytes) {
    Read op;
    op.descriptor = descriptor;
    op.length = bytes;
    op.position = {position};
    return call(0, op, {bytes, 0});
  }

  TraceHeader header;
  Nanoseconds time{5'000'000};
  std::vector<EventBody> events;
};

// Keeps what a replay tells.
class Listener final : public ReplayObserver {
 public:
  Result<void> call(Syscall& call) override {
    calls.push_back(call);
    return {};
  }
  Result<void> other(EventBody&, Nanoseconds) override { return {}; }
  std::vector<Syscall> calls;
};

// Both passes of a trace against a fake target.
struct Replayed {
  explicit Replayed(const TraceBuilder& trace, RootOptions root_options = {}, EngineOptions engine_options = {}) {
    go(trace, root_options, engine_options);
  }
  Replayed(const TraceBuilder& trace, const std::function<void(FakeTarget&)>& set_up,
           EngineOptions engine_options = {}) {
    set_up(target);
    go(trace, {}, engine_options);
  }
  void go(const TraceBuilder& trace, const RootOptions& root_options, const EngineOptions& engine_options) {
    const auto open = open_events(trace.header, trace.events);
    auto first = open();
    auto surveyed = survey_trace(**first, engine_options.pace.longest_gap);
    ASSERT_TRUE(surveyed) << surveyed.error().message;
    auto chosen = choose_roots(*surveyed, root_options);
    if (!chosen) {
      error = chosen.error().message;
      return;
    }
    roots = *chosen;
    tree = build_initial_tree(*surveyed, roots);
    auto second = open();
    auto ran = run_replay_pass(**second, surveyed->model->names().rewound(), roots, target, engine_options, &listener);
    ASSERT_TRUE(ran) << ran.error().message;
    report = std::move(*ran);
  }
  [[nodiscard]] const InitialNode* node(std::string_view path) const {
    for (const InitialNode& candidate : tree.nodes)
      if (candidate.path == path) return &candidate;
    return nullptr;
  }
  [[nodiscard]] std::uint64_t skipped(SkipReason reason) const {
    return report.skipped[static_cast<std::size_t>(reason)];
  }

  FakeTarget target;
  Listener listener;
  ReplayRoots roots;
  BuiltTree tree;
  ReplayReport report;
  std::string error;
};

}  // namespace iotape::test
