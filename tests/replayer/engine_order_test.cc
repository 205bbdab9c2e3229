// Order thread: what waits for what, and what does not.
#include <gmock/gmock.h>
#include <linux/close_range.h>
#include <sched.h>

#include <cerrno>
#include <csignal>
#include <map>

#include "tests/replayer/fake_target.h"

namespace iotape::test {
namespace {

using testing::ElementsAre;

constexpr ThreadKey kThird{ProcessId(30), ThreadId(30)};
constexpr ThreadKey kSibling{ProcessId(10), ThreadId(11)};  // of kOne
constexpr std::uint64_t kThreadFlags = CLONE_FILES | CLONE_FS | CLONE_VM | CLONE_THREAD;
constexpr std::uint32_t kDup2 = 33;
constexpr std::uint32_t kFcntl = 72;

EngineOptions in_thread_order() {
  EngineOptions options;
  options.order = ReplayOrder::kThread;
  return options;
}

Syscall& mkdir_of(TraceBuilder& trace, ThreadKey thread, const std::string& name) {
  return trace.call(kMkdirat, MakeDirectory{trace.here(name), 0755}, {}, thread);
}

// "258 d", "1 fd 100", ...: what a target was asked, without who asked.
std::string told(const TargetCall& call) {
  std::string text = std::to_string(call.number);
  std::visit(
      [&](const auto& op) {
        for_each_field(op, [&](const auto&, const auto& member) {
          using Member = std::decay_t<decltype(member)>;
          if constexpr (std::is_same_v<Member, PathArgument>)
            text += " " + member.bytes + "@" + std::to_string(member.directory.number);
          else if constexpr (std::is_same_v<Member, Descriptor>)
            text += " fd " + std::to_string(member.number);
          else if constexpr (std::is_arithmetic_v<Member>)
            text += " " + std::to_string(member);
        });
      },
      call.operation);
  return text;
}
std::vector<std::string> asked(const Replayed& run) {
  std::vector<std::string> all;
  for (const TargetCall& call : run.target.calls) all.push_back(told(call));
  return all;
}

// Calls whose text begins so are completed last.
std::function<void(FakeTarget&)> slow(std::vector<std::string> beginnings) {
  return [beginnings = std::move(beginnings)](FakeTarget& target) {
    target.hold = [beginnings](const TargetCall& call) {
      const std::string text = told(call);
      return std::any_of(beginnings.begin(), beginnings.end(),
                         [&](const std::string& beginning) { return text.starts_with(beginning); });
    };
  };
}

// ---- threads ----

TEST(ThreadOrder, OnlyAThreadsOwnCallsKeepTheirOrder) {
  TraceBuilder trace;
  trace.context(kTwo, "/mnt/job", kCwdInode);
  for (int i = 0; i < 5; ++i) {
    mkdir_of(trace, kOne, "a" + std::to_string(i));
    mkdir_of(trace, kTwo, "b" + std::to_string(i));
  }
  const Replayed run(trace, slow({"258 a"}), in_thread_order());
  EXPECT_EQ(run.report.issued, 10U);
  ASSERT_EQ(run.listener.calls.size(), 10U);
  std::map<ThreadKey, std::uint64_t> last;
  std::vector<ThreadKey> who;
  for (const Syscall& call : run.listener.calls) {
    EXPECT_GT(call.replay->source.value, last[call.thread]);
    last[call.thread] = call.replay->source.value;
    who.push_back(call.thread);
  }
  EXPECT_EQ(std::vector<ThreadKey>(who.begin(), who.begin() + 5), std::vector<ThreadKey>(5, kTwo));
  EXPECT_FALSE(run.report.serialised);
  EXPECT_EQ(run.target.ended.size(), 2U);
}

TEST(ThreadOrder, AChildsCallsWaitForItsCloneAndNobodyElsesDo) {
  TraceBuilder trace;
  trace.context(kThird, "/mnt/job", kCwdInode);
  mkdir_of(trace, kThird, "before");
  mkdir_of(trace, kOne, "parent");
  trace.start(kTwo, kOne, SIGCHLD);
  mkdir_of(trace, kTwo, "child");
  mkdir_of(trace, kThird, "elsewhere");
  const Replayed run(trace, slow({"258 parent"}), in_thread_order());
  std::vector<std::string> done;
  for (const Syscall& call : run.listener.calls) done.push_back(std::get<MakeDirectory>(call.operation).path.bytes);
  EXPECT_THAT(done, ElementsAre("before", "elsewhere", "parent", "child"));
  ASSERT_EQ(run.target.starts.size(), 3U);
  EXPECT_EQ(run.target.starts[2].recorded, kTwo);
  EXPECT_EQ(run.target.starts[2].parent, run.target.starts[1].thread);
}

std::vector<std::string> names_made(const Replayed& run) {
  std::vector<std::string> names;
  for (const Syscall& call : run.listener.calls) names.push_back(std::get<MakeDirectory>(call.operation).path.bytes);
  return names;
}

TEST(ThreadOrder, WhatAParentDidBesideItsChildIsDoneBesideIt) {
  TraceBuilder trace;
  mkdir_of(trace, kOne, "first");
  trace.start(kTwo, kOne, SIGCHLD);
  mkdir_of(trace, kTwo, "child");
  mkdir_of(trace, kOne, "beside");
  trace.end(kTwo);
  const Replayed run(trace, slow({"258 child"}), in_thread_order());
  EXPECT_THAT(names_made(run), ElementsAre("first", "beside", "child"));
  EXPECT_EQ(run.target.ended.size(), 2U);
}

TEST(ThreadOrder, WhatAParentDidAfterTheEndOfItsChildIsDoneAfterIt) {
  TraceBuilder trace;
  mkdir_of(trace, kOne, "first");
  trace.start(kTwo, kOne, SIGCHLD);
  trace.start(kThird, kOne, SIGCHLD);
  mkdir_of(trace, kTwo, "child");
  mkdir_of(trace, kThird, "other");
  trace.end(kTwo);
  mkdir_of(trace, kOne, "after");
  trace.end(kThird);
  mkdir_of(trace, kOne, "last");
  const Replayed run(trace, slow({"258 child", "258 other"}), in_thread_order());
  const std::vector<std::string> names = names_made(run);
  const auto place = [&names](const std::string& name) { return std::ranges::find(names, name) - names.begin(); };
  EXPECT_EQ(names.size(), 5U);
  EXPECT_LT(place("child"), place("after"));
  EXPECT_LT(place("other"), place("last"));
  EXPECT_EQ(run.target.ended.size(), 3U);
}

// Nobody is left to wait; and a child may outlive whoever made it.
TEST(ThreadOrder, ThoseWhoseParentHasEndedAreWaitedForByNobody) {
  TraceBuilder trace;
  mkdir_of(trace, kOne, "first");
  trace.start(kTwo, kOne, SIGCHLD);
  trace.end(kOne);
  mkdir_of(trace, kTwo, "orphan");
  trace.end(kTwo);
  const Replayed run(trace, slow({"258 orphan"}), in_thread_order());
  EXPECT_THAT(names_made(run), ElementsAre("first", "orphan"));
  EXPECT_EQ(run.target.ended.size(), 2U);
}

TEST(ThreadOrder, MoreProcessesThanATargetCarriesAreNotAllStartedAtOnce) {
  TraceBuilder trace;
  mkdir_of(trace, kOne, "d");
  for (std::int32_t i = 0; i < 9000; ++i) {
    const ThreadKey child{ProcessId(1000 + i), ThreadId(1000 + i)};
    trace.start(child, kOne, SIGCHLD);
    mkdir_of(trace, child, "child");
    trace.end(child);
  }
  // The last one submitted is the first to be done.
  const Replayed run(
      trace, [](FakeTarget& target) { target.newest_first = true; }, in_thread_order());
  EXPECT_EQ(run.report.issued, 9001U);
  EXPECT_EQ(run.target.starts.size(), 9001U);
  EXPECT_LT(run.target.most_alive, 4096U);
}

// ---- names ----

TEST(ThreadOrder, ACallsPathIsThatOfItsTimeWhateverIsRenamedAfterIt) {
  TraceBuilder trace;
  const auto absolute = [](const std::string& path) {
    return at("/mnt/job/" + path, kAtCurrentDirectory, directory_of(kCwdInode));
  };
  trace.open(absolute("d/f"), O_RDONLY, 3, regular_of(40));
  trace.call(264, Rename{absolute("d"), absolute("e"), 0});
  trace.open(absolute("e/f"), O_RDONLY, 4, regular_of(40));
  const Replayed run(
      trace, [](FakeTarget&) {}, in_thread_order());
  const auto opens = run.target.of<Open>();
  ASSERT_EQ(opens.size(), 2U);
  EXPECT_EQ(opens[0].path.bytes, "/d/f");
  EXPECT_EQ(opens[1].path.bytes, "/e/f");
  EXPECT_EQ(run.report.mismatches, 0U);
}

// ---- descriptors ----

TEST(ThreadOrder, ASharedDescriptorIsThereBeforeItIsUsedAndUsedBeforeItIsClosed) {
  TraceBuilder trace;
  mkdir_of(trace, kOne, "d");
  trace.start(kSibling, kOne, kThreadFlags);
  trace.open(trace.here("f"), O_CREAT | O_EXCL | O_RDWR, 3, regular_of(1));
  mkdir_of(trace, kSibling, "meanwhile");
  trace.write(fd(3, regular_of(1)), 0, 7, kSibling);
  trace.read(fd(3, regular_of(1)), 0, 5);
  trace.close(fd(3, regular_of(1)), kSibling);
  trace.open(trace.here("g"), O_CREAT | O_EXCL | O_RDWR, 3, regular_of(3));
  trace.write(fd(3, regular_of(3)), 0, 9, kSibling);
  const Replayed run(trace, slow({"257", "0 "}), in_thread_order());
  EXPECT_EQ(run.report.issued, 8U);
  EXPECT_EQ(run.report.mismatches, 0U);
  const auto writes = run.target.of<Write>();
  ASSERT_EQ(writes.size(), 2U);
  EXPECT_EQ(writes[0].descriptor.number, 100);
  EXPECT_EQ(writes[1].descriptor.number, 101);
  ASSERT_EQ(run.target.of<Close>().size(), 1U);
  EXPECT_EQ(run.target.of<Close>()[0].descriptor.number, 100);
  std::vector<std::string> done;
  for (const Syscall& call : run.listener.calls)
    if (!std::holds_alternative<MakeDirectory>(call.operation)) done.push_back(std::to_string(call.number));
  EXPECT_THAT(done, ElementsAre("257", "1", "0", "3", "257", "1")) << "the close waits for the slow read";
}

TEST(ThreadOrder, ACopiedDescriptorIsClosedHereWithoutWaitingForItsUseThere) {
  TraceBuilder trace;
  trace.open(trace.here("f"), O_CREAT | O_EXCL | O_RDWR, 3, regular_of(1));
  trace.start(kTwo, kOne, SIGCHLD);
  trace.write(fd(3, regular_of(1)), 0, 7, kTwo);
  trace.write(fd(3, regular_of(1)), 0, 8, kTwo);
  trace.close(fd(3, regular_of(1)));
  trace.open(trace.here("g"), O_CREAT | O_EXCL | O_RDWR, 3, regular_of(3));
  trace.write(fd(3, regular_of(3)), 0, 9);
  trace.close(fd(3, regular_of(1)), kTwo);
  const Replayed run(trace, slow({"1 fd 100"}), in_thread_order());
  EXPECT_EQ(run.report.mismatches, 0U);
  const auto writes = run.target.of<Write>();
  ASSERT_EQ(writes.size(), 3U);
  std::map<std::int64_t, std::int32_t> descriptor_of;
  for (const Write& write : writes) descriptor_of[write.length] = write.descriptor.number;
  EXPECT_THAT(descriptor_of, ElementsAre(std::pair(7, 100), std::pair(8, 100), std::pair(9, 101)));
  EXPECT_EQ(run.listener.calls[1].number, 3U) << "the parent's close waits for nobody";
}

TEST(ThreadOrder, ADescriptorTheReplayDidNotGetIsNotOpenForAnybody) {
  TraceBuilder trace;
  trace.open(trace.here("f"), O_RDWR, 3, regular_of(1));
  trace.write(fd(3, regular_of(1)), 0, 7);
  trace.start(kTwo, kOne, SIGCHLD);
  trace.write(fd(3, regular_of(1)), 0, 8, kTwo);
  trace.open(trace.here("absent"), O_RDONLY, 0, {}).outcome = {-1, ENOENT};
  const Replayed run(
      trace,
      [](FakeTarget& target) {
        target.answer = [&target](const TargetCall& call) -> OpOutcome {
          const auto* open = std::get_if<Open>(&call.operation);
          if (open != nullptr && open->path.bytes == "f") return {-1, EACCES};
          const auto* write = std::get_if<Write>(&call.operation);
          return write != nullptr && write->descriptor.number < 0 ? OpOutcome{-1, EBADF} : target.success(call);
        };
      },
      in_thread_order());
  EXPECT_EQ(run.report.mismatches, 4U);
  for (const Write& write : run.target.of<Write>()) EXPECT_EQ(write.descriptor.number, -1);
  ASSERT_EQ(run.target.of<Close>().size(), 1U) << "what the recording did not get is closed";
  EXPECT_EQ(run.target.of<Close>()[0].descriptor.number, 100);
  EXPECT_EQ(run.report.housekeeping, 1U);
}

TEST(ThreadOrder, WhatATargetDidNotOpenIsLost) {
  TraceBuilder trace;
  trace.open(trace.here("f"), O_RDWR, 3, regular_of(1));
  trace.call(32, Duplicate{fd(3, regular_of(1)), -1, 0, -1}, {4, 0});
  trace.write(fd(4, regular_of(1)), 0, 7);
  trace.unlink(trace.here("x"));
  for (const EngineOptions& options : {EngineOptions{}, in_thread_order()}) {
    const Replayed run(
        trace,
        [](FakeTarget& target) {
          target.refuse = [](const TargetCall& call) { return std::holds_alternative<Open>(call.operation); };
        },
        options);
    EXPECT_EQ(run.skipped(SkipReason::kRefused), 1U);
    EXPECT_EQ(run.skipped(SkipReason::kLostHandle), 2U);
    EXPECT_EQ(run.report.issued, 1U);
    EXPECT_EQ(run.report.mismatches, 0U);
  }
}

// A single thread has one order: everything is as in strict order, to the last number.
std::vector<TraceBuilder> all_that_one_thread_does() {
  std::vector<TraceBuilder> traces(1);
  TraceBuilder& duplicates = traces.back();
  duplicates.open(duplicates.here("a"), O_CREAT | O_EXCL | O_RDWR, 3, regular_of(1));
  duplicates.open(duplicates.here("b"), O_CREAT | O_EXCL | O_RDWR, 4, regular_of(3));
  duplicates.call(kDup2, Duplicate{fd(3, regular_of(1)), 4, 0, -1}, {4, 0});
  duplicates.write(fd(4, regular_of(1)), 0, 1);
  duplicates.call(kDup2, Duplicate{fd(3, regular_of(1)), 9, 0, -1}, {9, 0});
  duplicates.call(kDup2, Duplicate{fd(9, regular_of(1)), 9, 0, -1}, {9, 0});
  duplicates.write(fd(9, regular_of(1)), 0, 1);
  duplicates.call(kFcntl, Duplicate{fd(3, regular_of(1)), 50, 0, F_DUPFD_CLOEXEC}, {50, 0});
  duplicates.call(kFcntl, ControlDescriptor{fd(4, regular_of(1)), F_SETFD, FD_CLOEXEC});
  duplicates.exec(kOne);
  duplicates.write(fd(50, regular_of(1)), 0, 1).outcome = {-1, EBADF};
  duplicates.write(fd(9, regular_of(1)), 0, 1);
  duplicates.call(22, MakeDescriptor{5, 6, 0});
  duplicates.call(kDup2, Duplicate{fd(5, file_of(500, FileKind::kFifo)), 9, 0, -1}, {9, 0});
  duplicates.close(fd(3, regular_of(1)));
  duplicates.close(fd(3, {})).outcome = {-1, EBADF};
  TraceBuilder& ranges = traces.emplace_back();
  for (std::int32_t number = 3; number < 7; ++number)
    ranges.open(ranges.here("f" + std::to_string(number)), O_CREAT | O_EXCL, number, regular_of(number));
  ranges.call(436, CloseRange{4, 5, 0});
  ranges.write(fd(6, regular_of(6)), 0, 1);
  ranges.call(436, CloseRange{3, 100, CLOSE_RANGE_CLOEXEC});
  ranges.call(272, ProcessCall{CLONE_FILES, 0});
  ranges.write(fd(3, regular_of(3)), 0, 1);
  ranges.exec(kOne);
  ranges.mkdir(ranges.here("last"));
  TraceBuilder& mappings = traces.emplace_back();
  mappings.open(mappings.here("m"), O_RDWR, 3, regular_of(1));
  mappings.call(9, MapMemory{fd(3, regular_of(1)), 0, 16384, 3, 1, 0}, {0x10000, 0});
  mappings.call(26, ControlMemory{0x11000, 4096, 4, 0, 0});
  mappings.call(11, ControlMemory{0x11000, 4096, 0, 0, 0});
  mappings.call(26, ControlMemory{0x12000, 4096, 4, 0, 0});
  mappings.call(11, ControlMemory{0x10000, 16384, 0, 0, 0});
  mappings.call(11, ControlMemory{0x10000, 16384, 0, 0, 0});
  mappings.unlink(mappings.here("m"));
  TraceBuilder& inherited = traces.emplace_back();
  InheritedDescriptor held;
  held.thread = kOne;
  held.descriptor = fd(7, regular_of(44));
  held.flags = O_RDWR | O_CREAT;
  held.offset = 4096;
  held.path = "/mnt/job/data/base";
  inherited.events.emplace_back(held);
  inherited.write(fd(7, regular_of(44)), 4096, 10);
  inherited.call(80, ChangeDirectoryPath{inherited.here("data")});
  inherited.unlink(at("base", kAtCurrentDirectory, directory_of(45)));
  return traces;
}

TEST(ThreadOrder, OneThreadDoesExactlyWhatItDoesInStrictOrder) {
  for (const TraceBuilder& trace : all_that_one_thread_does()) {
    for (const std::string failing : {"", "open", "dup"}) {
      const auto set_up = [&](FakeTarget& target) {
        target.answer = [&target, failing](const TargetCall& call) -> OpOutcome {
          if (failing == "open" && std::holds_alternative<Open>(call.operation)) return {-1, EMFILE};
          if (failing == "dup" && std::holds_alternative<Duplicate>(call.operation)) return {-1, EMFILE};
          if (std::holds_alternative<MapMemory>(call.operation)) return {0x900000, 0};
          const auto* copy = std::get_if<Duplicate>(&call.operation);
          return copy != nullptr && call.number == kDup2 ? OpOutcome{copy->target, 0} : target.success(call);
        };
      };
      const Replayed strict(trace, set_up);
      const Replayed threads(trace, set_up, in_thread_order());
      ASSERT_EQ(strict.error, "");
      EXPECT_EQ(asked(threads), asked(strict)) << failing;
      EXPECT_EQ(threads.report.mismatches, strict.report.mismatches) << failing;
      EXPECT_EQ(threads.report.issued, strict.report.issued) << failing;
      EXPECT_EQ(threads.report.skipped, strict.report.skipped) << failing;
      EXPECT_EQ(threads.report.housekeeping, strict.report.housekeeping) << failing;
      EXPECT_EQ(threads.listener.calls.size(), strict.listener.calls.size());
    }
  }
}

// ---- time ----

TEST(ThreadOrder, AThreadThinksAfterItsOwnCallBefore) {
  TraceBuilder trace;
  trace.context(kTwo, "/mnt/job", kCwdInode);
  mkdir_of(trace, kOne, "a");
  mkdir_of(trace, kTwo, "b");
  trace.time += Nanoseconds(5000);
  mkdir_of(trace, kOne, "c");
  EngineOptions options = in_thread_order();
  options.pace.kind = PaceKind::kThink;
  const Replayed run(trace, slow({"258 b"}), options);
  ASSERT_EQ(run.listener.calls.size(), 3U);
  const auto end_of_first = run.listener.calls[0].start + run.listener.calls[0].duration;
  const TargetCall& last = run.target.calls[2];
  EXPECT_EQ(told(last), "258 c@-100 493");
  EXPECT_EQ((last.not_before - end_of_first).value, 5000 + 2000 - 100);
  EXPECT_EQ(run.listener.calls[1].replay->due, last.not_before);
}

// ---- bounds and stops ----

// Counts how far a replay has read.
class CountingSource final : public EventSource {
 public:
  CountingSource(std::unique_ptr<EventSource> from, std::uint64_t& calls) : from_(std::move(from)), calls_(calls) {}
  const TraceHeader& header() const override { return from_->header(); }
  Result<Event*> next() override {
    IOTAPE_ASSIGN(Event * event, from_->next());
    if (event != nullptr && std::holds_alternative<Syscall>(event->body)) ++calls_;
    return event;
  }
  const ReadReport& report() const override { return from_->report(); }

 private:
  std::unique_ptr<EventSource> from_;
  std::uint64_t& calls_;
};

TEST(ThreadOrder, NoMoreIsReadAheadThanAllowed) {
  TraceBuilder trace;
  trace.context(kTwo, "/mnt/job", kCwdInode);
  for (int i = 0; i < 300; ++i) {
    mkdir_of(trace, kOne, "slow" + std::to_string(i));
    for (int j = 0; j < 5; ++j) mkdir_of(trace, kTwo, "fast" + std::to_string(i) + std::to_string(j));
  }
  auto survey = survey_trace(**open_events(trace.header, trace.events)(), std::nullopt).value();
  const auto roots = choose_roots(survey, {}).value();
  FakeTarget target;
  Listener listener;
  EngineOptions options = in_thread_order();
  options.read_ahead = 100;
  std::uint64_t read = 0;
  std::uint64_t most = 0;
  target.hold = [](const TargetCall& call) { return told(call).starts_with("258 slow"); };
  target.answer = [&](const TargetCall& call) {
    most = std::max(most, read - listener.calls.size());
    return target.success(call);
  };
  CountingSource source(open_events(trace.header, trace.events)().value(), read);
  const auto report =
      run_replay_pass(source, survey.model->names().rewound(), roots, target, options, &listener).value();
  EXPECT_EQ(report.issued, 1800U);
  EXPECT_LE(most, 100U);
  EXPECT_GT(most, 90U);
}

TEST(ThreadOrder, AStopInTheMiddleAddsUp) {
  TraceBuilder trace;
  trace.context(kTwo, "/mnt/job", kCwdInode);
  for (int i = 0; i < 500; ++i) mkdir_of(trace, i % 3 == 0 ? kOne : kTwo, "d" + std::to_string(i));
  for (const int after : {3, 600, 700, 990}) {
    EngineOptions options = in_thread_order();
    int asked = 0;
    options.stop_requested = [&asked, after] { return ++asked > after; };
    const Replayed run(
        trace, [](FakeTarget&) {}, options);
    EXPECT_TRUE(run.report.stopped) << after;
    EXPECT_TRUE(run.report.adds_up());
    EXPECT_LT(run.report.calls, 500U);
    EXPECT_EQ(run.listener.calls.size(), run.report.calls);
    EXPECT_EQ(run.report.issued, run.target.calls.size()) << "what was submitted is told of";
  }
}

TEST(ThreadOrder, AStopDuringACallKeepsWhatWasDone) {
  bool stop = false;
  EngineOptions options = in_thread_order();
  options.stop_requested = [&stop] { return stop; };
  TraceBuilder trace;
  for (int i = 0; i < 5; ++i) trace.mkdir(trace.here("d" + std::to_string(i)));
  const Replayed run(
      trace,
      [&stop](FakeTarget& target) {
        target.broken = [&stop, calls = 0]() mutable -> Result<void> {
          if (++calls < 3) return {};
          stop = true;
          return failure(ErrorCode::kInterrupted, "interrupted");
        };
      },
      options);
  EXPECT_TRUE(run.report.stopped);
  EXPECT_EQ(run.report.issued, 2U);
  EXPECT_EQ(run.report.calls, 2U);
}

TEST(ThreadOrder, EveryCallIsIssuedOrSkippedForAReason) {
  TraceBuilder trace;
  trace.open(trace.here("f"), O_CREAT | O_EXCL | O_RDWR, 3, regular_of(1));
  trace.call(9, MapMemory{fd(-1, {}), 0, 4096, 3, 0x22, 0}, {0x7f0000, 0});
  trace.call(56, ProcessCall{SIGCHLD, 0}, {20, 0});
  trace.start(kTwo, kOne, SIGCHLD);
  trace.call(425, MakeDescriptor{}, {8, 0}, kTwo);
  trace.call(999, OtherCall{}, {}, kTwo);
  trace.unlink(trace.here("never")).unfinished = true;
  trace.write(fd(12, regular_of(99)), 0, 1, kTwo);
  const Replayed run(
      trace, [](FakeTarget&) {}, in_thread_order());
  EXPECT_EQ(run.report.calls, 7U);
  EXPECT_TRUE(run.report.adds_up());
  EXPECT_EQ(run.report.issued, 1U);
  ASSERT_EQ(run.listener.calls.size(), 7U);
  for (const Syscall& call : run.listener.calls) ASSERT_TRUE(call.replay.has_value());
}

}  // namespace
}  // namespace iotape::test
