// What the engine gives to a target, call by call.
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/file.h>

#include <csignal>

#include <cerrno>

#include "tests/replayer/fake_target.h"

namespace iotape::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> paths_of(const InitialTree& tree) {
  std::vector<std::string> paths;
  for (const InitialNode& node : tree) paths.push_back(node.path);
  return paths;
}

// rm -rf tree, as coreutils does it: every directory opened from its parent, every file removed relative to it.
TraceBuilder removal() {
  TraceBuilder trace;
  trace.open(trace.here("tree"), O_RDONLY | O_DIRECTORY, 3, directory_of(10));
  trace.call(217, ReadDirectory{fd(3, directory_of(10)), 32768, {0}}, {96, 0});
  trace.unlink(at("b", 3, directory_of(10)));
  trace.open(at("sub", 3, directory_of(10)), O_RDONLY | O_DIRECTORY, 4, directory_of(11));
  trace.unlink(at("z", 4, directory_of(11)));
  trace.unlink(at("a", 4, directory_of(11)));
  trace.close(fd(4, directory_of(11)));
  trace.unlink(at("sub", 3, directory_of(10)), AT_REMOVEDIR);
  trace.close(fd(3, directory_of(10)));
  trace.unlink(trace.here("tree"), AT_REMOVEDIR);
  return trace;
}

TEST(Engine, RemovalOfATreeIsInferredFromTheRemovalsAlone) {
  const Replayed run(removal());
  EXPECT_THAT(paths_of(run.tree.nodes), ElementsAre("/tree", "/tree/b", "/tree/sub", "/tree/sub/z", "/tree/sub/a"));
  EXPECT_EQ(run.node("/tree/sub")->kind, FileKind::kDirectory);
  EXPECT_EQ(run.node("/tree/b")->kind, FileKind::kRegular);
  EXPECT_EQ(run.report.issued, 10U);
  EXPECT_EQ(run.report.mismatches, 0U);
  ASSERT_EQ(run.roots.all().size(), 1U);
  EXPECT_EQ(run.roots.all()[0].from, "/mnt/job");
}

TEST(Engine, DirectoryHandlesAreTranslatedAndNamesKept) {
  const Replayed run(removal());
  const auto unlinks = run.target.of<Unlink>();
  ASSERT_EQ(unlinks.size(), 5U);
  EXPECT_EQ(unlinks[0].path.bytes, "b");
  EXPECT_EQ(unlinks[0].path.directory.number, 100);
  EXPECT_EQ(unlinks[1].path.directory.number, 101);
  EXPECT_EQ(unlinks[3].path.directory.number, 100);
  EXPECT_EQ(unlinks[4].path.directory.number, kAtCurrentDirectory);
  EXPECT_EQ(run.target.starts[0].working_directory, "/");
}

TEST(Engine, AFileThatIsCreatedIsNotPrepared) {
  TraceBuilder trace;
  for (std::uint64_t inode = 20; inode < 23; ++inode) {  // create, remove, create: three files of one name
    trace.open(trace.here("x"), O_CREAT | O_EXCL | O_WRONLY, 3, regular_of(inode));
    trace.write(fd(3, regular_of(inode)), 0, 10);
    trace.close(fd(3, regular_of(inode)));
    trace.unlink(trace.here("x"));
  }
  const Replayed run(trace);
  EXPECT_THAT(run.tree.nodes, IsEmpty());
  EXPECT_EQ(run.report.issued, 12U);
}

TEST(Engine, AnInodeNumberUsedAgainIsAnotherFile) {
  TraceBuilder trace;
  trace.unlink(trace.here("old"));
  trace.open(trace.here("seen"), O_RDONLY, 3, regular_of(30));
  trace.close(fd(3, regular_of(30)));
  trace.unlink(trace.here("seen"));
  trace.open(trace.here("new"), O_CREAT | O_EXCL | O_WRONLY, 3, regular_of(30));
  trace.write(fd(3, regular_of(30)), 0, 5000);
  const Replayed run(trace);
  EXPECT_THAT(paths_of(run.tree.nodes), ElementsAre("/old", "/seen"));
  EXPECT_EQ(run.node("/seen")->size, 0U);
}

TEST(Engine, WhatLiesUnderARenamedDirectoryWasThereUnderTheOldName) {
  TraceBuilder trace;
  trace.call(264, Rename{trace.here("before"), trace.here("after"), 0});
  trace.open(trace.here("after/deep/file"), O_RDONLY, 3, regular_of(40));
  trace.read(fd(3, regular_of(40)), 100, 28);
  trace.unlink(trace.here("after/deep/file"));
  const Replayed run(trace);
  EXPECT_THAT(paths_of(run.tree.nodes), ElementsAre("/before", "/before/deep", "/before/deep/file"));
  EXPECT_EQ(run.node("/before/deep/file")->size, 128U);
  EXPECT_EQ(run.node("/before")->kind, FileKind::kDirectory);
}

TEST(Engine, ReadsOfOwnBytesProveNothingOfTheBeginning) {
  TraceBuilder trace;
  trace.open(trace.here("log"), O_RDWR, 3, regular_of(41));
  trace.write(fd(3, regular_of(41)), 0, 4096);
  trace.read(fd(3, regular_of(41)), 0, 4096);
  const Replayed run(trace);
  EXPECT_EQ(run.node("/log")->size, 0U);
}

TEST(Engine, StatesBeatInferenceAndCreationBeatsStates) {
  TraceBuilder trace;
  const auto state = [&](std::string path, FileReference file, std::uint64_t size, StateSource source) {
    FileState event;
    event.time = trace.time;
    event.source = source;
    event.file = file;
    event.path = std::move(path);
    event.size = size;
    event.mode = 0100600;
    trace.events.emplace_back(event);
  };
  state("/mnt/job/kept", regular_of(50), 7000, StateSource::kFirstTouch);
  trace.open(trace.here("kept"), O_RDWR, 3, regular_of(50));
  trace.read(fd(3, regular_of(50)), 0, 100);
  state("/mnt/job/kept", regular_of(50), 9000, StateSource::kStatCall);
  trace.time += Nanoseconds(10);
  state("/mnt/job/made", regular_of(51), 0, StateSource::kFirstTouch);
  Syscall& made = trace.open(trace.here("made"), O_CREAT | O_WRONLY, 4, regular_of(51));
  made.start -= Nanoseconds(100);
  trace.write(fd(4, regular_of(51)), 0, 1);
  const Replayed run(trace);
  EXPECT_THAT(paths_of(run.tree.nodes), ElementsAre("/kept"));
  EXPECT_EQ(run.node("/kept")->size, 7000U);
  EXPECT_EQ(run.node("/kept")->mode, 0600U);
}

TEST(Engine, SnapshotOrderIsTheOrderOfTheDirectory) {
  TraceBuilder trace;
  std::uint64_t position = 3;
  for (const char* name : {"c", "a", "b"}) {
    FileState event;
    event.source = StateSource::kSnapshot;
    event.file = regular_of(60 + position);
    event.path = std::string("/mnt/job/") + name;
    event.directory_position = position--;
    trace.events.emplace_back(event);
  }
  trace.unlink(trace.here("a"));
  EXPECT_THAT(paths_of(Replayed(trace).tree.nodes), ElementsAre("/b", "/a", "/c"));
}

TEST(Engine, ASnapshotTellsOfEveryNameOfAFile) {
  TraceBuilder trace;
  for (const char* name : {"a", "b", "c"}) {
    FileState event;
    event.source = StateSource::kSnapshot;
    event.file = regular_of(60);
    event.parent = directory_of(kCwdInode);
    event.name = name;
    event.path = std::string("/mnt/job/") + name;
    event.links = 3;
    trace.events.emplace_back(event);
  }
  trace.unlink(trace.here("c"));
  const Replayed run(trace);
  EXPECT_THAT(paths_of(run.tree.nodes), ElementsAre("/a", "/b", "/c"));
  EXPECT_EQ(run.node("/b")->hard_link_to, "/a");
  EXPECT_EQ(run.node("/c")->hard_link_to, "/a");
}

TEST(Engine, HardLinksAreTwoNamesOfOneFile) {
  TraceBuilder trace;
  trace.open(trace.here("one"), O_RDONLY, 3, regular_of(70));
  trace.open(trace.here("two"), O_RDONLY, 4, regular_of(70));
  trace.read(fd(4, regular_of(70)), 0, 33);
  trace.call(265, HardLink{trace.here("one"), trace.here("three"), 0});
  trace.unlink(trace.here("three"));
  trace.unlink(trace.here("two"));
  const Replayed run(trace);
  EXPECT_THAT(paths_of(run.tree.nodes), ElementsAre("/one", "/two"));
  EXPECT_EQ(run.node("/two")->hard_link_to, "/one");
  EXPECT_EQ(run.node("/one")->size, 33U);
}

TEST(Engine, AbsolutePathsStartAtTheTargetsTop) {
  TraceBuilder trace;
  trace.unlink(at("/mnt/job/dir/file", kAtCurrentDirectory, directory_of(kCwdInode)));
  trace.unlink(trace.here("other"));
  const Replayed run(trace);
  EXPECT_EQ(run.target.of<Unlink>()[0].path.bytes, "/dir/file");
  EXPECT_EQ(run.target.of<Unlink>()[1].path.bytes, "other");
}

TEST(Engine, AbsoluteSymbolicLinksAreFollowedInsideTheTarget) {
  TraceBuilder trace;
  trace.mkdir(trace.here("real"));
  trace.call(266, SymbolicLink{Text::of("/mnt/job/real"), trace.here("link")});
  trace.call(266, SymbolicLink{Text::of("real"), trace.here("near")});
  trace.open(trace.here("link/f"), O_CREAT | O_EXCL, 3, regular_of(80));
  trace.open(trace.here("near/g"), O_CREAT | O_EXCL, 4, regular_of(81));
  trace.unlink(trace.here("link"));
  const Replayed run(trace);
  const auto opens = run.target.of<Open>();
  EXPECT_EQ(opens[0].path.bytes, "/real/f");
  EXPECT_EQ(opens[1].path.bytes, "near/g");  // a relative link means the same there
  EXPECT_EQ(run.target.of<Unlink>()[0].path.bytes, "link");
  EXPECT_EQ(run.target.of<SymbolicLink>()[0].target.bytes, "/mnt/job/real");
}

TEST(Engine, ADescriptorNamedThroughProcIsFoundInTheTarget) {
  TraceBuilder trace;
  trace.mount(DeviceId(21), "/proc", "proc");
  trace.mkdir(trace.here("d"));
  trace.open(trace.here("d"), O_PATH, 4, directory_of(90));
  trace.call(90, ChangeModePath{at("/proc/self/fd/4", kAtCurrentDirectory, directory_of(kCwdInode)), 0700, 0});
  const Replayed run(trace);
  ASSERT_EQ(run.target.of<ChangeModePath>().size(), 1U);
  EXPECT_EQ(run.target.of<ChangeModePath>()[0].path.bytes, "/d");
}

TEST(Engine, APathBelowADescriptorNamedThroughProcIsFoundInTheTarget) {
  TraceBuilder trace;
  trace.mount(DeviceId(21), "/proc", "proc");
  trace.unlink(trace.here("a"));
  trace.open(trace.here("d"), O_PATH | O_DIRECTORY, 4, directory_of(90));
  const auto through_proc = [](const std::string& rest) {
    return at("/proc/self/fd/4" + rest, kAtCurrentDirectory, directory_of(kCwdInode));
  };
  trace.call(188, SetXattrPath{through_proc("/x/y"), Text::of("user.a"), Text::of("b"), 1, 0});
  trace.call(188, SetXattrPath{through_proc("//x/../z"), Text::of("user.a"), Text::of("b"), 1, 0});
  const Replayed run(trace);
  const auto set = run.target.of<SetXattrPath>();
  ASSERT_EQ(set.size(), 2U);
  EXPECT_EQ(set[0].path.bytes, "/d/x/y");
  EXPECT_EQ(set[1].path.bytes, "/d/z");
  EXPECT_THAT(paths_of(run.tree.nodes), ElementsAre("/a", "/d", "/d/x", "/d/z", "/d/x/y"));
}

TEST(Engine, ACopyOfEverythingAsksForWhatThereWas) {
  TraceBuilder trace;
  trace.open(trace.here("from"), O_RDONLY, 3, regular_of(92));
  trace.open(trace.here("to"), O_CREAT | O_EXCL | O_WRONLY, 4, regular_of(93));
  Transfer copy;
  copy.source = fd(3, regular_of(92));
  copy.destination = fd(4, regular_of(93));
  copy.source_position.value = copy.destination_position.value = 0;
  copy.length = INT64_MAX;
  trace.call(326, copy).outcome = OpOutcome::from_kernel(700);
  copy.source_position.value = copy.destination_position.value = 700;
  trace.call(326, copy).outcome = OpOutcome::from_kernel(0);
  copy.length = 4096;
  trace.call(326, copy).outcome = OpOutcome::from_kernel(0);
  const Replayed run(trace);
  const auto copies = run.target.of<Transfer>();
  ASSERT_EQ(copies.size(), 3U);
  EXPECT_EQ(copies[0].length, 700);
  EXPECT_LE(copies[1].length, 1 << 20);
  EXPECT_GT(copies[1].length, 0);
  EXPECT_EQ(copies[2].length, 4096);
}

TEST(Engine, AStateOfDotLeavesTheDirectoryWhereItIs) {
  TraceBuilder trace;
  for (const char* name : {".", "../job", "a/..", ".."}) {
    FileState state;
    state.source = StateSource::kFirstTouch;
    state.file = directory_of(name == std::string("..") ? 5 : kCwdInode);
    state.parent = directory_of(kCwdInode);
    state.name = name;
    trace.events.emplace_back(state);
  }
  trace.open(trace.here("."), O_RDONLY | O_DIRECTORY, 3, directory_of(kCwdInode));
  trace.unlink(trace.here("x"));
  const Replayed run(trace, RootOptions{{{"/mnt/job", "/"}}, false});
  EXPECT_THAT(paths_of(run.tree.nodes), ElementsAre("/a", "/x"));
  EXPECT_EQ(run.skipped(SkipReason::kExternal), 0U);
}

TEST(Engine, AStateInADirectoryJustEnteredByNameLiesInThatDirectory) {
  TraceBuilder trace;
  trace.call(80, ChangeDirectoryPath{trace.here("entered")});
  FileState state;
  state.source = StateSource::kFirstTouch;
  state.file = regular_of(95);
  state.parent = directory_of(94);
  state.name = "file";
  state.size = 77;
  trace.events.emplace_back(state);
  trace.time += Nanoseconds(1000);
  trace.open(at("file", kAtCurrentDirectory, directory_of(94)), O_RDONLY, 3, regular_of(95));
  trace.unlink(at("file", kAtCurrentDirectory, directory_of(94)));
  const Replayed run(trace, RootOptions{{{"/mnt/job", "/"}}, false});
  EXPECT_THAT(paths_of(run.tree.nodes), ElementsAre("/entered", "/entered/file"));
  EXPECT_EQ(run.node("/entered/file")->size, 77U);
}

TEST(Engine, ADirectoryStattedThenEnteredIsTheOneCallsAreMadeIn) {
  TraceBuilder trace;
  trace.mkdir(trace.here("p"));
  FileState state;
  state.source = StateSource::kStatCall;
  state.file = directory_of(96);
  state.path = "/mnt/job/p";
  trace.events.emplace_back(state);
  trace.call(80, ChangeDirectoryPath{trace.here("p")});
  FileReference with_generation = directory_of(96);
  with_generation.identity.generation = 5;
  trace.open(at("f", kAtCurrentDirectory, with_generation), O_CREAT | O_EXCL, 3, regular_of(97));
  const Replayed run(trace, RootOptions{{{"/mnt/job", "/"}}, false});
  EXPECT_THAT(run.tree.nodes, IsEmpty());
  EXPECT_EQ(run.skipped(SkipReason::kExternal), 0U);
}

TEST(Engine, AFifoIsNamedButNotOpened) {
  TraceBuilder trace;
  trace.mount(DeviceId(21), "/proc", "proc");
  const FileReference fifo{{DeviceId(20), 0, InodeNumber(91), 0}, FileKind::kFifo};
  trace.call(259, MakeNode{trace.here("pipe"), S_IFIFO | 0600, 0});
  trace.open(trace.here("pipe"), O_PATH | O_NOFOLLOW, 4, fifo);
  trace.call(90, ChangeModePath{at("/proc/self/fd/4", kAtCurrentDirectory, directory_of(kCwdInode)), 0644, 0});
  trace.open(trace.here("pipe"), O_RDONLY, 5, fifo);
  const Replayed run(trace);
  EXPECT_EQ(run.target.of<Open>().size(), 1U);
  ASSERT_EQ(run.target.of<ChangeModePath>().size(), 1U);
  EXPECT_EQ(run.target.of<ChangeModePath>()[0].path.bytes, "/pipe");
  EXPECT_EQ(run.skipped(SkipReason::kNotAFile), 1U);
}

TEST(Engine, AWorkingDirectoryKnownByItsInodeAloneIsARoot) {
  TraceBuilder trace;
  trace.events.pop_back();  // the context: no path was recorded
  trace.open(trace.here("../archive"), O_RDONLY, 3, regular_of(7));
  trace.mkdir(trace.here("src"));
  trace.open(trace.here("src/f"), O_CREAT | O_EXCL, 4, regular_of(8));
  trace.unlink(trace.here("old"));
  const Replayed run(trace);
  EXPECT_THAT(paths_of(run.tree.nodes), ElementsAre("/old"));
  EXPECT_EQ(run.skipped(SkipReason::kExternal), 1U);
  EXPECT_EQ(run.target.of<Open>()[0].path.bytes, "src/f");
}

TEST(Engine, AStatResultWithoutAGenerationIsTheSameFile) {
  TraceBuilder trace;
  FileReference with_generation = directory_of(10);
  with_generation.identity.generation = 77;
  FileState state;
  state.source = StateSource::kStatCall;
  state.file = directory_of(10);
  state.parent = directory_of(kCwdInode);
  state.name = "d6";
  trace.events.emplace_back(state);
  trace.open(trace.here("d6"), O_RDONLY | O_DIRECTORY, 3, with_generation);
  trace.unlink(at("x", 3, with_generation));
  trace.events.emplace_back(state);
  trace.unlink(trace.here("d6"), AT_REMOVEDIR);
  const Replayed run(trace);
  EXPECT_THAT(paths_of(run.tree.nodes), ElementsAre("/d6", "/d6/x"));
}

TEST(Engine, AStateNamesItsFileAsTheCallDid) {
  TraceBuilder trace;
  FileState state;
  state.source = StateSource::kFirstTouch;
  state.file = regular_of(11);
  state.parent = directory_of(kCwdInode);
  state.name = "a/b/file";
  state.size = 12;
  trace.events.emplace_back(state);
  trace.time += Nanoseconds(1000);
  trace.open(trace.here("a/b/file"), O_WRONLY | O_TRUNC, 3, regular_of(11));
  trace.unlink(trace.here("z"));
  const Replayed run(trace);
  EXPECT_THAT(paths_of(run.tree.nodes), ElementsAre("/a", "/z", "/a/b", "/a/b/file"));
  EXPECT_EQ(run.node("/a/b/file")->size, 12U);
}

TEST(Engine, PathsThatLeaveTheRootAndComeBackAreRewritten) {
  TraceBuilder trace;
  trace.unlink(trace.here("../job/file"));
  trace.unlink(trace.here("a/../b"));
  const Replayed run(trace, RootOptions{{{"/mnt/job", "/"}}, false});
  EXPECT_EQ(run.target.of<Unlink>()[0].path.bytes, "/file");
  EXPECT_EQ(run.target.of<Unlink>()[1].path.bytes, "a/../b");
}

TEST(Engine, TheWorkingDirectoryIsFollowed) {
  TraceBuilder trace;
  trace.mkdir(trace.here("d"));
  trace.call(80, ChangeDirectoryPath{trace.here("d")});
  // The recorder saw the new directory's identity in the next call.
  trace.open(at("in", kAtCurrentDirectory, directory_of(90)), O_CREAT | O_EXCL, 3, regular_of(91));
  trace.call(80, ChangeDirectoryPath{at("/etc", kAtCurrentDirectory, directory_of(90))});
  trace.context(kOne, "/etc", 77, DeviceId::of(8, 1));
  trace.unlink(at("/mnt/job/d/in", kAtCurrentDirectory, file_of(77, FileKind::kDirectory, DeviceId::of(8, 1))));
  const Replayed run(trace);
  EXPECT_EQ(run.target.of<ChangeDirectoryPath>().size(), 1U);
  EXPECT_EQ(run.skipped(SkipReason::kExternal), 1U);
  EXPECT_EQ(run.target.of<Open>()[0].path.directory.number, kAtCurrentDirectory);
  EXPECT_EQ(run.target.of<Unlink>()[0].path.bytes, "/d/in");
}

// ---- descriptors ----

TEST(Engine, DuplicatesOverAnOpenDescriptorReplaceItsHandle) {
  TraceBuilder trace;
  trace.open(trace.here("a"), O_CREAT | O_EXCL | O_RDWR, 3, regular_of(1));
  trace.open(trace.here("b"), O_CREAT | O_EXCL | O_RDWR, 4, regular_of(3));
  trace.call(33, Duplicate{fd(3, regular_of(1)), 4, 0, -1}, {4, 0});
  trace.write(fd(4, regular_of(1)), 0, 1);
  trace.call(33, Duplicate{fd(3, regular_of(1)), 9, 0, -1}, {9, 0});  // 9 is free: any number will do
  trace.write(fd(9, regular_of(1)), 0, 1);
  trace.call(72, Duplicate{fd(3, regular_of(1)), 50, 0, F_DUPFD_CLOEXEC}, {50, 0});
  const Replayed run(trace, [](FakeTarget& target) {
    target.answer = [&target](const TargetCall& call) -> OpOutcome {
      const auto* dup = std::get_if<Duplicate>(&call.operation);
      return dup != nullptr && call.number == 33 ? OpOutcome{dup->target, 0} : target.success(call);
    };
  });
  const auto dups = run.target.of<Duplicate>();
  ASSERT_EQ(dups.size(), 3U);
  EXPECT_EQ(dups[0].descriptor.number, 100);
  EXPECT_EQ(dups[0].target, 101);
  EXPECT_EQ(run.target.calls[4].number, 32U);  // became dup
  EXPECT_EQ(dups[2].target, 0);
  EXPECT_EQ(run.target.of<Write>()[0].descriptor.number, 101);
  EXPECT_EQ(run.target.of<Write>()[1].descriptor.number, 102);
  EXPECT_EQ(run.report.mismatches, 0U);
}

TEST(Engine, APipeOverAFileClosesTheFileAndIsSkipped) {
  TraceBuilder trace;
  trace.call(22, MakeDescriptor{5, 6, 0});
  trace.open(trace.here("a"), O_CREAT | O_EXCL | O_RDWR, 3, regular_of(1));
  trace.call(33, Duplicate{fd(5, file_of(500, FileKind::kFifo)), 3, 0, -1}, {3, 0});
  trace.write(fd(3, file_of(500, FileKind::kFifo)), -1, 1);
  const Replayed run(trace);
  EXPECT_EQ(run.skipped(SkipReason::kNotAFile), 3U);
  ASSERT_EQ(run.target.of<Close>().size(), 1U);
  EXPECT_EQ(run.target.of<Close>()[0].descriptor.number, 100);
  EXPECT_EQ(run.report.housekeeping, 1U);
  EXPECT_EQ(run.report.issued, 1U);
}

TEST(Engine, ForkCopiesAndThreadsShareTheTable) {
  TraceBuilder trace;
  trace.open(trace.here("a"), O_CREAT | O_EXCL | O_RDWR, 3, regular_of(1));
  trace.start(kTwo, kOne, SIGCHLD);
  constexpr ThreadKey kThird{ProcessId(10), ThreadId(11)};
  trace.start(kThird, kOne, CLONE_FILES | CLONE_FS | CLONE_VM | CLONE_THREAD);
  trace.close(fd(3, regular_of(1)), kThird);                        // closes it for the first process ...
  trace.open(trace.here("b"), O_CREAT | O_EXCL, 3, regular_of(3));  // ... which gets the number again
  trace.write(fd(3, regular_of(1)), 0, 8, kTwo);                    // the child still has the old file
  trace.write(fd(3, regular_of(3)), 0, 8, kThird);
  const Replayed run(trace);
  const auto writes = run.target.of<Write>();
  ASSERT_EQ(writes.size(), 2U);
  EXPECT_EQ(writes[0].descriptor.number, 100);
  EXPECT_EQ(writes[1].descriptor.number, 101);
  ASSERT_EQ(run.target.starts.size(), 3U);
  EXPECT_FALSE(run.target.starts[1].share_descriptors);
  EXPECT_TRUE(run.target.starts[2].share_descriptors);
  EXPECT_EQ(run.target.starts[1].parent, run.target.starts[0].thread);
  EXPECT_TRUE(run.report.serialised);
}

TEST(Engine, ExecClosesWhatWasMarked) {
  TraceBuilder trace;
  trace.open(trace.here("a"), O_CREAT | O_EXCL | O_CLOEXEC, 3, regular_of(1));
  trace.open(trace.here("b"), O_CREAT | O_EXCL, 4, regular_of(3));
  trace.call(72, ControlDescriptor{fd(4, regular_of(3)), F_SETFD, FD_CLOEXEC});
  trace.open(trace.here("c"), O_CREAT | O_EXCL, 5, regular_of(4));
  trace.exec(kOne);
  trace.write(fd(5, regular_of(4)), 0, 1);
  const Replayed run(trace);
  std::vector<std::int32_t> closed;
  for (const Close& close : run.target.of<Close>()) closed.push_back(close.descriptor.number);
  EXPECT_THAT(closed, testing::UnorderedElementsAre(100, 101));
  EXPECT_EQ(run.target.of<Write>()[0].descriptor.number, 102);
}

TEST(Engine, UnshareGivesTheThreadItsOwnTable) {
  TraceBuilder trace;
  trace.open(trace.here("a"), O_CREAT | O_EXCL, 3, regular_of(1));
  trace.start(kTwo, kOne, CLONE_FILES);
  trace.call(272, ProcessCall{CLONE_FILES, 0}, {}, kTwo);
  trace.close(fd(3, regular_of(1)), kTwo);
  trace.write(fd(3, regular_of(1)), 0, 1);
  const Replayed run(trace);
  EXPECT_EQ(run.target.of<Write>()[0].descriptor.number, 100);
  EXPECT_EQ(run.report.mismatches, 0U);
  EXPECT_FALSE(run.target.starts.back().share_descriptors);
  EXPECT_EQ(run.skipped(SkipReason::kProcessOnly), 1U);
}

TEST(Engine, InheritedDescriptorsAreReopenedAtTheirOffset) {
  TraceBuilder trace;
  InheritedDescriptor held;
  held.thread = kOne;
  held.descriptor = fd(7, regular_of(44));
  held.flags = O_RDWR | O_CREAT | O_TRUNC;
  held.offset = 4096;
  held.path = "/mnt/job/data/base";
  trace.events.emplace_back(held);
  trace.write(fd(7, regular_of(44)), 4096, 10);
  const Replayed run(trace, RootOptions{{{"/mnt/job", "/"}}, false});
  const auto opens = run.target.of<Open>();
  ASSERT_EQ(opens.size(), 1U);
  EXPECT_EQ(opens[0].path.bytes, "/data/base");
  EXPECT_EQ(opens[0].flags, O_RDWR);
  EXPECT_EQ(run.target.of<Seek>()[0].offset, 4096);
  EXPECT_EQ(run.target.of<Write>()[0].descriptor.number, 100);
  EXPECT_EQ(run.report.issued, 1U);
  EXPECT_NE(run.node("/data/base"), nullptr);
}

TEST(Engine, CloseRangeClosesExactlyTheRange) {
  TraceBuilder trace;
  for (std::int32_t number = 3; number < 7; ++number)
    trace.open(trace.here("f" + std::to_string(number)), O_CREAT | O_EXCL, number, regular_of(number));
  trace.call(436, CloseRange{4, 5, 0});
  trace.write(fd(6, regular_of(6)), 0, 1);
  trace.write(fd(4, regular_of(4)), 0, 1).outcome = {-1, EBADF};
  const Replayed run(trace, [](FakeTarget& target) {
    target.answer = [&target](const TargetCall& call) -> OpOutcome {
      const auto* write = std::get_if<Write>(&call.operation);
      return write != nullptr && write->descriptor.number < 0 ? OpOutcome{-1, EBADF} : target.success(call);
    };
  });
  EXPECT_EQ(run.target.of<CloseRange>()[0].first, 101);
  EXPECT_EQ(run.target.of<CloseRange>()[0].last, 101);
  EXPECT_EQ(run.target.of<Close>()[0].descriptor.number, 102);
  EXPECT_EQ(run.target.of<Write>()[0].descriptor.number, 103);
  EXPECT_EQ(run.report.mismatches, 0U);
}

TEST(Engine, ADescriptorNobodySawOpenedIsLostNotGuessed) {
  TraceBuilder trace;
  trace.unlink(trace.here("x"));
  trace.write(fd(12, regular_of(99)), 0, 1);
  const Replayed run(trace);
  EXPECT_EQ(run.skipped(SkipReason::kLostHandle), 1U);
  EXPECT_TRUE(run.report.diverged(true));
  EXPECT_FALSE(run.report.diverged(false));
}

// ---- roots ----

TEST(Engine, CallsOutsideEveryRootAreExternal) {
  TraceBuilder trace;
  const FileReference library = file_of(900, FileKind::kRegular, DeviceId::of(8, 1));
  trace.open(at("/usr/lib/libc.so", kAtCurrentDirectory, directory_of(kCwdInode)), O_RDONLY, 3, library);
  trace.read(fd(3, library), 0, 832);
  trace.close(fd(3, library));
  trace.unlink(trace.here("x"));
  const Replayed run(trace);
  EXPECT_EQ(run.skipped(SkipReason::kExternal), 3U);
  EXPECT_EQ(run.report.issued, 1U);
  EXPECT_EQ(run.node("/usr"), nullptr);
  const Replayed everything(trace, RootOptions{{}, true});
  EXPECT_EQ(everything.skipped(SkipReason::kExternal), 0U);
  EXPECT_EQ(everything.target.of<Open>()[0].path.bytes, "/external/usr/lib/libc.so");
  ASSERT_NE(everything.node("/external/usr/lib/libc.so"), nullptr);
  EXPECT_EQ(everything.node("/external/usr/lib/libc.so")->size, 832U);
}

TEST(Engine, TheTopOfARootNamedFromOutsideIsTheTargetsTop) {
  TraceBuilder trace;
  const FileReference top = directory_of(kCwdInode);
  trace.unlink(trace.here("x"));
  trace.open(at("/mnt/job", kAtCurrentDirectory, top), O_RDONLY, 3, top);
  trace.call(306, Sync{fd(3, top)});
  const Replayed run(trace);
  EXPECT_EQ(run.skipped(SkipReason::kExternal), 0U);
  ASSERT_EQ(run.target.of<Open>().size(), 1U);
  EXPECT_EQ(run.target.of<Open>()[0].path.bytes, "/");
  EXPECT_EQ(run.target.of<Sync>().size(), 1U);
}

TEST(Engine, TwoMountsHaveTwoRoots) {
  TraceBuilder trace;
  trace.mount(DeviceId::of(7, 9), "/mnt/fast", "xfs");
  trace.unlink(trace.here("a"));
  trace.unlink(trace.here("b"));
  trace.unlink(at("/mnt/fast/wal/0001", kAtCurrentDirectory, directory_of(kCwdInode)));
  const Replayed run(trace);
  EXPECT_THAT(paths_of(run.tree.nodes), ElementsAre("/job", "/job/a", "/job/b", "/wal", "/wal/0001"));
  EXPECT_EQ(run.target.of<Unlink>()[2].path.bytes, "/wal/0001");
  EXPECT_EQ(run.target.starts[0].working_directory, "/job");
}

TEST(Engine, AMappingThatLeavesChangesOutsideStopsAndNamesTheOneNeeded) {
  TraceBuilder trace;
  trace.mount(DeviceId::of(7, 9), "/mnt/fast", "xfs");
  trace.unlink(trace.here("a"));
  trace.unlink(at("/mnt/fast/wal/0001", kAtCurrentDirectory, directory_of(kCwdInode)));
  const Replayed run(trace, RootOptions{{{"/mnt/job", "/"}}, false});
  EXPECT_THAT(run.error, testing::HasSubstr("--map /mnt/fast/wal=/wal"));
  EXPECT_THAT(run.target.calls, IsEmpty());
}

// ---- outcomes ----

TEST(Engine, FailedCallsAreIssuedAndExpectedToFailAlike) {
  TraceBuilder trace;
  trace.unlink(trace.here("no/such"), 0, {-1, ENOENT});
  trace.unlink(trace.here("gone"), 0, {-1, ENOENT});
  trace.unlink(trace.here("there"));
  const Replayed run(trace, [](FakeTarget& target) {
    target.answer = [](const TargetCall& call) -> OpOutcome {
      return std::get<Unlink>(call.operation).path.bytes == "there" ? OpOutcome{} : OpOutcome{-1, ENOENT};
    };
  });
  EXPECT_EQ(run.report.issued, 3U);
  EXPECT_EQ(run.report.mismatches, 0U);
  EXPECT_THAT(paths_of(run.tree.nodes), ElementsAre("/there"));
}

TEST(Engine, MismatchesAreCountedByCallAndTheFirstAreShown) {
  TraceBuilder trace;
  trace.open(trace.here("f"), O_RDWR, 3, regular_of(1));
  trace.read(fd(3, regular_of(1)), 0, 100);
  for (int i = 0; i < 20; ++i) trace.unlink(trace.here("x" + std::to_string(i)));
  trace.call(285, Allocate{fd(3, regular_of(1)), 0, 0, 4096});
  const Replayed run(trace, [](FakeTarget& target) {
    target.answer = [&target](const TargetCall& call) -> OpOutcome {
      if (std::holds_alternative<Unlink>(call.operation)) return {-1, EACCES};
      if (std::holds_alternative<Allocate>(call.operation)) return {-1, EOPNOTSUPP};
      if (std::holds_alternative<Read>(call.operation)) return {99, 0};
      return target.success(call);
    };
  });
  EXPECT_EQ(run.report.mismatches, 21U);
  EXPECT_EQ(run.report.by_number.at(kUnlinkat).mismatched, 20U);
  EXPECT_EQ(run.report.unsupported, 1U);
  ASSERT_EQ(run.report.first_mismatches.size(), kListedMismatches);
  EXPECT_EQ(run.report.first_mismatches[0].got, (OpOutcome{99, 0}));
  EXPECT_EQ(run.report.first_mismatches[1].what, "x0");
  EXPECT_TRUE(run.report.diverged(false));
}

TEST(Engine, AnOpenThatShouldHaveFailedLeavesNothingOpen) {
  TraceBuilder trace;
  trace.unlink(trace.here("x"));
  trace.open(trace.here("absent"), O_RDONLY, 0, {}).outcome = {-1, ENOENT};
  const Replayed run(trace);
  EXPECT_EQ(run.report.mismatches, 1U);
  ASSERT_EQ(run.target.of<Close>().size(), 1U);
  EXPECT_EQ(run.target.of<Close>()[0].descriptor.number, 100);
}

TEST(Engine, EveryCallIsIssuedOrSkippedForAReason) {
  TraceBuilder trace = removal();
  trace.call(9, MapMemory{fd(-1, {}), 0, 4096, 3, 0x22, 0}, {0x7f0000, 0});
  trace.call(56, ProcessCall{SIGCHLD, 0}, {20, 0});
  trace.call(425, MakeDescriptor{}, {8, 0});
  trace.call(165, AdministerPath{trace.here("a"), trace.here("b"), 0}, {-1, EPERM});
  trace.call(999, OtherCall{});
  trace.unlink(trace.here("never")).unfinished = true;
  PathArgument hidden;
  hidden.state = TextState::kHidden;
  trace.unlink(hidden);
  const Replayed run(trace);
  EXPECT_EQ(run.report.calls, 17U);
  EXPECT_TRUE(run.report.adds_up());
  EXPECT_EQ(run.skipped(SkipReason::kMemoryOnly), 1U);
  EXPECT_EQ(run.skipped(SkipReason::kProcessOnly), 1U);
  EXPECT_EQ(run.skipped(SkipReason::kNotAFile), 1U);
  EXPECT_EQ(run.skipped(SkipReason::kNotReplayable), 3U);
  EXPECT_EQ(run.skipped(SkipReason::kUnresolvedPath), 1U);
  ASSERT_EQ(run.listener.calls.size(), 17U);
  for (const Syscall& call : run.listener.calls) ASSERT_TRUE(call.replay.has_value());
  EXPECT_EQ(run.listener.calls[0].replay->source, EventId(3));
}

TEST(Engine, ALockThatWaitedMayBeOvertaken) {
  TraceBuilder trace;
  trace.open(trace.here("l"), O_CREAT | O_EXCL, 3, regular_of(1));
  trace.start(kTwo, kOne, 0);
  trace.call(73, Lock{fd(3, regular_of(1)), LOCK_EX}, {}, kTwo).blocked = Nanoseconds(50);
  trace.call(73, Lock{fd(3, regular_of(1)), LOCK_UN});
  trace.write(fd(3, regular_of(1)), 0, 1, kTwo);
  const Replayed run(trace, [](FakeTarget& target) {
    target.hold = [&target](const TargetCall& call) {
      const auto* lock = std::get_if<Lock>(&call.operation);
      const auto released = target.of<Lock>();
      return lock != nullptr && lock->command == LOCK_EX && released.back().command == LOCK_EX;
    };
  });
  EXPECT_EQ(run.report.issued, 4U);
  EXPECT_EQ(run.listener.calls.size(), 4U);
  EXPECT_EQ(run.report.mismatches, 0U);
}

TEST(Engine, MappingsAreUnmappedWhereTheTargetMappedThem) {
  TraceBuilder trace;
  trace.open(trace.here("m"), O_RDWR, 3, regular_of(1));
  trace.call(9, MapMemory{fd(3, regular_of(1)), 0, 16384, 3, 1, 0}, {0x10000, 0});
  trace.call(26, ControlMemory{0x11000, 4096, 4, 0, 0});
  trace.call(11, ControlMemory{0x10000, 16384, 0, 0, 0});
  trace.call(11, ControlMemory{0x10000, 16384, 0, 0, 0});
  trace.unlink(trace.here("m"));
  const Replayed run(trace, [](FakeTarget& target) {
    target.answer = [&target](const TargetCall& call) -> OpOutcome {
      return std::holds_alternative<MapMemory>(call.operation) ? OpOutcome{0x900000, 0} : target.success(call);
    };
  });
  const auto controls = run.target.of<ControlMemory>();
  ASSERT_EQ(controls.size(), 2U);
  EXPECT_EQ(controls[0].address, 0x901000);
  EXPECT_EQ(controls[1].address, 0x900000);
  EXPECT_EQ(run.skipped(SkipReason::kMemoryOnly), 1U);
}

TEST(Engine, AStopRequestEndsTheReplayWithWhatWasDone) {
  EngineOptions options;
  int asked = 0;
  options.stop_requested = [&asked] { return ++asked > 8; };
  const Replayed run(removal(), RootOptions{}, options);
  EXPECT_TRUE(run.report.stopped);
  EXPECT_LT(run.report.calls, 10U);
  EXPECT_TRUE(run.report.adds_up());
}

// ---- roots, outputs, selections, stops ----

TEST(Engine, ARootWithinARootIsReachedFromOutsideAndFromAbove) {
  TraceBuilder trace;
  trace.open(trace.here("outer/file"), O_CREAT | O_WRONLY, 3, regular_of(60));
  trace.open(trace.here("outer/deep/inner/file"), O_CREAT | O_WRONLY, 4, regular_of(61));
  trace.open(trace.here("outer"), O_RDONLY | O_DIRECTORY, 5, directory_of(62));
  trace.open(at("deep/inner/other", 5, directory_of(62)), O_CREAT | O_WRONLY, 6, regular_of(63));
  trace.unlink(at("file", 5, directory_of(62)));
  RootOptions options;
  options.mappings = {{"/mnt/job", "/"}, {"/mnt/job/outer/deep/inner", "/apart"}};
  const Replayed run(trace, options);
  const auto opens = run.target.of<Open>();
  ASSERT_EQ(opens.size(), 4U) << run.error;
  EXPECT_EQ(opens[0].path.bytes, "outer/file");
  EXPECT_EQ(opens[1].path.bytes, "/apart/file");
  EXPECT_EQ(opens[3].path.bytes, "/apart/other");
  EXPECT_THAT(paths_of(run.tree.nodes), ElementsAre("/outer", "/outer/deep", "/apart"));
}

TEST(Engine, ARootMappedIntoAnothersTreeIsMadeOnce) {
  TraceBuilder trace;
  trace.open(trace.here("a/b/c/file"), O_CREAT | O_WRONLY, 3, regular_of(60));
  trace.open(trace.here("a/b/other"), O_CREAT | O_WRONLY, 4, regular_of(61));
  RootOptions options;
  options.mappings = {{"/mnt/job/a/b/c", "/a/b/c"}, {"/mnt/job", "/"}};
  const Replayed run(trace, options);
  EXPECT_THAT(paths_of(run.tree.nodes), ElementsAre("/a", "/a/b", "/a/b/c")) << run.error;
}

TEST(Engine, WhereTheShellSentTheOutputIsNoRoot) {
  TraceBuilder trace;
  trace.mount(DeviceId::of(7, 9), "/logs", "ext4");
  InheritedDescriptor output;
  output.thread = kOne;
  output.descriptor = fd(1, file_of(70, FileKind::kRegular, DeviceId::of(7, 9)));
  output.path = "/logs/out.txt";
  trace.events.emplace_back(output);
  trace.write(output.descriptor, 0, 100);
  trace.open(trace.here("file"), O_CREAT | O_WRONLY, 3, regular_of(60));
  trace.write(fd(3, regular_of(60)), 0, 100);
  const Replayed run(trace);
  ASSERT_EQ(run.roots.all().size(), 1U) << run.error;
  EXPECT_EQ(run.roots.all()[0].from, "/mnt/job");
  EXPECT_EQ(run.skipped(SkipReason::kExternal), 1U);
}

TEST(Engine, CallsThatWereNotSelectedAreSkippedAsIfCutAway) {
  TraceBuilder trace;
  trace.open(trace.here("early"), O_CREAT | O_WRONLY, 3, regular_of(60));
  trace.write(fd(3, regular_of(60)), 0, 100);
  const Nanoseconds middle = trace.time;
  trace.open(trace.here("late"), O_CREAT | O_WRONLY, 4, regular_of(61));
  trace.unlink(trace.here("early"));
  SelectionOptions selection;
  selection.from = middle - trace.header.anchor_time;
  const auto open = select_events(open_events(trace.header, trace.events), selection);
  auto survey = survey_trace(**open(), std::nullopt).value();
  EXPECT_EQ(survey.calls, 2U);
  EXPECT_EQ(survey.unselected, 2U);
  const auto roots = choose_roots(survey, {}).value();
  const BuiltTree tree = build_initial_tree(survey, roots);
  EXPECT_THAT(paths_of(tree.nodes), ElementsAre("/early")) << "what the part removes was there when it began";
  FakeTarget target;
  Listener listener;
  const auto report =
      run_replay_pass(**open(), survey.model->names().rewound(), roots, target, EngineOptions{}, &listener).value();
  EXPECT_EQ(report.calls, 4U);
  EXPECT_EQ(report.issued, 2U);
  EXPECT_EQ(report.skipped[static_cast<std::size_t>(SkipReason::kNotSelected)], 2U);
  EXPECT_EQ(listener.calls.size(), 4U) << "a result tells of every call";
}

TEST(Engine, AStopDuringACallKeepsWhatWasDone) {
  bool stop = false;
  EngineOptions options;
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
  EXPECT_EQ(run.listener.calls.size(), 2U);
}

TEST(Survey, CountsTheThreadsThatLiveAtOnce) {
  TraceBuilder trace;
  for (std::int32_t i = 0; i < 6; ++i) {
    const ThreadKey thread{ProcessId(100 + i), ThreadId(100 + i)};
    trace.start(thread, kOne, 0);
    if (i % 2 == 0) continue;
    trace.end(thread);
  }
  trace.mkdir(trace.here("d"));
  const auto survey = survey_trace(**open_events(trace.header, trace.events)(), std::nullopt).value();
  EXPECT_EQ(survey.most_threads, 4U);
}

TEST(Survey, NamesDirectoriesWhosePlaceNobodyTold) {
  TraceBuilder trace;
  trace.mkdir(trace.here("d"));
  trace.unlink(at("x", 7, directory_of(900)));
  trace.unlink(at("y", 7, directory_of(900)));
  const auto survey = survey_trace(**open_events(trace.header, trace.events)(), std::nullopt).value();
  const auto unplaced = survey.unplaced();
  ASSERT_EQ(unplaced.size(), 1U);
  EXPECT_EQ(unplaced[0].calls, 4U) << "two removals, each a change and a reading";
  RootOptions options;
  options.mappings = {{"/mnt/job", "/"}, {unplaced[0].path, "/found"}};
  const Replayed run(trace, options);
  EXPECT_EQ(run.error, "");
  EXPECT_THAT(paths_of(run.tree.nodes), ElementsAre("/found", "/found/x", "/found/y"));
}

}  // namespace
}  // namespace iotape::test
