// `iotape record` as a user runs it: exit statuses, files, and what is left when it is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "format/trace_reader.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

using test::CommandOutput;

CommandOutput record(const std::vector<std::string>& words) {
  std::vector<std::string> all{IOTAPE_BINARY, "record"};
  all.insert(all.end(), words.begin(), words.end());
  return test::run_program(all);
}

struct Content {
  std::uint64_t calls = 0;
  bool interrupted = false;
};
Content content_of(const std::string& path) {
  Content content;
  auto reader = TraceReader::open(path);
  if (!reader) {
    ADD_FAILURE() << reader.error().message;
    return content;
  }
  for (;;) {
    const auto event = (*reader)->next();
    if (!event || *event == nullptr) break;
    content.calls += std::holds_alternative<Syscall>((*event)->body) ? 1U : 0U;
  }
  content.interrupted = (*reader)->report().interrupted;
  return content;
}

TEST(RecordCommand, PassesOnTheCommandsStatusAndNamesItsOwnFailures) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  const auto status_of = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--force", "-o", scratch / "t.iotape"});
    return record(words).status;
  };
  EXPECT_EQ(status_of({"--", "sh", "-c", "exit 7"}), 7);
  EXPECT_EQ(status_of({"sh", "-c", "kill -TERM $$"}), 128 + SIGTERM);
  EXPECT_EQ(status_of({"/no/such/program"}), 127);
  EXPECT_EQ(status_of({"/etc/passwd"}), 126);
  EXPECT_EQ(record({"--no-such-option", "true"}).status, 125);
  EXPECT_EQ(record({}).status, 125);
}

TEST(RecordCommand, OptionsOfTheCommandAreNotItsOwn) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  const auto done = record({"-o", scratch / "t.iotape", "sh", "-c", "test \"$0\" = -o", "-o"});
  EXPECT_EQ(done.status, 0) << done.err;
}

TEST(RecordCommand, FileIsPrivateAndNeverOverwrittenUnasked) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  const std::string path = scratch / "t.iotape";
  ASSERT_EQ(record({"-o", path, "true"}).status, 0);
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  const std::string before = test::read_file(path);
  const auto refused = record({"-o", path, "true"});
  EXPECT_EQ(refused.status, 125);
  EXPECT_THAT(refused.err, testing::HasSubstr("--force"));
  EXPECT_EQ(test::read_file(path), before);
  EXPECT_FALSE(content_of(path).interrupted);
}

TEST(RecordCommand, TheTraceGoesToStandardOutputAndTheCommandsOutputDoesNot) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  const std::string path = scratch / "piped.iotape";
  const auto done = test::run_shell(std::string(IOTAPE_BINARY) + " record -o - echo hello | cat > " + path);
  EXPECT_THAT(done.err, testing::HasSubstr("hello"));
  EXPECT_GT(content_of(path).calls, 10U);
}

TEST(RecordCommand, AFullDiskKeepsWhatIsThereAndLeavesTheCommandAlone) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  const std::string small = scratch / "small";
  ::mkdir(small.c_str(), 0700);
  ASSERT_EQ(test::run_shell("mount -t tmpfs -o size=160k tmpfs " + small).status, 0);
  const std::string marker = scratch / "done";
  const auto done = record(
      {"-o", small + "/t.iotape", "sh", "-c", "for i in $(seq 1 5000); do cat /dev/null; done; touch " + marker});
  const Content content = content_of(small + "/t.iotape");
  test::run_shell("umount " + small);
  EXPECT_EQ(done.status, 125);
  EXPECT_THAT(done.err, testing::HasSubstr("No space left"));
  EXPECT_EQ(::access(marker.c_str(), F_OK), 0);
  EXPECT_GT(content.calls, 0U);
  EXPECT_TRUE(content.interrupted);
}

TEST(RecordCommand, KilledAtAnyMomentItLeavesAReadableTraceAndARunningWorkload) {
  IOTAPE_NEEDS_RECORDER();
  for (int round = 0; round < 8; ++round) {
    const test::ScratchDirectory scratch;
    const std::string path = scratch / "t.iotape";
    const std::string marker = scratch / "done";
    const pid_t recorder = ::fork();
    if (recorder == 0) {
      ::execl(IOTAPE_BINARY, "iotape", "record", "-q", "-o", path.c_str(), "sh", "-c",
              ("for i in $(seq 1 400); do cat /dev/null; done; touch " + marker).c_str(), nullptr);
      ::_exit(1);
    }
    for (int wait = 0; wait < 5000 && ::access(path.c_str(), F_OK) != 0; ++wait) ::usleep(1000);
    ::usleep(static_cast<useconds_t>(300'000 + round * 170'000));
    ::kill(recorder, SIGKILL);
    ::waitpid(recorder, nullptr, 0);
    for (int wait = 0; wait < 20'000 && ::access(marker.c_str(), F_OK) != 0; ++wait) ::usleep(1000);
    EXPECT_EQ(::access(marker.c_str(), F_OK), 0) << "the workload went on";
    if (round >= 5) {
      EXPECT_GT(content_of(path).calls, 0U);
    } else {
      (void)content_of(path);  // the header at least
    }
  }
}

// ---- what leaves no file behind ----

class Started {
 public:
  explicit Started(std::vector<std::string> words, bool own_group = false) {
    words.insert(words.begin(), {IOTAPE_BINARY, "record", "-q"});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    if (own_group) ::setpgid(0, 0);
    ::execv(argv[0], argv.data());
    ::_exit(1);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Exit status, or 128 + signal for one that did not end in its own way.
  [[nodiscard]] int wait() const {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  // Until it has put off SIGTERM: before that it ends like any program. All signals at once are held for a moment by
  // whoever starts a thread.
  void wait_until_signals_are_held() const {
    for (int round = 0; round < 5000; ++round, ::usleep(200)) {
      const std::string status = test::read_file("/proc/" + std::to_string(pid_) + "/status");
      const std::size_t at = status.find("SigBlk:");
      if (at == std::string::npos) continue;
      const std::size_t first = status.find_first_not_of(" \t", at + 7);
      std::uint64_t held = 0;
      std::from_chars(status.data() + first, status.data() + status.size(), held, 16);
      const auto holds = [held](int signal) { return (held >> (signal - 1) & 1U) != 0; };
      if (holds(SIGTERM) && !holds(SIGUSR2)) return;
    }
    ADD_FAILURE() << "the recorder never held SIGTERM";
  }

 private:
  pid_t pid_ = -1;
};

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

TEST(RecordCommand, ASignalBeforeTheCommandStartsEndsBothAndLeavesNothing) {
  IOTAPE_NEEDS_RECORDER();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const test::ScratchDirectory scratch;
    const Started recorder({"-o", scratch / "t.iotape", "touch", scratch / "marker"});
    recorder.wait_until_signals_are_held();
    ::kill(recorder.pid(), signal);
    EXPECT_EQ(recorder.wait(), 128 + signal);
    EXPECT_FALSE(exists(scratch / "marker"));
    EXPECT_FALSE(exists(scratch / "t.iotape"));
    EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
  }
}

// Either the command was let go, and there is a trace, or neither.
TEST(RecordCommandLive, ASignalAtAnyMomentLeavesACommandWithItsTraceOrNeither) {
  IOTAPE_NEEDS_RECORDER();
  for (int round = 0; round < 24; ++round) {
    const test::ScratchDirectory scratch;
    const bool keyboard = round % 2 == 0;  // the terminal's Ctrl-C goes to the whole group
    const Started recorder({"-o", scratch / "t.iotape", "sh", "-c", "touch " + (scratch / "marker") + "; sleep 0.4"},
                           true);
    recorder.wait_until_signals_are_held();
    ::usleep(static_cast<useconds_t>(round * 12'000));
    ::kill(keyboard ? -recorder.pid() : recorder.pid(), keyboard ? SIGINT : SIGTERM);
    const int status = recorder.wait();
    EXPECT_EQ(status, keyboard ? 130 : 143) << "round " << round;
    ::usleep(100'000);
    const bool recorded = exists(scratch / "t.iotape");
    const bool ran = exists(scratch / "marker");  // Ctrl-C may end the command before it does anything
    EXPECT_TRUE(ran == recorded || (keyboard && recorded)) << "round " << round;
    if (recorded) (void)content_of(scratch / "t.iotape");
  }
}

TEST(RecordCommand, AFailedRecordingLeavesNoFileAndWhatItWouldHaveReplaced) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  const std::vector<std::vector<std::string>> failing{
      {"/no/such/program"},           {"/etc/passwd"},
      {"-d", "no-such-disk", "true"}, {"--snapshot", "tree=/no/such/directory", "true"},
      {"-u", "no-such-user", "true"}, {"-p", "2147483647"},
      {"--ring-size", "4G", "true"}};
  for (const auto& words : failing) {
    for (const bool replacing : {false, true}) {
      const std::string path = scratch / "t.iotape";
      std::vector<std::string> all{"-o", path};
      if (replacing) {
        test::write_file(path, "an old trace");
        all.emplace_back("--force");
      }
      all.insert(all.end(), words.begin(), words.end());
      EXPECT_NE(record(all).status, 0);
      if (replacing)
        EXPECT_EQ(test::read_file(path), "an old trace") << words.front();
      else
        EXPECT_FALSE(exists(path)) << words.front();
      ::unlink(path.c_str());
      EXPECT_TRUE(std::filesystem::is_empty(scratch.path())) << words.front();
    }
  }
}

TEST(RecordCommand, AFileBeingRecordedIntoIsNeverReplaced) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  const std::string path = scratch / "t.iotape";
  const std::string go_on = scratch / "go-on";
  const Started first({"-o", path, "sh", "-c", "until test -e " + go_on + "; do sleep 0.05; done"});
  for (int wait = 0; wait < 5000 && !exists(path); ++wait) ::usleep(1000);
  for (int round = 0; round < 3; ++round) {
    const auto second = record({"--force", "-o", path, "true"});
    EXPECT_EQ(second.status, 125);
    EXPECT_THAT(second.err, testing::HasSubstr("another recording"));
  }
  test::write_file(go_on, "");
  EXPECT_EQ(first.wait(), 0);
  const Content content = content_of(path);
  EXPECT_GT(content.calls, 20U);
  EXPECT_FALSE(content.interrupted);
  EXPECT_EQ(record({"--force", "-o", path, "true"}).status, 0) << "once it is done it can be replaced";
  EXPECT_LT(content_of(path).calls, content.calls + 1000);
}

TEST(RecordCommandLive, RecordingsStartedTogetherUnderOneNameNeverMix) {
  IOTAPE_NEEDS_RECORDER();
  for (int round = 0; round < 6; ++round) {
    const test::ScratchDirectory scratch;
    const std::string path = scratch / "t.iotape";
    if (round % 2 == 1) {
      ASSERT_EQ(record({"-o", path, "true"}).status, 0);
    }
    const Started first({"--force", "-o", path, "sh", "-c", "sleep 0.3; exit 3"});
    const Started second({"--force", "-o", path, "sh", "-c", "sleep 0.3; exit 4"});
    const int one = first.wait();
    const int other = second.wait();
    EXPECT_TRUE(one == 3 || one == 125) << one;
    EXPECT_TRUE(other == 4 || other == 125) << other;
    EXPECT_TRUE(one == 3 || other == 4);
    EXPECT_FALSE(content_of(path).interrupted);
    // Beside each other is possible only one after the other.
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1);
  }
}

TEST(RecordCommand, WithoutPrivilegesOneMessageNamesCauseAndRemedy) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become nobody";
  const test::ScratchDirectory scratch;
  const std::string copy = scratch / "iotape";
  test::run_shell("cp " + std::string(IOTAPE_BINARY) + " " + copy + "; chmod 755 " + copy + " " +
                  scratch.path().string());
  const auto done =
      test::run_shell("cd /; setpriv --reuid=65534 --regid=65534 --clear-groups " + copy + " record true");
  EXPECT_EQ(done.status, 125);
  EXPECT_THAT(done.err, testing::HasSubstr("sudo"));
  EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1);
}

}  // namespace
}  // namespace iotape
