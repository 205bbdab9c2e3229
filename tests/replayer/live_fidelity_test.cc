// Recorded for real, replayed for real: what is left afterwards is the same tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "tests/support/test_support.h"

namespace iotape {
namespace {

using test::CommandOutput;
using test::run_shell;

struct Found {
  std::string kind_and_mode;
  std::uint64_t size = 0;
  std::int64_t modified = 0;
  std::string link_target;
  std::string first_name;  // the least of a hard-linked file's names
  std::map<std::string, std::string> xattrs;
  bool operator==(const Found&) const = default;
};
void PrintTo(const Found& found, std::ostream* out) {
  *out << found.kind_and_mode << " size " << found.size << " modified " << found.modified << " -> " << found.link_target
       << " is " << found.first_name << " with " << found.xattrs.size() << " xattrs";
}

std::map<std::string, std::string> xattrs_of(const std::string& path) {
  std::map<std::string, std::string> all;
  char names[4096];
  char value[4096];
  const ssize_t length = ::llistxattr(path.c_str(), names, sizeof names);
  for (ssize_t at = 0; at < length; at += static_cast<ssize_t>(std::string(names + at).size()) + 1) {
    const ssize_t size = ::lgetxattr(path.c_str(), names + at, value, sizeof value);
    if (size >= 0) all[names + at] = std::string(value, static_cast<std::size_t>(size));
  }
  return all;
}

enum class Times { kAll, kOfFilesOnly, kNone };

// Everything below `top`; of the top itself nothing, because it was there before.
std::map<std::string, Found> tree_of(const std::string& top, Times times) {
  std::map<std::string, Found> tree;
  std::map<ino_t, std::string> first;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(top)) {
    const std::string path = entry.path();
    const std::string name = path.substr(top.size());
    if (name == "/lost+found") continue;
    struct stat info {};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0);
    Found found;
    found.kind_and_mode = std::to_string(info.st_mode);
    if (!S_ISDIR(info.st_mode)) found.size = static_cast<std::uint64_t>(info.st_size);
    if (times == Times::kAll || (times == Times::kOfFilesOnly && S_ISREG(info.st_mode)))
      found.modified = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec;
    if (S_ISLNK(info.st_mode)) found.link_target = std::filesystem::read_symlink(path).string();
    if (info.st_nlink > 1 && !S_ISDIR(info.st_mode)) {
      auto& least = first.try_emplace(info.st_ino, name).first->second;
      least = std::min(least, name);
    }
    found.xattrs = xattrs_of(path);
    tree.emplace(name, std::move(found));
  }
  for (auto& [name, found] : tree) {
    struct stat info {};
    if (::lstat((top + name).c_str(), &info) == 0 && info.st_nlink > 1 && !S_ISDIR(info.st_mode))
      found.first_name = first[info.st_ino];
  }
  return tree;
}

// What untar meets at its worst: hard links, xattrs, special modes, old times, odd names.
const char* const kMakeTree = R"(
  mkdir -p src && cd src
  for i in $(seq 1 12); do mkdir -p d$i/sub
    for j in $(seq 1 8); do head -c $((i * j * 97)) /dev/zero > d$i/sub/f$j; done; done
  ln d1/sub/f1 d2/hard; ln d1/sub/f1 d3/hard2; ln -s ../d1/sub/f1 d4/link; ln -s 'dangling thing' d4/'dang ling'
  echo a > 'sp ace'; echo b > $'new\nline'; echo c > "quo'te\"d"; echo d > $'hi\xffgh'; echo e > $(printf 'n%.0s' $(seq 255))
  chmod 4755 d5/sub/f1; chmod 0 d5/sub/f2; chmod 1777 d6
  touch -d '2001-02-03 04:05:06.123456789' d7/sub/f3; touch -h -d '2003-02-03 04:05:06.987654321' d4/link
  setfattr -n user.test -v value d8/sub/f1; setfattr -n user.bin -v 0x00ff10 d8; mkfifo d9/fifo; truncate -s 100000 d9/sparse
)";

class LiveFidelity : public testing::Test {
 protected:
  // Runs and records a shell command in `directory` of the scratch.
  void record(const std::string& options, const std::string& directory, const std::string& command) {
    test::write_file(scratch_ / "command.sh", command);
    const auto done =
        run_shell("cd " + (scratch_ / directory) + " && " + IOTAPE_BINARY + " record -q " + options + " -o " +
                  (scratch_ / "t.iotape") + " bash " + (scratch_ / "command.sh") + " >/dev/null 2>&1");
    EXPECT_NE(done.status, 125) << done.err;
  }
  CommandOutput replay(const std::string& target, const std::string& options) {
    return run_shell(std::string(IOTAPE_BINARY) + " replay -q --keep owner,special,setuid " + options + " " +
                     (scratch_ / "t.iotape") + " " + target);
  }
  void shell(const std::string& line) {
    const auto done = run_shell("cd " + scratch_.path().string() + " && " + line);
    ASSERT_EQ(done.status, 0) << done.err;
  }
  test::ScratchDirectory scratch_;
};

TEST_F(LiveFidelity, AReplayedUntarGivesTheSameTree) {
  IOTAPE_NEEDS_RECORDER();
  shell(kMakeTree);
  shell("tar --xattrs -cf t.tar src && mkdir out again");
  record("", "out", "tar --xattrs -xpf ../t.tar -C " + (scratch_ / "out"));
  const auto done = replay(scratch_ / "again", "");
  EXPECT_EQ(done.status, 0) << done.out;
  const auto expected = tree_of(scratch_ / "out", Times::kAll);
  EXPECT_GT(expected.size(), 120U);
  EXPECT_EQ(tree_of(scratch_ / "again", Times::kAll), expected);
}

TEST_F(LiveFidelity, AReplayedRemovalLeavesTheSameRest) {
  IOTAPE_NEEDS_RECORDER();
  shell(kMakeTree);
  shell("mkdir again");
  record("--snapshot tree=" + (scratch_ / "src"), "src", "rm -rf d1* d2/sub; rm -f d3/sub/f1 'sp ace' $'hi\\xffgh'");
  const auto done = replay(scratch_ / "again", "--map " + (scratch_ / "src") + "=/");
  EXPECT_EQ(done.status, 0) << done.out << done.err;
  const auto expected = tree_of(scratch_ / "src", Times::kOfFilesOnly);
  EXPECT_GT(expected.size(), 60U);
  EXPECT_EQ(tree_of(scratch_ / "again", Times::kOfFilesOnly), expected);
}

TEST_F(LiveFidelity, ManyProcessesAtOnceLeaveTheSameTreeWithoutAMismatch) {
  IOTAPE_NEEDS_RECORDER();
  shell(kMakeTree);
  shell("mkdir work again && cp -a src/d1 work/in");
  test::write_file(
      scratch_ / "many.sh",
      "cp -a in a & cp -r in b & (mkdir c && cd c && cp -a ../in x && mv x y && rm -rf y/sub/f1*) & wait\n"
      "mv a c/; mkdir e && mv b e/../d; mkdir p; cd p; echo one > one; cd ../p; echo two > ../p/./two; cd ..\n"
      "for i in 1 2 3 4; do (for j in $(seq 20); do echo $j > p/t$i-$j; mv p/t$i-$j p/r$i-$j; done) & done; wait\n"
      "ln -s p ln; echo 3 > ln/../viadots; ls -lR > /dev/null; cat in/sub/* | wc -c > count\n"
      "cp /nonexistent .; rm nope; mkdir c; rmdir p; ln one one; exit 0\n");
  record("", "work", "exec sh " + (scratch_ / "many.sh"));
  const auto done = replay(scratch_ / "again", "--map " + (scratch_ / "work") + "=/");
  EXPECT_EQ(done.status, 0) << done.out << done.err;
  EXPECT_THAT(done.out, testing::HasSubstr("mismatches 0"));
  EXPECT_EQ(tree_of(scratch_ / "again", Times::kNone), tree_of(scratch_ / "work", Times::kNone));
}

TEST_F(LiveFidelity, ParallelProcessesReplayedInThreadOrderLeaveTheSameTree) {
  IOTAPE_NEEDS_RECORDER();
  shell(kMakeTree);
  shell("mkdir -p work/1 work/2 work/3 work/4 again && tar -cf work/in.tar src");
  record("", "work", "for i in 1 2 3 4; do tar -xf in.tar -C $i & done; wait; exec true");
  const std::string map = "--order thread --map " + (scratch_ / "work") + "=/";
  const auto done = replay(scratch_ / "again", map + " -o " + (scratch_ / "result.iotape"));
  EXPECT_EQ(done.status, 0) << done.out << done.err;
  EXPECT_THAT(done.out, testing::HasSubstr("mismatches 0"));
  EXPECT_THAT(done.out, testing::HasSubstr("order thread"));
  auto expected = tree_of(scratch_ / "work", Times::kNone);
  EXPECT_GT(expected.size(), 400U);
  EXPECT_EQ(tree_of(scratch_ / "again", Times::kNone), expected);
  const auto nothing = replay("null:", map);
  EXPECT_EQ(nothing.status, 0) << nothing.out << nothing.err;
  const auto info = run_shell(std::string(IOTAPE_BINARY) + " info " + (scratch_ / "result.iotape"));
  EXPECT_EQ(info.status, 0) << info.out << info.err;
  EXPECT_THAT(info.out + info.err, testing::Not(testing::HasSubstr("disorder")));
}

TEST(LiveResults, NameTheDeviceAndTellItsSpace) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  const std::string tool = IOTAPE_BINARY;
  const std::string part = scratch / "part.iotape";
  const std::string result = scratch / "result.iotape";
  ASSERT_EQ(run_shell(tool + " cut -q " IOTAPE_SOURCE_DIR "/traces/dd.iotape --to 150ms -o " + part).status, 0);
  const CommandOutput replay = run_shell(tool + " replay -q " + part + " kernel:ext4,size=1G -o " + result);
  ASSERT_EQ(replay.status, 0) << replay.err;
  const CommandOutput seeks = run_shell(tool + " seeks " + result);
  EXPECT_THAT(seeks.out, testing::HasSubstr("device loop")) << "not 7:2";
  const CommandOutput compare = run_shell(tool + " compare -q " + part + " " + result);
  EXPECT_THAT(compare.out, testing::ContainsRegex("space_after +- +[0-9]")) << compare.out << compare.err;
  EXPECT_THAT(compare.out, testing::ContainsRegex("synced_time +- +[0-9]")) << compare.out;
  // A part of a result of which the device's name was not written.
  const std::string name = run_shell(tool + " seeks " + result + " | sed -n 's/^device \\([a-z0-9]*\\).*/\\1/p'").out;
  EXPECT_THAT(run_shell(tool + " seeks " + result + " --device " + name).out, testing::HasSubstr("device loop"));
}

}  // namespace
}  // namespace iotape
