// A live run on a mount, written down while it runs and analysed like a recorded one.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include <nlohmann/json.hpp>

#include "tests/fuse_mount/support/fuse_mount.h"

namespace iotape::fuse_mount::test {
namespace {

using iotape::test::run_program;
using iotape::test::run_shell;
using Json = nlohmann::json;

Json json_of(const std::vector<std::string>& words) {
  std::vector<std::string> all{IOTAPE_BINARY};
  all.insert(all.end(), words.begin(), words.end());
  const auto output = run_program(all);
  EXPECT_EQ(output.status, 0) << output.err;
  return Json::parse(output.out, nullptr, false);
}

// Lines of a file that hold the text.
std::uint64_t lines_with(const std::string& text, const std::string& file) {
  const std::string bytes = iotape::test::read_file(file);
  std::uint64_t count = 0;
  for (std::size_t at = bytes.find(text); at != std::string::npos; at = bytes.find(text, bytes.find('\n', at))) ++count;
  return count;
}

// How many calls a program made of each kind, by strace: what the image's file really saw.
struct Calls {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t flushes = 0;
};
Calls calls_in(const std::string& file) {
  return {lines_with(" preadv(", file), lines_with(" pwritev(", file), lines_with(" fdatasync(", file)};
}

TEST(MountTraceLive, AnUnpackedTreeIsAnalysedLikeARecordedOne) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("256M");
  const std::string trace = mounted.image() + ".iotape";
  ASSERT_TRUE(mounted.mount("commit=1", {"--trace", trace})) << mounted.complaint();
  const std::string source = IOTAPE_SOURCE_DIR;
  ASSERT_EQ(
      run_shell("cd " + mounted.path() + " && tar cf - -C " + source + " replayer tests | tar xf - && sync .").status,
      0);
  run_shell("sleep 1.5");
  EXPECT_NE(run_program({IOTAPE_BINARY, "seeks", trace}).out.find("interrupted"), std::string::npos)
      << "it can be read while it grows";
  ASSERT_TRUE(mounted.unmount());
  EXPECT_EQ(mounted.judge(), "");

  const Json seeks = json_of({"seeks", trace, "--by", "cause", "--json"});
  const std::string text = seeks.dump();
  for (const char* cause : {"data", "journal", "inode_table", "directory_leaf", "block_bitmap"})
    EXPECT_NE(text.find(cause), std::string::npos) << cause;
  const auto plain = run_program({IOTAPE_BINARY, "seeks", trace});
  EXPECT_EQ(plain.status, 0) << plain.err;
  EXPECT_EQ(plain.out.find("INCOMPLETE"), std::string::npos) << plain.out;
  EXPECT_NE(run_program({IOTAPE_BINARY, "seeks", trace, "--by", "process"}).out.find("tar"), std::string::npos);
  const Json info = json_of({"info", trace, "--json"});
  EXPECT_NE(info.dump().find("cold"), std::string::npos) << info.dump(2);
  EXPECT_NE(info.dump().find("mount image mnt"), std::string::npos) << info.dump(2);
}

TEST(MountTraceLive, ItsRequestsAreTheCallsThatTheImageSaw) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("128M");
  const std::string trace = mounted.image() + ".iotape";
  const std::string calls = mounted.image() + ".calls";
  const std::string& place = mounted.path();
  // Leaks cannot be looked for under strace.
  const auto run = run_shell("strace -E ASAN_OPTIONS=detect_leaks=0 -f -e trace=preadv,pwritev,fdatasync -o " + calls +
                             " " + IOTAPE_BINARY + " mount -q -f --trace " + trace + " " + mounted.image() + " " +
                             place + " & server=$!; until mountpoint -q " + place + "; do sleep 0.05; done; cd " +
                             place + " && tar cf - -C " + IOTAPE_SOURCE_DIR +
                             " replayer | tar xf - && sync . && cat $(find . "
                             "-name '*.h') >/dev/null; cd / && " +
                             IOTAPE_BINARY + " mount -u " + place + "; wait $server");
  ASSERT_EQ(run.status, 0) << run.err;
  const auto dumped = run_program({IOTAPE_BINARY, "dump", trace, "--layer", "block", "--format", "csv"});
  ASSERT_EQ(dumped.status, 0) << dumped.err;
  iotape::test::write_file(mounted.image() + ".csv", dumped.out);
  const auto count = [&](const std::string& operation) { return lines_with(operation, mounted.image() + ".csv"); };
  const Calls seen = calls_in(calls);
  EXPECT_GT(seen.writes, 10U);
  EXPECT_EQ(count(",write,"), seen.writes);
  EXPECT_EQ(count(",read,"), seen.reads);
  EXPECT_EQ(count(",flush,"), seen.flushes);
}

TEST(MountTraceLive, ASignalCompletesItAndAKillLeavesItInterrupted) {
  IOTAPE_NEEDS_FUSE();
  for (const bool killed : {false, true}) {
    MountedImage mounted("64M");
    const std::string trace = mounted.image() + ".iotape";
    ASSERT_TRUE(mounted.mount("commit=100ms", {"--trace", trace})) << mounted.complaint();
    run_shell("cd " + mounted.path() + " && for i in $(seq 300); do echo $i > f$i; done; sync f300; sleep 2.5");
    if (killed)
      mounted.kill();
    else
      EXPECT_TRUE(mounted.end_by_signal(SIGTERM));
    const auto info = run_program({IOTAPE_BINARY, "info", trace});
    EXPECT_EQ(info.out.find("interrupted") != std::string::npos, killed) << info.out;
    const auto seeks = run_program({IOTAPE_BINARY, "seeks", trace, "--by", "cause"});
    EXPECT_NE(seeks.out.find("journal"), std::string::npos) << seeks.out << seeks.err;
  }
}

TEST(MountTraceLive, OneThatExistsIsNotOverwrittenAndAFailedMountLeavesNone) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("64M");
  const std::string trace = mounted.image() + ".iotape";
  iotape::test::write_file(trace, "mine");
  EXPECT_FALSE(mounted.mount("ro", {"--trace", trace}));
  EXPECT_NE(mounted.complaint().find("--force"), std::string::npos) << mounted.complaint();
  EXPECT_EQ(iotape::test::read_file(trace), "mine");
  std::filesystem::remove(trace);
  run_shell("dd if=/dev/zero of=" + mounted.image() + " bs=4096 count=1 conv=notrunc status=none");
  EXPECT_FALSE(mounted.mount("ro", {"--trace", trace}));
  EXPECT_FALSE(std::filesystem::exists(trace));
}

}  // namespace
}  // namespace iotape::fuse_mount::test
