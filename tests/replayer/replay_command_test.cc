// replay as a user runs it, on traces made for the occasion.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "format/trace_files.h"
#include "tests/replayer/fake_target.h"
#include "tests/support/test_support.h"

namespace iotape::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class ReplayCommand : public testing::Test {
 protected:
  std::string save(const TraceBuilder& trace, const std::string& name = "t.iotape") {
    const std::string path = scratch_ / name;
    TraceHeader header = trace.header;
    header.has_syscalls = true;
    auto writer =
        TraceWriter::create(create_output(path, false).value(), header, {.resolution = Nanoseconds(1)}).value();
    std::uint64_t calls = 0;
    for (const EventBody& event : trace.events) {
      calls += std::holds_alternative<Syscall>(event) ? 1 : 0;
      EXPECT_TRUE(writer->append(event));
    }
    TraceTotals totals;
    totals.seen = calls;
    EXPECT_TRUE(writer->finish(totals));
    return path;
  }
  static CommandOutput iotape(std::vector<std::string> words) {
    words.insert(words.begin(), IOTAPE_BINARY);
    return run_program(words);
  }
  ScratchDirectory scratch_;
};

TraceBuilder some_directories(int count) {
  TraceBuilder trace;
  for (int i = 0; i < count; ++i) trace.mkdir(trace.here("directory" + std::to_string(i)));
  return trace;
}

TEST_F(ReplayCommand, WhatIsNotSelectedIsCountedAsSkipped) {
  const std::string trace = save(some_directories(10));
  const auto run = iotape({"replay", "--json", trace, "null:", "--path", "directory3", "--path", "directory4"});
  ASSERT_EQ(run.status, 0) << run.err;
  const json replay = json::parse(run.out)["replay"];
  EXPECT_EQ(replay["calls"], 10);
  EXPECT_EQ(replay["issued"], 2);
  EXPECT_EQ(replay["skipped_by_reason"]["not_selected"], 8);
}

TEST_F(ReplayCommand, ASelectionThatMatchesNothingSaysWhich) {
  const std::string trace = save(some_directories(3));
  const auto none = iotape({"replay", trace, "null:", "--path", "/no/such", "--process", "nobody"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("nothing matches --path /no/such"));
  EXPECT_THAT(none.err, HasSubstr("nothing matches --process nobody"));
  EXPECT_THAT(none.err, HasSubstr("leaves none of the 3 calls"));
  const auto requests = iotape({"replay", trace, "null:", "--op", "write"});
  EXPECT_EQ(requests.status, 2);
  EXPECT_THAT(requests.err, HasSubstr("a replay repeats system calls"));
}

TEST_F(ReplayCommand, ADamagedTraceThatHoldsNothingToReplayIsCalledDamaged) {
  const std::string path = save(some_directories(30));
  const std::string bytes = test::read_file(path);
  const std::string cut = scratch_ / "cut.iotape";
  test::write_file(cut, bytes.substr(0, bytes.size() / 2));
  const auto run = iotape({"replay", cut, "null:"});
  EXPECT_EQ(run.status, 4) << run.err;
  EXPECT_THAT(run.err, HasSubstr("cut.iotape is damaged or interrupted"));
  EXPECT_THAT(run.err, HasSubstr("`iotape info`"));
}

// --force is for what a run before left, not for what this one needs.
TEST_F(ReplayCommand, NothingThatIsReadOrWorkedOnIsOverwritten) {
  const std::string trace = save(some_directories(3));
  const std::string before = test::read_file(trace);
  const std::string link = scratch_ / "link.iotape";
  const std::string picture = scratch_ / "link.svg";
  ASSERT_EQ(::symlink(trace.c_str(), link.c_str()), 0);
  ASSERT_EQ(::symlink(trace.c_str(), picture.c_str()), 0);
  const std::string image = scratch_ / "disk.img";
  ASSERT_EQ(iotape({"mkfs", image, "16M"}).status, 0);
  const std::string disk = test::read_file(image);
  const std::string fresh = scratch_ / "fresh.img";
  const std::vector<std::vector<std::string>> commands{
      {"replay", trace, "null:", "--force", "-o", trace},
      {"replay", trace, "null:", "--force", "-o", link},
      {"replay", trace, "ext3:" + image, "--force", "-o", image},
      {"replay", trace, "ext3:" + fresh + ",size=16M", "--force", "-o", fresh},
      {"experiment", trace, "--target", "null:", "-o", trace, "--force"},
      {"plot", trace, "-o", picture, "--force"},
      {"check", image, "--trace", image, "--force"},
      {"mkfs", image, "--trace", image, "--force"},
      {"mount", image, scratch_.path().string(), "--trace", image, "--force"}};
  for (const auto& command : commands) {
    const auto run = iotape(command);
    EXPECT_NE(run.status, 0) << fmt::format("{}", fmt::join(command, " "));
    EXPECT_THAT(run.err, HasSubstr("would be overwritten")) << fmt::format("{}", fmt::join(command, " "));
    EXPECT_EQ(test::read_file(trace), before);
    EXPECT_EQ(test::read_file(image), disk);
    EXPECT_EQ(::access(fresh.c_str(), F_OK), -1);
  }
}

TEST_F(ReplayCommand, MoreThreadsThanATargetCarriesAreFoundBeforeItIsMade) {
  TraceBuilder trace = some_directories(1);
  for (std::int32_t i = 0; i < 5000; ++i)
    trace.start({ProcessId(10), ThreadId(1000 + i)}, kOne, CLONE_FILES | CLONE_FS | CLONE_VM);
  const std::string place = scratch_ / "target";
  const auto run = iotape({"replay", save(trace), place});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("threads of the trace live at once"));
  EXPECT_FALSE(std::filesystem::exists(place));
}

TEST_F(ReplayCommand, DirectoriesWithoutAPlaceAreWarnedOfWithTheirMapping) {
  TraceBuilder trace = some_directories(200);
  trace.unlink(at("x", 7, directory_of(900)));
  const auto run = iotape({"replay", save(trace), "null:"});
  EXPECT_THAT(run.err, HasSubstr("warning: the trace does not tell where 1 directories lie"));
  EXPECT_THAT(run.err, HasSubstr("--map '/(unplaced)/"));
}

TEST_F(ReplayCommand, LinesAreNarrowAndHintsCanBePasted) {
  const std::string trace = save(some_directories(3), "od'd \x1b[31m\nname.iotape");
  const auto run = iotape({"replay", trace, "null:"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(run.err, HasSubstr("od\\47d \\33[31m\\nname.iotape'"));
  EXPECT_THAT(run.out, Not(HasSubstr("\x1b")));
  const auto info =
      run_shell("set -- " + run.err.substr(run.err.find("$'"), run.err.find("' null:") + 1 - run.err.find("$'")) +
                "; test -e \"$1\" && echo there");
  EXPECT_EQ(info.out, "there\n") << run.err;
}

TEST_F(ReplayCommand, WithoutTheRightToRecordTheResultHoldsTheCallsAndTheReplaySaysSo) {
  const std::string trace = save(some_directories(20));
  const std::string result = scratch_ / "result.iotape";
  // In a user namespace of its own root is nobody in particular.
  const std::string without = "unshare --user --map-user=1000 --map-group=1000 ";
  const auto run = run_shell(without + IOTAPE_BINARY + " replay " + trace + " dir:" + (scratch_ / "target") +
                             ",reserve=0 -o " + result);
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("the result will hold calls only: "));
  const auto info = iotape({"info", "--json", result});
  ASSERT_EQ(info.status, 0) << info.err;
  EXPECT_EQ(json::parse(info.out)["syscalls"], 20) << info.out;
}

// The second process waits for the first one's lock until it is told to stop.
TraceBuilder a_wait_without_end() {
  TraceBuilder trace = some_directories(100);
  trace.context(kTwo, "/mnt/job", kCwdInode);
  const auto lock = [&](std::int64_t command, ThreadKey thread) {
    Lock op;
    op.descriptor = fd(3, regular_of(60));
    op.command = command;
    op.type = F_WRLCK;
    trace.call(72, op, {0, 0}, thread);
  };
  trace.open(trace.here("file"), O_CREAT | O_RDWR, 3, regular_of(60));
  lock(F_SETLK, kOne);
  trace.open(trace.here("file"), O_RDWR, 3, regular_of(60), kTwo);
  lock(F_SETLKW, kTwo);
  trace.mkdir(trace.here("never"));
  return trace;
}

class StoppedReplay : public ReplayCommand, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Signals, StoppedReplay, testing::Values(SIGTERM, SIGHUP));

TEST_P(StoppedReplay, WhileACallWaitsLeavesAReadableResult) {
  const std::string trace = save(a_wait_without_end());
  const std::string result = scratch_ / "result.iotape";
  const std::string place = scratch_ / "target";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stdout) == nullptr || std::freopen("/dev/null", "w", stderr) == nullptr)
      ::_exit(99);
    const std::string target = "dir:" + place + ",block_limit=60s,reserve=0";
    ::execl(IOTAPE_BINARY, "iotape", "replay", trace.c_str(), target.c_str(), "-o", result.c_str(), nullptr);
    ::_exit(98);
  }
  for (int i = 0; i < 1000 && !std::filesystem::exists(place + "/file"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ::kill(child, GetParam());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 130);
  const auto info = iotape({"info", "--json", result});
  ASSERT_EQ(info.status, 0) << info.err;
  const json document = json::parse(info.out);
  EXPECT_EQ(document["interrupted"], true) << info.out;
  EXPECT_EQ(document["syscalls"], 103) << "all that was done before the wait";
}

// Eight processes, each in a directory of its own: create, write, fsync, read, remove.
TraceBuilder eight_at_work(int rounds) {
  TraceBuilder trace;
  std::vector<ThreadKey> threads;
  for (std::int32_t i = 0; i < 8; ++i) {
    threads.push_back({ProcessId(100 + i), ThreadId(100 + i)});
    trace.context(threads.back(), "/mnt/job", kCwdInode);
    trace.call(kMkdirat, MakeDirectory{trace.here("d" + std::to_string(i)), 0755}, {}, threads.back());
  }
  for (int round = 0; round < rounds; ++round)
    for (std::uint64_t i = 0; i < 8; ++i) {
      const ThreadKey thread = threads[i];
      const FileReference file = regular_of(100 + i * 1000 + static_cast<std::uint64_t>(round));
      const PathArgument path = trace.here("d" + std::to_string(i) + "/f" + std::to_string(round));
      const auto work = [&](Syscall& call) { call.duration = Nanoseconds(200'000), trace.time += call.duration; };
      work(trace.open(path, O_CREAT | O_EXCL | O_RDWR, 3, file, thread));
      work(trace.write(fd(3, file), 0, 20'000, thread));
      work(trace.call(74, Sync{fd(3, file)}, {}, thread));
      Read read;
      read.descriptor = fd(3, file);
      read.length = 4096;
      read.position = {0};
      work(trace.call(17, read, {4096, 0}, thread));
      work(trace.close(fd(3, file), thread));
      work(trace.call(kUnlinkat, Unlink{path, 0}, {}, thread));
    }
  return trace;
}

TEST_F(ReplayCommand, EightThreadsOnASimulatedMachineOverlapAndAreTheSameTwice) {
  const std::string trace = save(eight_at_work(30));
  const auto replay = [&](const std::string& order, const std::string& result) {
    const auto run = iotape({"replay", trace, "ext3:,size=1G,memory=64M,disk=laptop-2002,cpus=2", "--order", order,
                             "--json", "-o", scratch_ / result});
    EXPECT_EQ(run.status, 0) << run.err << run.out;
    return json::parse(run.out);
  };
  const json strict = replay("strict", "strict.iotape");
  const json once = replay("thread", "once.iotape");
  const json twice = replay("thread", "twice.iotape");
  EXPECT_EQ(once["wall_ns"], twice["wall_ns"]);
  EXPECT_EQ(read_file(scratch_ / "once.iotape"), read_file(scratch_ / "twice.iotape"));
  EXPECT_LT(once["wall_ns"][0].get<std::int64_t>(), strict["wall_ns"][0].get<std::int64_t>() * 7 / 10);
  EXPECT_EQ(once["order"], "thread");
  EXPECT_EQ(once["replay"]["serialised"], false);
  EXPECT_EQ(once["replay"]["mismatches"], 0);
  EXPECT_EQ(strict["order"], "strict");
  EXPECT_EQ(strict["replay"]["serialised"], true);
  const auto info = iotape({"info", "--json", "--history", scratch_ / "once.iotape"});
  EXPECT_THAT(info.out, HasSubstr("--order thread"));
  const auto compared = iotape({"compare", "--json", scratch_ / "strict.iotape", scratch_ / "once.iotape"});
  ASSERT_EQ(compared.status, 0) << compared.err;
  const json runs = json::parse(compared.out)["runs"];
  EXPECT_EQ(runs[0]["order"], "strict");
  EXPECT_EQ(runs[0]["latencies_serialised"], true);
  EXPECT_EQ(runs[1]["order"], "thread");
  EXPECT_EQ(runs[1]["latencies_serialised"], false);
}

// What is left to do when a process ends with removed files open waits for the disk as calls do.
TEST_F(ReplayCommand, ThreadsThatBeginAndEndWhileOthersAreAtWorkWaitForTheSimulatedDisk) {
  TraceBuilder trace = eight_at_work(3);
  for (int round = 0; round < 5; ++round)
    for (std::int32_t i = 0; i < 8; ++i) {
      const ThreadKey thread{ProcessId(1000 + round * 10 + i), ThreadId(1000 + round * 10 + i)};
      trace.context(thread, "/mnt/job/d" + std::to_string(i), 500 + static_cast<std::uint64_t>(i));
      const FileReference file = regular_of(20'000 + static_cast<std::uint64_t>(round * 100 + i));
      const PathArgument path = at("open", kAtCurrentDirectory, directory_of(500 + static_cast<std::uint64_t>(i)));
      trace.open(path, O_CREAT | O_EXCL | O_RDWR, 3, file, thread);
      trace.write(fd(3, file), 0, 1'000'000, thread);
      trace.call(74, Sync{fd(3, file)}, {}, thread);
      trace.call(kUnlinkat, Unlink{path, 0}, {}, thread);
      trace.end(thread);
    }
  const std::string path = save(trace);
  for (const std::string order : {"strict", "thread"}) {
    const auto run = iotape({"replay", path, "ext3:,size=1G,memory=64M,disk=laptop-2002,journal=4M", "--map",
                             "/mnt/job=/a/b", "--cold", "--order", order, "--json"});
    ASSERT_EQ(run.status, 0) << order << run.err << run.out;
    EXPECT_EQ(json::parse(run.out)["replay"]["mismatches"], 0) << order;
  }
}

TEST_F(ReplayCommand, ThreadOrderWritesItsCallsInTheOrderInWhichTheyEnded) {
  const std::string trace = save(eight_at_work(40));
  const std::string result = scratch_ / "result.iotape";
  const auto run = iotape({"replay", trace, "dir:" + (scratch_ / "target") + ",reserve=0", "--order", "thread", "-o",
                           result, "--pace", "think"});
  ASSERT_EQ(run.status, 0) << run.err << run.out;
  auto reader = open_trace_file(result)().value();
  Nanoseconds last;
  std::uint64_t calls = 0;
  while (Event* event = reader->next().value()) {
    const auto* call = std::get_if<Syscall>(&event->body);
    if (call == nullptr) continue;
    EXPECT_GE(call->start + call->duration + Nanoseconds(100), last) << "event " << event->id.value;
    last = std::max(last, call->start + call->duration);
    ++calls;
  }
  EXPECT_EQ(calls, 8U + 8 * 40 * 6);
}

TEST_F(ReplayCommand, AnOrderThatIsNoneNamesThoseThereAre) {
  const auto run = iotape({"replay", save(some_directories(2)), "null:", "--order", "resource"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("strict,thread"));
}

TEST_F(ReplayCommand, AReplaysResultIsReplayedAsTheRecordingItRepeats) {
  const std::string trace = save(some_directories(3));
  const std::string result = scratch_ / "result.iotape";
  const std::string again = scratch_ / "again.iotape";
  const auto first = iotape({"replay", trace, "ext3:,size=64M,disk=ssd", "-o", result, "--json"});
  ASSERT_EQ(first.status, 0) << first.err;
  const auto second = iotape({"replay", result, "ext3:,size=64M,disk=ssd", "-o", again, "--json"});
  ASSERT_EQ(second.status, 0) << second.err;
  const auto issued = [](const std::string& text) { return text.substr(text.find("\"issued\""), 24); };
  EXPECT_EQ(issued(first.out), issued(second.out));
}

}  // namespace
}  // namespace iotape::test
