#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tests/support/test_support.h"

namespace iotape {
namespace {

using test::CommandOutput;
using test::ScratchDirectory;
using testing::HasSubstr;
namespace fs = std::filesystem;

CommandOutput workload(const std::vector<std::string>& words) {
  std::vector<std::string> all{IOTAPE_BINARY, "workload"};
  all.insert(all.end(), words.begin(), words.end());
  return test::run_program(all);
}

// Every path below a directory with the bytes of its files.
std::map<std::string, std::string> contents_of(const fs::path& top) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : fs::recursive_directory_iterator(top))
    contents[entry.path().lexically_relative(top)] = entry.is_regular_file() ? test::read_file(entry.path()) : "/";
  return contents;
}

std::size_t files_below(const fs::path& top) {
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(top)) files += entry.is_regular_file() ? 1 : 0;
  return files;
}

TEST(WorkloadCommand, ListNamesEveryWorkload) {
  const CommandOutput result = workload({"--list"});
  EXPECT_EQ(result.status, 0);
  for (const char* name : {"tree", "files300k", "inodetest", "io ", "read ", "list ", "dd "})
    EXPECT_THAT(result.out, HasSubstr(name));
  EXPECT_THAT(workload({"--list", "--json"}).out, HasSubstr(R"("schema": "iotape.workload/1")"));
}

TEST(WorkloadCommand, MistypedNameIsAUsageErrorThatNamesTheNearest) {
  const CommandOutput result = workload({"inodtest", "x"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean inodetest?"));
  EXPECT_EQ(workload({}).status, 2);
}

TEST(WorkloadCommand, TreeIsTheSameInEveryPlace) {
  const ScratchDirectory scratch;
  for (const char* place : {"a", "b"}) {
    const CommandOutput made = workload({"tree", scratch / place, "--files", "200", "--bytes", "1M"});
    ASSERT_EQ(made.status, 0) << made.err;
  }
  const auto a = contents_of(scratch / "a");
  EXPECT_EQ(a, contents_of(scratch / "b"));
  std::size_t bytes = 0;
  for (const auto& [path, content] : a) bytes += content == "/" ? 0 : content.size();
  EXPECT_EQ(bytes, 1U << 20U);
  EXPECT_EQ(files_below(scratch / "a"), 200U);
}

TEST(WorkloadCommand, ExistingFilesAreLeftAloneAndNamed) {
  const ScratchDirectory scratch;
  ASSERT_EQ(workload({"tree", scratch / "t", "--files", "10", "--bytes", "1K"}).status, 0);
  const auto before = contents_of(scratch / "t");
  const CommandOutput again = workload({"tree", scratch / "t", "--files", "10", "--bytes", "1K"});
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.err, HasSubstr("exists already"));
  EXPECT_EQ(contents_of(scratch / "t"), before);
}

class ManyFilesOrders : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(ManyFilesOrders, CreatesThenDeletesAllOfThem) {
  const ScratchDirectory scratch;
  const auto [create, remove] = GetParam();
  const std::vector<std::string> common{"files300k", scratch / "d", "--files", "300", "--create-order", create};
  auto words = common;
  words.insert(words.end(), {"--phase", "create"});
  ASSERT_EQ(workload(words).status, 0);
  EXPECT_EQ(files_below(scratch / "d"), 300U);
  EXPECT_TRUE(fs::exists(scratch / "d/00000000"));
  EXPECT_TRUE(fs::exists(scratch / "d/0000012B"));
  test::write_file(scratch / "d/other", "");
  words = common;
  words.insert(words.end(), {"--phase", "delete", "--delete-order", remove});
  const CommandOutput deleted = workload(words);
  ASSERT_EQ(deleted.status, 0) << deleted.err;
  EXPECT_EQ(files_below(scratch / "d"), 1U) << "only the file that is not the workload's stays";
}
INSTANTIATE_TEST_SUITE_P(Orders, ManyFilesOrders,
                         testing::Values(std::pair("creation", "creation"), std::pair("creation", "readdir"),
                                         std::pair("random", "creation"), std::pair("random", "random"),
                                         std::pair("random", "readdir")),
                         [](const auto& orders) { return orders.param.first + "_then_" + orders.param.second; });

// The names the workload passes to a system call, in order, as strace saw them.
std::string names_in_order(const std::string& directory, const std::string& call, const std::string& options) {
  const std::string command = "strace -f -e trace=" + call + " " + IOTAPE_BINARY + " workload files300k " + directory +
                              " --files 40 " + options +
                              " 2>&1 >/dev/null | grep -oE '\"[0-9A-F]{8}\"' | tr -d '\"' | paste -sd ' '";
  return test::run_shell(command).out;
}

TEST(ManyFiles, CreationOrderIsAscendingAndRandomIsNotButRepeats) {
  if (test::run_shell("strace -V").status != 0) GTEST_SKIP() << "strace is not installed";
  const ScratchDirectory scratch;
  const std::string ascending = names_in_order(scratch / "a", "unlinkat", "");
  EXPECT_THAT(ascending, testing::StartsWith("00000000 00000001 00000002 "));
  const std::string random = names_in_order(scratch / "b", "unlinkat", "--delete-order random");
  EXPECT_EQ(random.size(), ascending.size());
  EXPECT_NE(random, ascending);
  EXPECT_EQ(random, names_in_order(scratch / "c", "unlinkat", "--delete-order random"));
}

TEST(ManyFiles, RenamedIntoPlaceLeavesNoTemporaryDirectory) {
  const ScratchDirectory scratch;
  const CommandOutput result = workload({"files300k", scratch / "d", "--files", "50", "--phase", "create", "--rename"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(contents_of(scratch / "d").size(), 50U);
  EXPECT_THAT(result.out, HasSubstr("renamed"));
}

TEST(InodeTest, DeletesTheShareItSays) {
  const ScratchDirectory scratch;
  const CommandOutput result = workload(
      {"inodetest", scratch / "d", "--top", "3", "--directories", "10", "--files", "4", "--delete", "2", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(files_below(scratch / "d"), 3U * 8 * 4);
  EXPECT_THAT(result.out, HasSubstr(R"("files_created": 120)"));
  EXPECT_THAT(result.out, HasSubstr(R"("files_deleted": 24)"));
  EXPECT_THAT(result.out, HasSubstr(R"("bytes_written": 0)")) << "zeros are present";
}

TEST(InodeTest, ProcessesAddUp) {
  const ScratchDirectory scratch;
  const CommandOutput result = workload({"inodetest", scratch / "d", "--top", "1", "--directories", "5", "--files", "4",
                                         "--delete", "1", "--processes", "3", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(files_below(scratch / "d"), 3U * 4 * 4);
  EXPECT_THAT(result.out, HasSubstr(R"("files_created": 60)"));
}

TEST(InodeTest, ErrorInAProcessIsTheCommandsError) {
  const ScratchDirectory scratch;
  fs::create_directories(scratch / "d/process1/top0");
  const CommandOutput result = workload({"inodetest", scratch / "d", "--processes", "2", "--top", "1"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("process1/top0"));
}

TEST(Streams, DdWritesTheSizeAskedForAndReadReadsIt) {
  const ScratchDirectory scratch;
  ASSERT_EQ(workload({"dd", scratch / "d", "--bytes", "100001", "--block", "4K", "--sync", "fsync"}).status, 0);
  const std::string content = test::read_file(scratch / "d/dd.data");
  EXPECT_EQ(content.size(), 100'001U);
  EXPECT_NE(content.substr(0, 4096), content.substr(4096, 4096)) << "random blocks differ, so nothing can share them";
  const CommandOutput read = workload({"read", scratch / "r", "--bytes", "100001", "--loops", "2", "--json"});
  ASSERT_EQ(read.status, 0) << read.err;
  EXPECT_THAT(read.out, HasSubstr(R"("bytes_read": 100001)"));
}

TEST(Streams, ListSeesEveryEntry) {
  const ScratchDirectory scratch;
  ASSERT_EQ(workload({"tree", scratch / "t", "--files", "60", "--bytes", "6K"}).status, 0);
  const std::size_t entries = contents_of(scratch / "t").size();
  const CommandOutput listed = workload({"list", scratch / "t", "--existing", "--loops", "1", "--json"});
  EXPECT_THAT(listed.out, HasSubstr("\"entries_listed\": " + std::to_string(entries) + ","));
}

TEST(Streams, NonsenseSizesAreUsageErrors) {
  const ScratchDirectory scratch;
  EXPECT_EQ(workload({"dd", scratch / "d", "--bytes", "lots"}).status, 2);
  EXPECT_EQ(workload({"dd", scratch / "d", "--block", "0"}).status, 2);
  EXPECT_EQ(workload({"tree", scratch / "d", "--block", "0"}).status, 2);
  EXPECT_FALSE(fs::exists(scratch / "d"));
}

// A filesystem with 16 free inodes: the message must say that inodes ran out, not space.
TEST(WorkloadLive, RunningOutOfInodesIsToldApartFromRunningOutOfSpace) {
  IOTAPE_NEEDS_RECORDER();
  const ScratchDirectory scratch;
  const std::string in_namespace = "mkdir " + (scratch / "few") + " && mount -t tmpfs -o nr_inodes=16,size=64k none " +
                                   (scratch / "few") + " && " + IOTAPE_BINARY + " workload files300k " +
                                   (scratch / "few/d") + "; " + IOTAPE_BINARY + " workload dd " + (scratch / "few/d");
  const CommandOutput result = test::run_program({"unshare", "-m", "bash", "-c", in_namespace});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("no inodes left (all 16 in use)"));
}

TEST(WorkloadLive, RunningOutOfSpaceSaysSo) {
  IOTAPE_NEEDS_RECORDER();
  const ScratchDirectory scratch;
  const std::string in_namespace = "mkdir " + (scratch / "small") + " && mount -t tmpfs -o size=64k none " +
                                   (scratch / "small") + " && " + IOTAPE_BINARY + " workload dd " +
                                   (scratch / "small/d");
  const CommandOutput result = test::run_program({"unshare", "-m", "bash", "-c", in_namespace});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("no space left"));
}

}  // namespace
}  // namespace iotape
