// Results are there whole or not at all; what must be readable while it grows is readable as far as it got.
#include "format/output_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/trace_files.h"
#include "tests/support/sample_events.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

using test::CommandOutput;
using testing::HasSubstr;

std::size_t entries(const std::string& directory) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) ++count;
  return count;
}

class OutputFiles : public testing::Test {
 protected:
  OutputFiles() { std::filesystem::create_directory(place_); }
  test::ScratchDirectory scratch_;
  std::string place_ = scratch_ / "place";
};

TEST_F(OutputFiles, AppearWhenCommittedWithTheirMode) {
  auto file = OutputFile::create(place_ + "/a", false).value();
  ASSERT_TRUE(file.write("whole"));
  EXPECT_FALSE(std::filesystem::exists(place_ + "/a"));
  ASSERT_TRUE(file.commit());
  EXPECT_EQ(test::read_file(place_ + "/a"), "whole");
  struct stat state {};
  ASSERT_EQ(::stat((place_ + "/a").c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 07777U, 0600U);
}

TEST_F(OutputFiles, LeaveNothingWhenGivenUp) {
  test::write_file(place_ + "/old", "old");
  {
    auto fresh = OutputFile::create(place_ + "/a", false).value();
    auto replacing = OutputFile::create(place_ + "/old", true).value();
    ASSERT_TRUE(fresh.write("half"));
    ASSERT_TRUE(replacing.write("half"));
  }
  EXPECT_EQ(entries(place_), 1U);
  EXPECT_EQ(test::read_file(place_ + "/old"), "old");
}

TEST_F(OutputFiles, AreNotOverwrittenWithoutForceNotEvenWhenTheyComeLate) {
  test::write_file(place_ + "/old", "old");
  EXPECT_EQ(OutputFile::create(place_ + "/old", false).error().code, ErrorCode::kUsage);
  auto late = OutputFile::create(place_ + "/late", false).value();
  test::write_file(place_ + "/late", "somebody's");
  EXPECT_FALSE(late.commit());
  EXPECT_EQ(test::read_file(place_ + "/late"), "somebody's");
}

TEST_F(OutputFiles, ForceReplacesWhatALinkLeadsToAndWritesIntoPipes) {
  test::write_file(place_ + "/old", "old");
  ASSERT_EQ(::symlink("old", (place_ + "/link").c_str()), 0);
  auto file = OutputFile::create(place_ + "/link", true).value();
  ASSERT_TRUE(file.write("new") && file.commit());
  EXPECT_TRUE(std::filesystem::is_symlink(place_ + "/link"));
  EXPECT_EQ(test::read_file(place_ + "/old"), "new");
  auto device = OutputFile::create("/dev/null", true).value();
  ASSERT_TRUE(device.write("gone") && device.commit());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(OutputFiles, TakeTheLongestNames) {
  const std::string name = place_ + "/" + std::string(255, 'n');
  auto file = OutputFile::create(name, false).value();
  ASSERT_TRUE(file.write("x") && file.commit());
  EXPECT_TRUE(std::filesystem::exists(name));
}

// A filesystem of a few pages in a mount namespace of its own. `before` is run in it first.
CommandOutput on_a_full_disk(const std::string& before, const std::string& command) {
  const std::string unshare = ::geteuid() == 0 ? "unshare -m" : "unshare -rm";
  return test::run_shell(unshare + " bash -c 'mount -t tmpfs -o size=16k none /mnt && cd /mnt && " + before + " { " +
                         command + "; echo status $?; ls -A; }'");
}
bool can_mount() { return on_a_full_disk("", "true").status == 0; }

#define NEEDS_MOUNTS()                                                                 \
  do {                                                                                 \
    if (!can_mount()) {                                                                \
      if (std::getenv("CI") != nullptr) FAIL() << "CI machines must be able to mount"; \
      GTEST_SKIP() << "needs root or user namespaces";                                 \
    }                                                                                  \
  } while (false)

const std::string kTrace = IOTAPE_SOURCE_DIR "/traces/untar.iotape";

std::vector<std::string> commands_with_whole_results() {
  const std::string tool = IOTAPE_BINARY;
  return {tool + " cut --to 100s " + kTrace + " -o out", tool + " merge " + kTrace + " " + kTrace + " -o out",
          tool + " recover " + kTrace + " -o out",       tool + " convert " + kTrace + " out",
          tool + " convert " + kTrace + " out.json",     tool + " convert " + kTrace + " out.csv",
          tool + " plot " + kTrace + " -o out.svg",      tool + " plot " + kTrace + " -o out.png"};
}

TEST(FullDisks, LeaveNothingOfAResultThatIsNotWhole) {
  NEEDS_MOUNTS();
  for (const std::string& command : commands_with_whole_results()) {
    const CommandOutput output = on_a_full_disk("head -c 16k /dev/zero >ballast;", command);
    EXPECT_EQ(output.out, "status 1\nballast\n") << command << '\n' << output.err;
    EXPECT_THAT(output.err, HasSubstr("No space left on device")) << command;
  }
}

TEST(FullDisks, LeaveNothingWhereFilesNeedAName) {
  NEEDS_MOUNTS();
  // Without /proc a file cannot get its name later.
  for (const std::string& command : commands_with_whole_results()) {
    const CommandOutput output = on_a_full_disk("head -c 16k /dev/zero >ballast; mount -t tmpfs none /proc;", command);
    EXPECT_EQ(output.out, "status 1\nballast\n") << command << '\n' << output.err;
  }
}

TEST(FullDisks, LeaveWhatWasThereBefore) {
  NEEDS_MOUNTS();
  const CommandOutput output =
      on_a_full_disk("echo old >out;", std::string(IOTAPE_BINARY) + " recover --force " + kTrace + " -o out; cat out");
  EXPECT_EQ(output.out, "old\nstatus 0\nout\n") << output.err;
}

TEST(FullDisks, LeaveAReplaysTraceReadableAsFarAsItGot) {
  NEEDS_MOUNTS();
  const std::string tool = IOTAPE_BINARY;
  const CommandOutput output = on_a_full_disk(
      "", tool + " replay -q " + kTrace + " null: --pace asap -o out; echo replay $?; " + tool + " info out | head -3");
  EXPECT_THAT(output.out, HasSubstr("replay 1\n"));
  EXPECT_THAT(output.err, HasSubstr("No space left on device"));
  EXPECT_THAT(output.err, HasSubstr("writing out: "));
  EXPECT_THAT(output.err, HasSubstr("out holds the replay up to there"));
  EXPECT_THAT(output.out, HasSubstr("status 0\nout\n")) << output.err;
}

}  // namespace
}  // namespace iotape
