// Options of `iotape record` that choose whom to record, as whom to run, and when to stop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "format/trace_reader.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

constexpr std::uint32_t kNobody = 65534;

struct Content {
  std::set<std::pair<std::int32_t, std::string>> opened;  // process, path as given
  std::map<std::int32_t, std::string> directories;        // by process
  std::set<std::int32_t> processes;
  std::uint64_t calls = 0;
  bool interrupted = false;

  [[nodiscard]] bool opened_by(std::int32_t process, const std::string& path) const {
    return opened.contains({process, path});
  }
};

Content content_of(const std::string& path) {
  Content content;
  auto reader = TraceReader::open(path);
  EXPECT_TRUE(reader);
  if (!reader) return content;
  for (;;) {
    const auto event = (*reader)->next();
    if (!event || *event == nullptr) break;
    if (const auto* context = std::get_if<ProcessContext>(&(*event)->body))
      content.directories[context->thread.process.value] = context->working_directory.path;
    const auto* call = std::get_if<Syscall>(&(*event)->body);
    if (call == nullptr) continue;
    ++content.calls;
    content.processes.insert(call->thread.process.value);
    if (const auto* open = std::get_if<Open>(&call->operation))
      content.opened.insert({call->thread.process.value, open->path.bytes});
  }
  content.interrupted = (*reader)->report().interrupted;
  return content;
}

// A process that opens one file by its relative name again and again, as another user if asked.
class Busy {
 public:
  Busy(const std::string& directory, const std::string& file, std::uint32_t user) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    if (::chdir(directory.c_str()) != 0 || (user != 0 && ::setuid(user) != 0)) ::_exit(1);
    for (;; ::usleep(5000)) {
      FILE* opened = std::fopen(file.c_str(), "r");
      if (opened != nullptr) std::fclose(opened);
    }
  }
  ~Busy() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

test::CommandOutput record(std::vector<std::string> words) {
  words.insert(words.begin(), {IOTAPE_BINARY, "record"});
  return test::run_program(words);
}

void open_to_all(const test::ScratchDirectory& scratch) { ::chmod(scratch.path().c_str(), 0777); }

TEST(RecordOptionsLive, AllRecordsProcessesThatRanBeforeWithWhereTheyAre) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  open_to_all(scratch);
  test::write_file(scratch / "known", "x");
  const Busy first(scratch.path(), "known", 0);
  const Busy second("/", (scratch / "known").substr(1), kNobody);
  const std::string trace = scratch / "t.iotape";
  const auto done = record({"-a", "-w", "1s", "-o", trace});
  ASSERT_EQ(done.status, 0) << done.err;
  const Content content = content_of(trace);
  EXPECT_TRUE(content.opened_by(first.pid(), "known"));
  EXPECT_TRUE(content.opened_by(second.pid(), (scratch / "known").substr(1)));
  EXPECT_EQ(content.directories.at(first.pid()), std::filesystem::canonical(scratch.path()).string());
  EXPECT_EQ(content.directories.at(second.pid()), "/");
  EXPECT_FALSE(content.interrupted);
  EXPECT_EQ(::kill(first.pid(), 0), 0) << "it goes on";
}

TEST(RecordOptionsLive, AllOfOneUserLeavesTheOthersOut) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  open_to_all(scratch);
  test::write_file(scratch / "known", "x");
  ::chmod((scratch / "known").c_str(), 0644);
  const Busy root(scratch.path(), "known", 0);
  const Busy nobody(scratch.path(), "known", kNobody);
  const std::string trace = scratch / "t.iotape";
  const auto done = record({"-a", "-u", "nobody", "-w", "500ms", "-o", trace});
  ASSERT_EQ(done.status, 0) << done.err;
  const Content content = content_of(trace);
  EXPECT_TRUE(content.processes.contains(nobody.pid()));
  EXPECT_FALSE(content.processes.contains(root.pid()));
}

class ControlGroupDirectory {
 public:
  ControlGroupDirectory() {
    const std::string mounts = test::run_shell("findmnt -n -o TARGET -t cgroup2 | head -1").out;
    path_ = mounts.substr(0, mounts.find('\n')) + "/iotape-test-" + std::to_string(::getpid());
    made_ = ::mkdir(path_.c_str(), 0755) == 0 && ::mkdir((path_ + "/inner").c_str(), 0755) == 0;
  }
  ~ControlGroupDirectory() {
    ::rmdir((path_ + "/inner").c_str());
    ::rmdir(path_.c_str());
  }
  ControlGroupDirectory(const ControlGroupDirectory&) = delete;
  ControlGroupDirectory& operator=(const ControlGroupDirectory&) = delete;
  [[nodiscard]] bool made() const { return made_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  void take(pid_t process, const std::string& below) const {
    std::FILE* file = std::fopen((path_ + below + "/cgroup.procs").c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fprintf(file, "%d", process);
    EXPECT_EQ(std::fclose(file), 0);
  }

 private:
  std::string path_;
  bool made_ = false;
};

TEST(RecordOptionsLive, AControlGroupIsRecordedWithThoseBelowItAndNobodyElse) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  test::write_file(scratch / "known", "x");
  const ControlGroupDirectory group;
  if (!group.made()) GTEST_SKIP() << "no control groups of version 2 can be made here";
  const Busy outside(scratch.path(), "known", 0);
  const Busy inside(scratch.path(), "known", 0);
  const Busy below(scratch.path(), "known", 0);
  group.take(inside.pid(), "");
  group.take(below.pid(), "/inner");
  const std::string name = group.path().substr(group.path().rfind('/'));
  for (const std::string& spelt : {group.path(), name}) {
    const std::string trace = scratch / "t.iotape";
    const auto done = record({"--cgroup", spelt, "-w", "500ms", "--force", "-o", trace});
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(content_of(trace).processes, (std::set<std::int32_t>{inside.pid(), below.pid()}));
  }
  const auto inner = record({"--cgroup", group.path() + "/inner", "-w", "500ms", "-o", scratch / "inner.iotape"});
  ASSERT_EQ(inner.status, 0) << inner.err;
  EXPECT_EQ(content_of(scratch / "inner.iotape").processes, (std::set<std::int32_t>{below.pid()}));
  EXPECT_EQ(record({"--cgroup", group.path() + "/none", "-w", "1s"}).status, 125);
  EXPECT_EQ(record({"--cgroup", "/etc", "-w", "1s"}).status, 125);
  EXPECT_EQ(record({"--cgroup", group.path(), "true"}).status, 125);
}

TEST(RecordOptions, TheCommandRunsAsTheUserAskedForOrTheCallerOfSudo) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  open_to_all(scratch);
  const std::string iotape = std::string(IOTAPE_BINARY) + " record -q --force -o ";
  const std::string show = " sh -c 'id -u; id -g; id -G; echo $HOME'";
  const std::string nobody_is = test::run_shell(
                                    "id -u nobody; id -g nobody; id -G nobody; getent passwd nobody | "
                                    "cut -d: -f6")
                                    .out;
  const std::string root_is = test::run_shell("id -u; id -g; id -G; echo $HOME").out;
  const auto shown = [&](const std::string& before, const std::string& options) {
    return test::run_shell(before + iotape + (scratch / "t.iotape") + " " + options + show).out;
  };
  const auto owner = [&] {
    struct stat info {};
    EXPECT_EQ(::stat((scratch / "t.iotape").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600U);
    return std::pair{info.st_uid, info.st_gid};
  };
  EXPECT_EQ(shown("", ""), root_is);
  EXPECT_EQ(shown("", "-u nobody"), nobody_is);
  EXPECT_EQ(owner(), (std::pair{0U, 0U}));
  EXPECT_EQ(shown("", "-u 65534"), nobody_is);
  const std::string sudo = "SUDO_USER=nobody SUDO_UID=65534 SUDO_GID=65534 ";
  EXPECT_EQ(shown(sudo, ""), nobody_is);
  EXPECT_EQ(owner(), (std::pair{kNobody, kNobody}));
  EXPECT_EQ(shown(sudo, "-u root"), root_is);
  EXPECT_EQ(owner(), (std::pair{kNobody, kNobody})) << "the trace is the caller's all the same";
}

TEST(RecordOptions, AUserThatMayNotRunTheCommandIsACommandThatCannotBeRun) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  open_to_all(scratch);
  test::write_file(scratch / "private", "#!/bin/sh\n");
  ::chmod((scratch / "private").c_str(), 0700);
  const auto done = record({"-u", "nobody", "-o", scratch / "t.iotape", scratch / "private"});
  EXPECT_EQ(done.status, 126);
  EXPECT_FALSE(std::filesystem::exists(scratch / "t.iotape"));
}

TEST(RecordOptionsLive, BelowMinFreeTheRecordingStopsAndTheWorkloadGoesOn) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  const std::string small = scratch / "small";
  ASSERT_EQ(test::run_shell("mkdir " + small + " && mount -t tmpfs -o size=8M tmpfs " + small).status, 0);
  const std::string marker = scratch / "done";
  const std::string go_on = scratch / "go-on";
  const auto done = record({"-o", small + "/t.iotape", "--min-free", "4M", "sh", "-c",
                            "dd if=/dev/zero of=" + small + "/fill bs=1M count=5 status=none; until test -e " + go_on +
                                "; do sleep 0.02; done; touch " + marker});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.err, testing::HasSubstr("--min-free"));
  EXPECT_FALSE(std::filesystem::exists(marker)) << "it did not wait for the workload";
  const Content content = content_of(small + "/t.iotape");
  test::write_file(go_on, "");
  for (int wait = 0; wait < 5000 && !std::filesystem::exists(marker); ++wait) ::usleep(1000);
  EXPECT_TRUE(std::filesystem::exists(marker));
  test::run_shell("umount " + small);
  EXPECT_GT(content.calls, 0U);
  EXPECT_FALSE(content.interrupted);
}

TEST(RecordOptionsLive, MaxSizeIsKeptToWithinWhatTheBuffersHold) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  constexpr std::uintmax_t kLimit = 100U << 10U;
  constexpr std::uintmax_t kBuffers = 1U << 20U;
  const std::string trace = scratch / "t.iotape";
  const std::string stop = scratch / "stop";
  const auto done = record({"-o", trace, "--max-size", "100K", "sh", "-c",
                            "until test -e " + stop + "; do ls -lR /usr/include >/dev/null; done"});
  test::write_file(stop, "");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.err, testing::HasSubstr("--max-size"));
  EXPECT_GE(std::filesystem::file_size(trace), kLimit);
  EXPECT_LE(std::filesystem::file_size(trace), kLimit + kBuffers);
  EXPECT_FALSE(content_of(trace).interrupted);
  const auto unlimited = record({"--force", "-o", trace, "--max-size", "100M", "true"});
  EXPECT_THAT(unlimited.err, testing::Not(testing::HasSubstr("--max-size")));
}

// Numbered files as fast as a shell makes them; what stood in the directory two seconds before the end must be in the
// trace, whenever the recorder is killed.
TEST(RecordKilledLong, AtFiftyRandomMomentsAllButTheLastSecondIsReadable) {
  IOTAPE_NEEDS_RECORDER();
  std::mt19937 random(20261130);
  for (int round = 0; round < 50; ++round) {
    const test::ScratchDirectory scratch;
    const std::string trace = scratch / "t.iotape";
    const std::string stop = scratch / "stop";
    const std::string script =
        "cd " + scratch.path().string() + "; i=0; until test -e stop; do i=$((i+1)); : > n$i; done; touch done";
    const pid_t recorder = ::fork();
    if (recorder == 0) {
      ::execl(IOTAPE_BINARY, "iotape", "record", "-q", "-o", trace.c_str(), "sh", "-c", script.c_str(), nullptr);
      ::_exit(1);
    }
    const useconds_t moment = static_cast<useconds_t>(random() % 4000000U);
    constexpr useconds_t kSafe = 2'000'000;
    if (moment > kSafe) ::usleep(moment - kSafe);
    int safe = 0;
    while (moment > kSafe && std::filesystem::exists(scratch / ("n" + std::to_string(safe + 1)))) ++safe;
    ::usleep(std::min(moment, kSafe));
    ::kill(recorder, SIGKILL);
    ::waitpid(recorder, nullptr, 0);
    test::write_file(stop, "");
    const bool ran = std::filesystem::exists(scratch / "n1");
    for (int wait = 0; ran && wait < 10'000 && !std::filesystem::exists(scratch / "done"); ++wait) ::usleep(1000);
    EXPECT_EQ(std::filesystem::exists(scratch / "done"), ran) << "the workload went on";
    EXPECT_TRUE(!ran || std::filesystem::exists(trace));
    if (!std::filesystem::exists(trace)) continue;
    const Content content = content_of(trace);
    int read = 0;
    for (const auto& [process, path] : content.opened) read += path.starts_with("n") ? 1 : 0;
    EXPECT_GE(read, safe) << "killed after " << moment << " us";
  }
}

}  // namespace
}  // namespace iotape
