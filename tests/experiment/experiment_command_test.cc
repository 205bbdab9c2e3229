// experiment as a user runs it.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/experiment/experiment_fixtures.h"

namespace iotape::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class ExperimentCommand : public testing::Test {
 protected:
  static CommandOutput iotape(std::vector<std::string> words) {
    words.insert(words.begin(), {IOTAPE_BINARY, "experiment"});
    return run_program(words);
  }
  std::string trace() { return save_trace(directories_made_and_removed(50), scratch_ / "dirs.iotape"); }
  ScratchDirectory scratch_;
};

TEST_F(ExperimentCommand, NeedsNoFileToCompareTwoTargets) {
  const auto run =
      iotape({trace(), "--target", "ext3:", "--target", "plain=ext3:,htree=off", "--runs", "2", "--ascii"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("plain"));
  EXPECT_THAT(run.out, HasSubstr("writes"));
  EXPECT_THAT(run.err, HasSubstr("next: the same with --keep DIR"));
  EXPECT_THAT(run.err, Not(HasSubstr("left"))) << "progress is for terminals";
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 72U) << line;
}

TEST_F(ExperimentCommand, WhatItPrintsAsASpecificationRunsAsOne) {
  const auto printed = iotape({trace(), "--target", "a=null:", "--target", "b=null:", "--runs", "1", "--print-spec"});
  ASSERT_EQ(printed.status, 0) << printed.err;
  write_file(scratch_ / "mine.experiment", printed.out);
  const auto run = iotape({scratch_ / "mine.experiment", "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  const json document = json::parse(run.out);
  EXPECT_EQ(document["schema"], "iotape.experiment/1");
  EXPECT_EQ(document["targets"].size(), 2U);
  EXPECT_EQ(document["targets"][1]["label"], "b");
  EXPECT_EQ(document["targets"][0]["steps"][0]["runs"][0]["calls"], 100);
}

TEST_F(ExperimentCommand, AMistakeInAFileIsOneErrorWithItsPlace) {
  write_file(scratch_ / "mine.experiment", "title: \"x\"\n\ntaget { spec: \"null:\" }\n");
  const auto run = iotape({scratch_ / "mine.experiment"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("mine.experiment:3: unknown key 'taget'; did you mean target?"));
  EXPECT_EQ(std::ranges::count(run.err, '\n'), 1);
  EXPECT_EQ(run.out, "");
}

TEST_F(ExperimentCommand, WhatIsNotThereIsNamed) {
  EXPECT_EQ(iotape({}).status, 2);
  EXPECT_EQ(iotape({trace()}).status, 2) << "on which targets?";
  const auto run = iotape({"absent.iotape", "--target", "null:"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("absent.iotape"));
  EXPECT_EQ(iotape({"absent.experiment"}).status, 1);
  EXPECT_THAT(iotape({"p4", "--traces", "absent"}).err, HasSubstr("--traces absent: there is no such directory"));
  EXPECT_THAT(iotape({"p4", "--pace", "think"}).err, HasSubstr("in p4 each step has its own"));
}

TEST_F(ExperimentCommand, ListsWhatComesWithIt) {
  const auto run = iotape({"--list"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, HasSubstr("next: iotape experiment NAME"));
  const auto list = nlohmann::json::parse(iotape({"--list", "--json"}).out);
  ASSERT_FALSE(list.empty());
  for (const auto& one : list) EXPECT_THAT(run.out, HasSubstr(one["name"].get<std::string>()));
}

TEST_F(ExperimentCommand, ThePageIsWholeOrNotThereAndNothingIsOverwritten) {
  const std::string page = scratch_ / "r.html";
  const std::string recorded = trace();
  ASSERT_EQ(iotape({recorded, "--target", "null:", "--runs", "1", "-o", page}).status, 0);
  EXPECT_THAT(read_file(page), HasSubstr("</html>"));
  const auto again = iotape({recorded, "--target", "null:", "--runs", "1", "-o", page});
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.err, HasSubstr("--force"));
  EXPECT_EQ(iotape({recorded, "--target", "null:", "--runs", "1", "-o", page, "--force"}).status, 0);
}

TEST_F(ExperimentCommand, ADirectoryIsUsedAgainAndAgainAndLeftEmpty) {
  const std::string place = scratch_ / "place";
  std::filesystem::create_directory(place);
  const auto run = iotape({trace(), "--target", "dir:" + place, "--runs", "3", "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(json::parse(run.out)["targets"][0]["steps"][0]["runs"].size(), 3U);
  EXPECT_TRUE(std::filesystem::is_empty(place));
  write_file(place + "/mine", "precious");
  EXPECT_EQ(iotape({scratch_ / "dirs.iotape", "--target", "dir:" + place}).status, 2);
  EXPECT_EQ(read_file(place + "/mine"), "precious");
}

TEST_F(ExperimentCommand, AnImageThatIsThereIsNotTouched) {
  const std::string image = scratch_ / "disk.img";
  const std::string recorded = trace();
  ASSERT_EQ(iotape({recorded, "--target", "ext3:" + image + ",size=32M", "--runs", "2"}).status, 0);
  EXPECT_FALSE(std::filesystem::exists(image)) << "made for the runs, gone with them";
  write_file(image, "precious");
  EXPECT_EQ(iotape({recorded, "--target", "ext3:" + image}).status, 2);
  EXPECT_EQ(read_file(image), "precious");
}

TEST_F(ExperimentCommand, InterruptedItEndsWith130AndLeavesNothingHalfWritten) {
  const std::string page = scratch_ / "r.html";
  const std::string kept = scratch_ / "kept";
  write_file(scratch_ / "long.experiment",
             "target { label: \"x\" spec: \"ext3:,size=256M\" }\nruns: 1\n"
             "step { workload: \"manyfiles count=1000000 do=create\" }\n");
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl(IOTAPE_BINARY, IOTAPE_BINARY, "experiment", (scratch_ / "long.experiment").c_str(), "-o", page.c_str(),
            "--keep", kept.c_str(), "-q", nullptr);
    ::_exit(127);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  ::kill(child, SIGINT);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_FALSE(std::filesystem::exists(page));
  EXPECT_TRUE(!std::filesystem::exists(kept) || std::filesystem::is_empty(kept));
}

}  // namespace
}  // namespace iotape::test
