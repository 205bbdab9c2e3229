// The initial tree: what prepare() is told is what is there.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <set>

#include "tests/replayer/target_driver.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

using test::Driver;

InitialNode node(std::string path, FileKind kind, std::uint32_t mode, std::uint64_t size = 0) {
  InitialNode made;
  made.path = std::move(path);
  made.kind = kind;
  made.mode = mode;
  made.size = size;
  made.modification_time = 1'234'567'890'123'456'789;
  return made;
}

struct stat status(const std::string& path) {
  struct stat state {};
  EXPECT_EQ(::lstat(path.c_str(), &state), 0) << path;
  return state;
}

class Prepare : public ::testing::Test {
 protected:
  std::string outside(const std::string& path) const { return place_ + path; }
  test::ScratchDirectory scratch_;
  std::string place_ = scratch_ / "target";
};

TEST_F(Prepare, MakesWhatTheTreeSays) {
  InitialTree tree{node("/", FileKind::kDirectory, 0750),
                   node("/d", FileKind::kDirectory, 0555),
                   node("/d/file", FileKind::kRegular, 0400, 10'000),
                   node("/d/\xFF\n", FileKind::kRegular, 0644, 1),
                   node("/soft", FileKind::kSymbolicLink, 0777),
                   node("/fifo", FileKind::kFifo, 0620),
                   node("/hard", FileKind::kRegular, 0400),
                   node("/socket", FileKind::kSocket, 0600),
                   node("/no/parent/was/told", FileKind::kRegular, 0644),
                   node("/hole", FileKind::kRegular, 0644, 1U << 30U)};
  tree[4].link_target = "d/file";
  tree[6].hard_link_to = "/d/file";
  tree[2].xattrs = {{"user.color", "red"}};
  tree[9].allocated = 4096;
  Driver driver("dir:" + place_);
  ASSERT_TRUE(driver) << driver.error().message;
  std::uint64_t done = 0;
  const auto prepared = driver.target().prepare(tree, [&](std::uint64_t nodes) { done = nodes; });
  ASSERT_TRUE(prepared.has_value()) << prepared.error().message;
  EXPECT_LE(done, tree.size());
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const struct stat state = status(outside(tree[i].path));
    if (tree[i].kind != FileKind::kSymbolicLink) {
      EXPECT_EQ(state.st_mode & 07777U, tree[i].mode) << tree[i].path;
    }
    if (i != 6 && tree[i].kind == FileKind::kRegular) {
      EXPECT_EQ(static_cast<std::uint64_t>(state.st_size), tree[i].size);
    }
    EXPECT_EQ(state.st_mtim.tv_sec, 1'234'567'890) << tree[i].path;
    EXPECT_EQ(state.st_mtim.tv_nsec, 123'456'789) << tree[i].path;
  }
  EXPECT_EQ(std::filesystem::read_symlink(outside("/soft")), "d/file");
  EXPECT_EQ(status(outside("/hard")).st_ino, status(outside("/d/file")).st_ino);
  EXPECT_TRUE(S_ISFIFO(status(outside("/fifo")).st_mode));
  EXPECT_TRUE(S_ISSOCK(status(outside("/socket")).st_mode));
  EXPECT_LT(status(outside("/hole")).st_blocks, 1000);
  std::array<char, 10> value{};
  EXPECT_EQ(::getxattr(outside("/d/file").c_str(), "user.color", value.data(), value.size()), 3);
  const std::string bytes = test::read_file(outside("/d/file"));
  EXPECT_GT(std::set<char>(bytes.begin(), bytes.end()).size(), 200U);
}

TEST_F(Prepare, KeepsOwnersAndSpecialsOnlyWhenAsked) {
  if (::geteuid() != 0) GTEST_SKIP() << "owners and device nodes take root";
  InitialTree tree{node("/mine", FileKind::kRegular, 04755), node("/null", FileKind::kCharacterDevice, 0666)};
  tree[0].user = 1234;
  tree[0].group = 4321;
  tree[1].special_device = makedev(1, 3);
  Driver plain("dir:" + place_);
  ASSERT_TRUE(plain.target().prepare(tree).has_value());
  EXPECT_EQ(status(outside("/mine")).st_uid, 0U);
  EXPECT_EQ(status(outside("/mine")).st_mode & 07777U, 0755U);
  EXPECT_TRUE(S_ISREG(status(outside("/null")).st_mode));
  TargetOptions options;
  options.keep = {true, true, true};
  Driver keeping("dir:" + (scratch_ / "second"), options);
  ASSERT_TRUE(keeping.target().prepare(tree).has_value());
  EXPECT_EQ(status(scratch_ / "second/mine").st_uid, 1234U);
  EXPECT_EQ(status(scratch_ / "second/mine").st_mode & 07777U, 04755U);
  EXPECT_EQ(status(scratch_ / "second/null").st_rdev, makedev(1, 3));
}

TEST_F(Prepare, TreesDeeperThanAPathCanBeAreMade) {
  std::string path;
  InitialTree tree;
  for (int depth = 0; depth < 30; ++depth) {
    path += "/" + std::string(200, 'd');
    tree.push_back(node(path, FileKind::kDirectory, 0755));
  }
  tree.push_back(node(path + "/leaf", FileKind::kRegular, 0644, 5));
  Driver driver("dir:" + place_);
  const auto prepared = driver.target().prepare(tree);
  EXPECT_TRUE(prepared.has_value()) << prepared.error().message;
}

TEST_F(Prepare, AFailureNamesTheNode) {
  Driver driver("dir:" + place_);
  const auto prepared =
      driver.target().prepare({node("/file", FileKind::kRegular, 0644), node("/file/below", FileKind::kRegular, 0644)});
  ASSERT_FALSE(prepared.has_value());
  EXPECT_NE(prepared.error().message.find("/file/below"), std::string::npos);
}

TEST_F(Prepare, ColdIsSaidOrExplained) {
  Driver driver("dir:" + place_);
  ASSERT_TRUE(driver.target().prepare({node("/a", FileKind::kRegular, 0644, 100)}).has_value());
  ASSERT_TRUE(driver.target().make_cold().has_value());
  ASSERT_EQ(driver.target().facts().notes.size(), 1U);
  driver.start();
  EXPECT_FALSE(driver.target().make_cold().has_value());
}

}  // namespace
}  // namespace iotape
