// `iotape record` as a user runs it: exit statuses, files, and what is left when it is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
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
