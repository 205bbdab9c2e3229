// Recordings of real processes by the real kernel side.
#include "recorder/recording.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "format/syscall_table.h"
#include "format/trace_reader.h"
#include "recorder/call_table.h"
#include "recorder/workload_process.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

class Collected final : public RecordingSink {
 public:
  Result<void> append(EventBody body) override {
    events.push_back(std::move(body));
    return {};
  }
  Result<void> checkpoint(std::uint64_t, std::uint64_t) override { return {}; }

  template <typename T>
  [[nodiscard]] std::vector<T> all() const {
    std::vector<T> found;
    for (const EventBody& event : events)
      if (const auto* one = std::get_if<T>(&event)) found.push_back(*one);
    return found;
  }
  template <typename Op>
  [[nodiscard]] std::vector<Op> operations() const {
    std::vector<Op> found;
    for (const EventBody& event : events)
      if (const auto* call = std::get_if<Syscall>(&event))
        if (const auto* op = std::get_if<Op>(&call->operation)) found.push_back(*op);
    return found;
  }
  [[nodiscard]] std::map<std::string, std::uint64_t> counts() const {
    std::map<std::string, std::uint64_t> by_name;
    for (const Syscall& call : all<Syscall>())
      if (!call.unfinished) ++by_name[syscall_display_name(call.number)];
    return by_name;
  }
  std::vector<EventBody> events;
};

struct Recorded {
  Collected sink;
  TraceTotals totals;
  int status = 0;
};

ProbeOptions small_options() {
  ProbeOptions options;
  options.ring_bytes = 16ULL << 20U;
  return options;
}

// Runs a command under a recording and waits for it.
void record_command(const std::vector<std::string>& words, Recorded& run,
                    const ProbeOptions& options = small_options()) {
  auto recording = Recording::prepare(options);
  ASSERT_TRUE(recording) << recording.error().message;
  auto process = WorkloadProcess::start({words, std::nullopt, false});
  ASSERT_TRUE(process);
  ASSERT_TRUE((*recording)->follow_command(process->id()));
  ASSERT_TRUE((*recording)->begin(run.sink));
  const auto refused = process->release();
  ASSERT_TRUE(refused && *refused == 0);
  std::optional<std::int32_t> status;
  while (!status) {
    status = process->poll();
    ::usleep(1000);
  }
  run.status = *status;
  auto totals = (*recording)->stop();
  ASSERT_TRUE(totals) << totals.error().message;
  run.totals = *totals;
}

// Runs code of this program in a child that is recorded from the moment it is told to go.
void record_child(const std::function<void()>& body, Recorded& run, const ProbeOptions& options = small_options()) {
  auto recording = Recording::prepare(options);
  ASSERT_TRUE(recording) << recording.error().message;
  int go[2];
  ASSERT_EQ(::pipe2(go, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    if (::read(go[0], &byte, 1) != 1) ::_exit(1);
    body();
    ::_exit(0);
  }
  ::usleep(20'000);
  ASSERT_TRUE((*recording)->follow_process(ProcessId(child)));
  ASSERT_TRUE((*recording)->begin(run.sink));
  ASSERT_EQ(::write(go[1], "x", 1), 1);
  ::waitpid(child, &run.status, 0);
  ::close(go[0]);
  ::close(go[1]);
  auto totals = (*recording)->stop();
  ASSERT_TRUE(totals) << totals.error().message;
  run.totals = *totals;
}

std::uint64_t calls_in(const Recorded& run) { return run.sink.all<Syscall>().size(); }

void expect_whole(const Recorded& run) {
  EXPECT_EQ(run.totals.seen, run.totals.written + run.totals.lost());
  EXPECT_EQ(run.totals.syscalls, calls_in(run));
}

TEST(Recording, ContextAndInheritedDescriptorsComeFirst) {
  IOTAPE_NEEDS_RECORDER();
  Recorded run;
  record_command({"true"}, run);
  const auto contexts = run.sink.all<ProcessContext>();
  ASSERT_FALSE(contexts.empty());
  EXPECT_EQ(contexts[0].working_directory.path, std::filesystem::current_path().string());
  EXPECT_EQ(contexts[0].working_directory.file.kind, FileKind::kDirectory);
  std::set<int> numbers;
  for (const auto& held : run.sink.all<InheritedDescriptor>()) numbers.insert(held.descriptor.number);
  EXPECT_TRUE(numbers.contains(0) && numbers.contains(1) && numbers.contains(2));
  for (const auto& held : run.sink.all<InheritedDescriptor>()) EXPECT_FALSE(held.close_on_exec);
  expect_whole(run);
}

TEST(Recording, ACommandIsRecordedFromItsExecToItsExit) {
  IOTAPE_NEEDS_RECORDER();
  Recorded run;
  record_command({"sh", "-c", "exit 3"}, run);
  EXPECT_EQ(WEXITSTATUS(run.status), 3);
  const auto calls = run.sink.all<Syscall>();
  ASSERT_FALSE(calls.empty());
  EXPECT_EQ(calls.front().number, *syscall_number("execve"));
  EXPECT_EQ(calls.back().number, *syscall_number("exit_group"));
  EXPECT_TRUE(calls.back().unfinished);
  EXPECT_EQ(std::get<ProcessCall>(calls.back().operation).argument, 3);
  const auto exits = run.sink.all<ProcessExit>();
  ASSERT_EQ(exits.size(), 1U);
  EXPECT_EQ(exits[0].status, 3 << 8);
  EXPECT_TRUE(exits[0].whole_process);
  ASSERT_EQ(run.sink.all<ProcessExec>().size(), 1U);
  EXPECT_GT(run.totals.own_calls, 0U);
  expect_whole(run);
}

// strace -c -f of the same command: the same number of every recorded call.
std::map<std::string, std::uint64_t> strace_counts(const std::string& command, const test::ScratchDirectory& scratch) {
  const std::string log = scratch / "strace.log";
  test::run_shell("strace -f -o " + log + " sh -c '" + command + "'");
  std::istringstream lines(test::read_file(log));
  std::map<std::string, std::uint64_t> by_name;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of("0123456789 ");
    const std::size_t open = line.find('(', begin);
    if (begin == std::string::npos || open == std::string::npos || line.compare(begin, 3, "<..") == 0) continue;
    const std::string name = line.substr(begin, open - begin);
    const auto number = syscall_number(name == "newfstatat" ? "newfstatat" : name);
    if (number && syscall_description(*number).recorded && name != "exit_group") ++by_name[name];
  }
  return by_name;
}

TEST(Recording, CountsPerCallEqualStraces) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  test::run_shell("cd " + scratch.path().string() +
                  " && mkdir -p t && for i in $(seq 1 150); do mkdir -p t/d$((i%9)); echo $i > t/d$((i%9))/f$i; done; "
                  "ln -s f1 t/l; tar cf a.tar t; rm -rf t");
  const std::string command = "cd " + scratch.path().string() + " && tar xf a.tar && rm -rf t";
  // A shell whose PWD is not its working directory asks for it; both shells are to be told the same.
  ::setenv("PWD", std::filesystem::current_path().c_str(), 1);
  const auto expected = strace_counts(command, scratch);
  Recorded run;
  record_command({"sh", "-c", command}, run);
  EXPECT_EQ(run.sink.counts(), expected);
  EXPECT_GT(expected.at("unlinkat"), 150U);
  expect_whole(run);
}

TEST(Recording, TheWayWithoutTheCastKfuncSeesTheSame) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  test::write_file(scratch / "file", "four");
  ProbeOptions plain = small_options();
  plain.avoid_rdonly_cast = true;
  std::vector<FileReference> opened;
  for (const ProbeOptions& options : {small_options(), plain}) {
    Recorded run;
    record_command({"cat", scratch / "file"}, run, options);
    for (const Open& op : run.sink.operations<Open>())
      if (op.path.bytes == scratch / "file") opened.push_back(op.opened);
  }
  ASSERT_EQ(opened.size(), 2U);
  EXPECT_TRUE(opened[0].known());
  EXPECT_EQ(opened[0], opened[1]);
}

TEST(Recording, PathsOnPagesNeverTouchedAreRead) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::string bytes(2 * page, '\0');
  const std::string name = "/never/here";
  bytes.replace(0, name.size(), name);
  const std::string last = "/at/page/end";
  bytes.replace(page - last.size() - 1, last.size(), last);
  test::write_file(scratch / "paths", bytes);
  const int file = ::open((scratch / "paths").c_str(), O_RDONLY | O_CLOEXEC);
  const auto map = [&](std::size_t length) {
    return static_cast<char*>(::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file, 0));
  };
  Recorded run;
  record_child(
      [&] {
        char* fresh = map(page);
        ::unlink(fresh);  // the page was never touched
        ::madvise(fresh, page, MADV_DONTNEED);
        ::rmdir(fresh);  // dropped again
        char* end = map(2 * page);
        ::munmap(end + page, page);  // nothing is mapped behind the string
        ::unlink(end + page - last.size() - 1);
        ::syscall(SYS_unlink, nullptr);
      },
      run);
  std::vector<std::string> removed;
  for (const Unlink& op : run.sink.operations<Unlink>()) removed.push_back(op.path.bytes);
  EXPECT_THAT(removed, testing::ElementsAre(name, name, last, ""));
  EXPECT_EQ(run.sink.operations<Unlink>().back().path.state, TextState::kNull);
  ::close(file);
}

TEST(Recording, NamesOfExtendedAttributesAreReadOfDescriptorsToo) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  test::write_file(scratch / "file", "x");
  Recorded run;
  record_child(
      [&] {
        const int file = ::open((scratch / "file").c_str(), O_RDWR);
        char value[8];
        ::fsetxattr(file, "user.one", "1", 1, 0);
        (void)::fgetxattr(file, "user.two", value, sizeof value);
        ::fremovexattr(file, "user.three");
      },
      run);
  const auto set = run.sink.operations<SetXattrDescriptor>();
  const auto got = run.sink.operations<QueryXattrDescriptor>();
  const auto removed = run.sink.operations<RemoveXattrDescriptor>();
  ASSERT_TRUE(set.size() == 1 && got.size() == 1 && removed.size() == 1);
  EXPECT_EQ(set[0].name, Text::of("user.one"));
  EXPECT_EQ(got[0].name, Text::of("user.two"));
  EXPECT_EQ(removed[0].name, Text::of("user.three"));
}

TEST(Recording, WhatGoesByIoUringAndAioIsToldAsNotCaptured) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  test::write_file(scratch / "file", std::string(4096, 'x'));
  constexpr int kSkip = 77;
  Recorded run;
  record_child(
      [&] {
        aio_context_t context = 0;
        if (::syscall(SYS_io_setup, 4, &context) != 0) ::_exit(1);
        char buffer[512];
        iocb read{};
        read.aio_lio_opcode = IOCB_CMD_PREAD;
        read.aio_fildes = static_cast<__u32>(::open((scratch / "file").c_str(), O_RDONLY));
        read.aio_buf = reinterpret_cast<__u64>(buffer);
        read.aio_nbytes = sizeof buffer;
        iocb* list[] = {&read};
        for (int i = 0; i < 3; ++i)
          if (::syscall(SYS_io_submit, context, 1, list) != 1) ::_exit(2);
        io_uring_params parameters{};
        const auto ring = static_cast<int>(::syscall(SYS_io_uring_setup, 4, &parameters));
        if (ring < 0) ::_exit(kSkip);  // forbidden on some machines
        auto* queue = static_cast<char*>(::mmap(nullptr, parameters.sq_off.array + parameters.sq_entries * 4,
                                                PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING));
        auto* entries = static_cast<io_uring_sqe*>(::mmap(nullptr, parameters.sq_entries * sizeof(io_uring_sqe),
                                                          PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES));
        auto* order = reinterpret_cast<unsigned*>(queue + parameters.sq_off.array);
        std::memset(entries, 0, 2 * sizeof(io_uring_sqe));  // IORING_OP_NOP is 0
        order[0] = 0;
        order[1] = 1;
        __atomic_store_n(reinterpret_cast<unsigned*>(queue + parameters.sq_off.tail), 2U, __ATOMIC_RELEASE);
        if (::syscall(SYS_io_uring_enter, ring, 2, 0, 0, nullptr, 0) != 2) ::_exit(3);
      },
      run);
  const int status = WEXITSTATUS(run.status);
  ASSERT_TRUE(status == 0 || status == kSkip) << status;
  std::map<std::string, std::uint64_t> told;
  for (const Loss& loss : run.sink.all<Loss>())
    if (loss.cause == LossCause::kNotCaptured) {
      told[loss.detail] += loss.count;
      EXPECT_LE(loss.first, loss.last);
    }
  EXPECT_EQ(told["AIO"], 3U);
  EXPECT_EQ(told["io_uring"], status == kSkip ? 0U : 2U);
  EXPECT_EQ(run.totals.losses[static_cast<std::size_t>(LossCause::kNotCaptured)], told["AIO"] + told["io_uring"]);
  EXPECT_EQ(run.totals.lost(), 0U);
}

TEST(Recording, LosesNothingUncountedAtAnyRingSize) {
  IOTAPE_NEEDS_RECORDER();
  constexpr std::uint64_t kCalls = 60'000;
  for (const std::uint64_t ring : {4ULL << 10U, 64ULL << 10U, 1ULL << 20U, 64ULL << 20U}) {
    ProbeOptions options = small_options();
    options.ring_bytes = ring;
    Recorded run;
    record_child(
        [] {
          const int device = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
          for (std::uint64_t call = 0; call < kCalls; ++call) ::lseek(device, 0, SEEK_CUR);
        },
        run, options);
    expect_whole(run);
    EXPECT_GE(run.totals.seen, kCalls);
    EXPECT_LE(run.totals.seen, kCalls + 10);
    std::uint64_t told = 0;
    for (const Loss& loss : run.sink.all<Loss>())
      if (loss.cause == LossCause::kRingFull) {
        told += loss.count;
        EXPECT_LE(loss.first, loss.last);
        EXPECT_GE(loss.cpu, 0);
      }
    EXPECT_EQ(told, run.totals.losses[0]) << "every loss is told by an event";
    if (ring <= 4096) {
      EXPECT_GT(told, 0U);
    }
    if (ring >= 64ULL << 20U) {
      EXPECT_EQ(told, 0U);
    }
  }
}

// The filter of a tracepoint: every call that is recorded.
std::string recorded_calls_filter() {
  std::string filter;
  for (const CallRow& row : call_rows())
    if (syscall_description(row.number).recorded)
      filter += (filter.empty() ? "id==" : "||id==") + std::to_string(row.number);
  return filter;
}

std::uint64_t perf_count(const std::string& command, const test::ScratchDirectory& scratch) {
  const std::string log = scratch / "perf.log";
  test::run_shell("perf stat -x, -o " + log + " -e raw_syscalls:sys_enter --filter '" + recorded_calls_filter() +
                  "' sh -c '" + command + "'");
  std::istringstream lines(test::read_file(log));
  for (std::string line; std::getline(lines, line);)
    if (line.find("raw_syscalls:sys_enter") != std::string::npos) return std::strtoull(line.c_str(), nullptr, 10);
  return 0;
}

// What was seen does not depend on what found room.
TEST(RecordingLive, InTheSmallestRingSeenIsWhatStraceAndPerfCount) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  test::write_file(scratch / "in", std::string(3000, 'x'));
  // With their paths: perf gives its children a longer PATH to search.
  const std::string command = "cd " + scratch.path().string() +
                              "; /bin/dd if=in of=out bs=1 status=none; for i in 1 2 3; do /bin/cat in out >all; done";
  ::setenv("PWD", std::filesystem::current_path().c_str(), 1);
  std::uint64_t by_strace = 0;
  for (const auto& [name, count] : strace_counts(command, scratch)) by_strace += count;
  const std::uint64_t by_perf = perf_count(command, scratch);
  ProbeOptions options = small_options();
  options.ring_bytes = 4096;
  Recorded run;
  record_command({"sh", "-c", command}, run, options);
  constexpr std::uint64_t kProcesses = 5;  // the shell, dd, three times cat: each ends by an exit_group
  EXPECT_EQ(run.totals.seen, by_strace + kProcesses);
  EXPECT_EQ(run.totals.seen, by_perf + 1) << "perf counts from within the first exec on";
  EXPECT_GT(by_perf, 6000U);
  EXPECT_GT(run.totals.lost(), 0U);
  expect_whole(run);
}

TEST(Recording, AnI386CallIsNeverTakenForANativeOne) {
  IOTAPE_NEEDS_RECORDER();
  Recorded run;
  record_child(
      [] {
        long result = 20;  // i386 getpid; natively 20 is writev
        asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
      },
      run);
  const auto foreign = run.sink.operations<OtherCall>();
  ASSERT_EQ(foreign.size(), 1U);
  EXPECT_EQ(foreign[0].foreign, 1);
  EXPECT_TRUE(run.sink.operations<Write>().empty());
}

TEST(Recording, DescendantsAreRecordedAndNobodyElse) {
  IOTAPE_NEEDS_RECORDER();
  const std::string noise = "while :; do cat /etc/hostname >/dev/null 2>&1; done";
  const pid_t other = ::fork();
  if (other == 0) {
    ::setpgid(0, 0);
    ::execlp("sh", "sh", "-c", noise.c_str(), nullptr);
    ::_exit(1);
  }
  Recorded run;
  record_command({"sh", "-c", "(sh -c 'cat /dev/null' & wait); cat /dev/null"}, run);
  ::kill(-other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  std::set<ProcessId> known;
  for (const ProcessStart& start : run.sink.all<ProcessStart>()) {
    if (!start.already_running) {
      EXPECT_TRUE(known.contains(start.parent.process));
    }
    known.insert(start.thread.process);
  }
  EXPECT_GE(known.size(), 4U);
  for (const Syscall& call : run.sink.all<Syscall>()) EXPECT_TRUE(known.contains(call.thread.process));
  EXPECT_EQ(run.totals.losses[static_cast<std::size_t>(LossCause::kOrphanExit)], 0U);
}

TEST(Recording, ThreadsVforkAndExecKeepTheirCallsApart) {
  IOTAPE_NEEDS_RECORDER();
  Recorded run;
  record_child(
      [] {
        std::thread other([] { ::chmod("/nowhere/thread", 0600); });
        other.join();
        const pid_t child = ::vfork();
        if (child == 0) {
          ::execl("/bin/true", "true", nullptr);
          ::_exit(1);
        }
        ::waitpid(child, nullptr, 0);
        ::chmod("/nowhere/main", 0600);
      },
      run);
  std::map<std::string, ThreadKey> who;
  for (const Syscall& call : run.sink.all<Syscall>())
    if (const auto* op = std::get_if<ChangeModePath>(&call.operation)) who[op->path.bytes] = call.thread;
  ASSERT_EQ(who.size(), 2U);
  EXPECT_EQ(who["/nowhere/thread"].process, who["/nowhere/main"].process);
  EXPECT_NE(who["/nowhere/thread"].thread, who["/nowhere/main"].thread);
  const auto starts = run.sink.all<ProcessStart>();
  const auto vforked = std::find_if(starts.begin(), starts.end(), [&](const ProcessStart& start) {
    return !start.already_running && start.thread.process != who["/nowhere/main"].process;
  });
  ASSERT_NE(vforked, starts.end());
#ifndef __SANITIZE_THREAD__  // which makes a fork of it
  EXPECT_NE(vforked->clone_flags & 0x4000U, 0U) << "CLONE_VFORK";
#endif
  // The child was waiting in read when it was attached to; nothing else may come without a beginning.
  EXPECT_EQ(run.totals.losses[static_cast<std::size_t>(LossCause::kOrphanExit)], 1U);
  expect_whole(run);
}

TEST(Recording, PositionBeforeTheCallAndOffsetsThroughPointers) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  test::write_file(scratch / "a", std::string(1000, 'a'));
  Recorded run;
  record_child(
      [&] {
        const int in = ::open((scratch / "a").c_str(), O_RDONLY);
        const int out = ::open((scratch / "b").c_str(), O_WRONLY | O_CREAT, 0600);
        char buffer[100];
        if (::read(in, buffer, sizeof buffer) + ::read(in, buffer, 50) != 150) ::_exit(1);
        loff_t from = 300;
        if (::copy_file_range(in, &from, out, nullptr, 200, 0) != 200) ::_exit(2);
        if (::copy_file_range(in, &from, out, nullptr, 10, 0) != 10) ::_exit(3);
      },
      run);
  ASSERT_EQ(run.status, 0);
  std::vector<std::int64_t> positions;
  for (const Read& op : run.sink.operations<Read>())
    if (op.descriptor.file.kind == FileKind::kRegular) positions.push_back(op.position.value);
  EXPECT_THAT(positions, testing::ElementsAre(0, 100));
  const auto copies = run.sink.operations<Transfer>();
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(copies[0].source_position.value, 300);
  EXPECT_EQ(copies[1].source_position.value, 500);
  EXPECT_EQ(copies[0].destination_position.value, 0);
  EXPECT_EQ(copies[1].destination_position.value, 200);
}

TEST(Recording, FilesFoundTellTheirStateOnceAndFilesMadeNever) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  test::write_file(scratch / "old", "12345");
  Recorded run;
  record_child(
      [&] {
        struct stat info {};
        ::stat((scratch / "old").c_str(), &info);
        ::close(::open((scratch / "old").c_str(), O_RDONLY));
        ::close(::open((scratch / "old").c_str(), O_RDONLY));
        ::close(::open((scratch / "new").c_str(), O_WRONLY | O_CREAT, 0600));
        ::close(::open((scratch / "new").c_str(), O_RDONLY));
        ::mkdir((scratch / "made").c_str(), 0700);
        ::stat((scratch / "made").c_str(), &info);
      },
      run);
  std::map<std::string, int> times;
  for (const FileState& state : run.sink.all<FileState>()) {
    ++times[state.path];
    if (state.path == scratch / "old") {
      EXPECT_EQ(state.size, 5U);
    }
  }
  EXPECT_GE(times[scratch / "old"], 1);
  EXPECT_LE(times[scratch / "old"], 2) << "by path, and once with its generation";
  EXPECT_EQ(times[scratch / "new"], 0);
  EXPECT_EQ(times[scratch / "made"], 0);
}

TEST(Recording, TimeBlockedIsWithinTheCall) {
  IOTAPE_NEEDS_RECORDER();
  Recorded run;
  record_command({"sh", "-c", "sleep 0.2 | cat"}, run);
  std::int64_t longest = 0;
  for (const Syscall& call : run.sink.all<Syscall>()) {
    EXPECT_LE(call.blocked, call.duration);
    if (std::holds_alternative<Read>(call.operation)) longest = std::max(longest, call.blocked.value);
  }
  EXPECT_GT(longest, 100'000'000) << "cat waited in read for sleep to end";
}

TEST(Recording, WithoutAnOptionalHookItRunsAndSaysSo) {
  IOTAPE_NEEDS_RECORDER();
  ProbeOptions options = small_options();
  options.absent_hooks = {"sched_switch", "ext4_unlink_enter"};
  auto recording = Recording::prepare(options);
  ASSERT_TRUE(recording) << recording.error().message;
  TraceHeader header;
  (*recording)->describe(header);
  std::set<std::string> missing;
  for (const MissingHook& hook : header.missing_hooks) missing.insert(hook.name);
  EXPECT_THAT(missing, testing::IsSupersetOf({"sched_switch", "ext4_unlink_enter"}));
  EXPECT_GT(header.calibrated_cost.value, 0);
}

TEST(Recording, WithoutANeededHookItRefusesAndNamesIt) {
  IOTAPE_NEEDS_RECORDER();
  ProbeOptions options = small_options();
  options.absent_hooks = {"sys_exit"};
  const auto recording = Recording::prepare(options);
  ASSERT_FALSE(recording);
  EXPECT_THAT(recording.error().message, testing::HasSubstr("sys_exit"));
}

}  // namespace
}  // namespace iotape
