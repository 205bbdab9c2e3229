// iotape mkfs and iotape check, run as a user runs them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/test_support.h"

namespace iotape {
namespace {

using nlohmann::json;
using test::CommandOutput;
using test::read_file;
using test::run_program;
using test::run_shell;
using test::write_file;
using testing::HasSubstr;

CommandOutput iotape(std::vector<std::string> words) {
  words.insert(words.begin(), IOTAPE_BINARY);
  return run_program(words);
}

class FilesystemCommands : public testing::Test {
 protected:
  [[nodiscard]] std::string image() const { return scratch_ / "image"; }
  test::ScratchDirectory scratch_;
};

TEST_F(FilesystemCommands, AnImageIsMadeCheckedAndCleanForE2fsck) {
  const CommandOutput made = iotape({"mkfs", image(), "100M"});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("102,400 blocks"));
  const CommandOutput checked = iotape({"check", image()});
  EXPECT_EQ(checked.status, 0);
  EXPECT_THAT(checked.out, HasSubstr("sound; 11 of 25,584 inodes"));
  EXPECT_EQ(run_program({"/sbin/e2fsck", "-fn", image()}).status, 0);
}

TEST_F(FilesystemCommands, TheLettersMeanWhatTheyMeanToMke2fs) {
  const std::string letters =
      "-b 2048 -I 128 -i 32768 -m 1 -L name -J size=4 -O ^resize_inode,^dir_index "
      "-U 01234567-89ab-cdef-0123-456789abcdef -E hash_seed=01234567-89ab-cdef-0123-456789abcdee";
  const CommandOutput ours =
      run_shell(fmt::format("{} mkfs {} 60M {} --clock 1700000000", IOTAPE_BINARY, image(), letters));
  EXPECT_EQ(ours.status, 0) << ours.err;
  const CommandOutput theirs =
      run_shell(fmt::format("truncate -s 60M {0}; E2FSPROGS_FAKE_TIME=1700000000 /sbin/mke2fs -F -q -t ext3 {1} {0}",
                            scratch_ / "theirs", letters));
  EXPECT_EQ(theirs.status, 0) << theirs.err;
  EXPECT_EQ(run_shell(fmt::format("cmp {} {}", image(), scratch_ / "theirs")).out, "");
}

TEST_F(FilesystemCommands, SeedAndClockGiveTheSameBytesAndWithoutThemTheyDiffer) {
  const auto make = [&](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> words{"mkfs", "-q", scratch_ / name, "8M"};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(iotape(words).status, 0);
    return read_file(scratch_ / name);
  };
  EXPECT_EQ(make("a", {"--seed", "5", "--clock", "77"}), make("b", {"--seed", "5", "--clock", "77"}));
  EXPECT_NE(make("c", {}), make("d", {}));
}

TEST_F(FilesystemCommands, WhatIsThereIsKeptWithoutForce) {
  ASSERT_EQ(iotape({"mkfs", image(), "8M"}).status, 0);
  const std::string before = read_file(image());
  const CommandOutput refused = iotape({"mkfs", image()});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("holds an ext2, ext3 or ext4 filesystem"));
  EXPECT_EQ(read_file(image()), before);
  EXPECT_EQ(iotape({"mkfs", "--force", image(), "16M"}).status, 0);
  EXPECT_EQ(std::filesystem::file_size(image()), 16U << 20U);
  write_file(scratch_ / "letter", std::string(1 << 20, 'x'));
  EXPECT_THAT(iotape({"mkfs", scratch_ / "letter"}).err, HasSubstr("holds data"));
}

TEST_F(FilesystemCommands, WhatCannotBeIsAUsageErrorAndLeavesNothing) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases{
      {{}, "say how large"},
      {{"100"}, "has no unit"},
      {{"9M", "-O", "dirindex"}, "did you mean dir_index?"},
      {{"9M", "-E", "hash_alg=half_md4_unsigned"}, "unknown hash"},
      {{"9M", "-E", "hash_sed=1"}, "did you mean hash_seed?"},
      {{"9M", "-U", "1234"}, "not a UUID"},
      {{"9M", "-J", "size=100"}, "more than half"},
      {{"9M", "-J", "device=/dev/x"}, "size=MIB is known"},
      {{"9M", "-b", "512"}, "1024, 2048 or 4096"},
      {{"9M", "-I", "512"}, "128 or 256"},
      {{"9M", "-L", "seventeen letters"}, "longer than 16"},
      {{"8K"}, "too small"},
      {{"9M", "--clock", "-5"}, "is not one"},
  };
  for (const auto& [words, says] : cases) {
    std::vector<std::string> all{"mkfs", image()};
    all.insert(all.end(), words.begin(), words.end());
    const CommandOutput refused = iotape(all);
    EXPECT_EQ(refused.status, 2) << says;
    EXPECT_THAT(refused.err, HasSubstr(says));
    EXPECT_FALSE(std::filesystem::exists(image())) << says;
  }
}

TEST_F(FilesystemCommands, DamageIsListedAndEndsWithFour) {
  ASSERT_EQ(iotape({"mkfs", image(), "8M"}).status, 0);
  run_program({"/sbin/debugfs", "-w", "-R", "sif lost+found links_count 9", image()});
  run_program({"/sbin/debugfs", "-w", "-R", "setb 8000", image()});
  const CommandOutput text = iotape({"check", image()});
  EXPECT_EQ(text.status, 4);
  EXPECT_THAT(text.out, HasSubstr("link_count: inode 11 counts 9 names, it has 2"));
  EXPECT_THAT(text.out, HasSubstr("the first is 8000"));
  const CommandOutput document = iotape({"check", image(), "--json", "--most", "1"});
  EXPECT_EQ(document.status, 4);
  const json parsed = json::parse(document.out);
  EXPECT_EQ(parsed["schema"], "iotape.check/1");
  EXPECT_EQ(parsed["sound"], false);
  EXPECT_EQ(parsed["problems"].size(), 1U);
  EXPECT_GT(parsed["problem_count"], 1);
  EXPECT_EQ(parsed["problems"][0]["kind"], "link_count");
  EXPECT_EQ(parsed["problems"][0]["inode"], 11);
}

TEST_F(FilesystemCommands, WhatIsNoImageIsSaidSo) {
  EXPECT_EQ(iotape({"check", scratch_ / "none"}).status, 1);
  write_file(image(), std::string(100'000, 'x'));
  const CommandOutput foreign = iotape({"check", image()});
  EXPECT_EQ(foreign.status, 4);
  EXPECT_THAT(foreign.out, HasSubstr("no ext2 or ext3 here"));
  EXPECT_EQ(iotape({"check", scratch_.path().string()}).status, 2);
}

TEST_F(FilesystemCommands, MkfsTellsItsFiguresAsJson) {
  const CommandOutput made = iotape({"mkfs", image(), "1M", "--json", "--seed", "9", "--clock", "3"});
  const json parsed = json::parse(made.out);
  EXPECT_EQ(parsed["schema"], "iotape.mkfs/1");
  EXPECT_EQ(parsed["inodes"], 128);
  EXPECT_EQ(parsed["journal_blocks"], 0);
  EXPECT_THAT(made.err, HasSubstr("too small for a journal"));
}

TEST_F(FilesystemCommands, ALimitOnTheSizeOfFilesIsToldAndLeavesNothing) {
  const CommandOutput made = run_shell(fmt::format("ulimit -f 1000; {} mkfs {} 64M", IOTAPE_BINARY, image()));
  EXPECT_EQ(made.status, 1);
  EXPECT_NE(made.err, "");
  EXPECT_FALSE(std::filesystem::exists(image()));
}

class FilesystemCommandsLive : public FilesystemCommands {};

TEST_F(FilesystemCommandsLive, DevicesNeedTheUsersWordAndImagesInUseAreRefused) {
  IOTAPE_NEEDS_RECORDER();
  run_shell(fmt::format("truncate -s 16M {}", image()));
  const CommandOutput attached = run_shell(fmt::format("losetup -f --show {}", image()));
  ASSERT_EQ(attached.status, 0) << attached.err;
  const std::string loop = attached.out.substr(0, attached.out.find('\n'));
  EXPECT_THAT(iotape({"mkfs", image()}).err, HasSubstr("is in use as " + loop));
  EXPECT_THAT(iotape({"check", image()}).err, HasSubstr("is in use by " + loop));
  EXPECT_THAT(iotape({"mount", image(), scratch_.path().string()}).err, HasSubstr("is in use as " + loop));
  const std::string trace = std::string(IOTAPE_SOURCE_DIR) + "/traces/dd.iotape";
  EXPECT_THAT(iotape({"replay", trace, "ext3:" + image()}).err, HasSubstr("is in use as " + loop));
  EXPECT_THAT(iotape({"mkfs", loop}).err, HasSubstr("say --allow-writes " + loop));
  EXPECT_THAT(iotape({"mkfs", loop, "--allow-writes", "/dev/null"}).err, HasSubstr("say --allow-writes " + loop));
  const CommandOutput made = iotape({"mkfs", loop, "--allow-writes", loop});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(iotape({"check", loop}).status, 0);
  const CommandOutput mounted = run_shell(fmt::format(
      "mkdir {0}/m && mount -t ext3 {1} {0}/m && {{ {2} mkfs --force {1} --allow-writes {1}; echo status $?; "
      "umount {0}/m; }}",
      scratch_.path().string(), loop, IOTAPE_BINARY));
  EXPECT_THAT(mounted.out, HasSubstr("status 1")) << mounted.err;
  run_shell("losetup -d " + loop);
}

}  // namespace
}  // namespace iotape
