// What is known of files that are removed without having been looked at, on each filesystem.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>
#include <unordered_map>

#include "format/trace_reader.h"
#include "tests/recorder/loop_filesystem.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

using test::LoopFilesystem;

struct Content {
  std::vector<FileState> removals;
  std::unordered_map<FileIdentity, FileState> snapshot;
};

Content content_of(const std::string& path) {
  Content content;
  auto reader = TraceReader::open(path);
  EXPECT_TRUE(reader);
  if (!reader) return content;
  for (;;) {
    const auto event = (*reader)->next();
    if (!event || *event == nullptr) return content;
    const auto* state = std::get_if<FileState>(&(*event)->body);
    if (state == nullptr) continue;
    if (state->source == StateSource::kRemoval) content.removals.push_back(*state);
    if (state->source == StateSource::kSnapshot) content.snapshot.insert({state->file.identity, *state});
  }
}

test::CommandOutput record(const std::string& trace, const std::string& options, const std::string& command) {
  return test::run_shell(std::string(IOTAPE_BINARY) + " record --force -o " + trace + " " + options + " sh -c '" +
                         command + "'");
}

std::map<std::string, std::uint64_t> sizes_by_last_name(const std::vector<FileState>& states) {
  std::map<std::string, std::uint64_t> sizes;
  for (const FileState& state : states) {
    const std::string& spelt = state.path.empty() ? state.name : state.path;
    if (state.size && state.file.kind == FileKind::kRegular) sizes[spelt.substr(spelt.rfind('/') + 1)] = *state.size;
  }
  return sizes;
}

class RemovalRecordingLive : public testing::TestWithParam<std::string> {};

TEST_P(RemovalRecordingLive, RemovedFilesHaveTheirNameDirectoryAndSize) {
  IOTAPE_NEEDS_RECORDER();
  LoopFilesystem filesystem(GetParam());
  ASSERT_TRUE(filesystem.mounted());
  const test::ScratchDirectory scratch;
  const std::string top = filesystem.mount_point();
  ASSERT_EQ(test::run_shell("cd " + top +
                            " && mkdir -p t/u && head -c 1000 /dev/zero > t/a && head -c 70000 /dev/zero > "
                            "t/u/b && head -c 3 /dev/zero > t/c && ln t/c t/kept && echo hidden > t/d && sync")
                .status,
            0);
  filesystem.remount();
  const std::string trace = scratch / "t.iotape";
  const auto done = record(trace, "", "cd " + top + "; rm t/c; rm -r t/u " + top + "/t/a; rm t/d; rm t/kept");
  ASSERT_EQ(done.status, 0) << done.err;
  const Content content = content_of(trace);
  const auto sizes = sizes_by_last_name(content.removals);
  // A file is told once: on ext4 when its first name goes, elsewhere when its last one does.
  const std::string linked = GetParam() == "ext4" ? "c" : "kept";
  EXPECT_EQ(sizes, (std::map<std::string, std::uint64_t>{{"a", 1000}, {"b", 70000}, {"d", 7}, {linked, 3}}));
  for (const FileState& state : content.removals)
    if (state.file.kind == FileKind::kRegular) {
      EXPECT_TRUE(state.parent.known() || state.path.starts_with(top)) << state.name;
    }
  EXPECT_THAT(done.err, testing::Not(testing::HasSubstr("nobody saw")));
}

// On btrfs stat(2) calls the filesystem by another number than the kernel does.
TEST_P(RemovalRecordingLive, AFileTheRunMadeIsNotTakenForOneFromBefore) {
  IOTAPE_NEEDS_RECORDER();
  LoopFilesystem filesystem(GetParam());
  ASSERT_TRUE(filesystem.mounted());
  const test::ScratchDirectory scratch;
  const std::string top = filesystem.mount_point();
  test::write_file(top + "/old", "12345");
  const std::string trace = scratch / "t.iotape";
  const auto done = record(trace, "",
                           "stat " + top + "/old; cat " + top + "/old; echo x > " + top + "/new; stat " + top +
                               "/new; cd " + top + "; stat ./new; cat new; ls -l");
  ASSERT_EQ(done.status, 0) << done.err;
  auto reader = TraceReader::open(trace);
  ASSERT_TRUE(reader);
  std::set<std::pair<std::uint32_t, std::uint64_t>> places;
  std::set<std::string> told;
  for (;;) {
    const auto event = (*reader)->next();
    if (!event || *event == nullptr) break;
    const auto* state = std::get_if<FileState>(&(*event)->body);
    if (state == nullptr || (!state->path.starts_with(top) && state->name.empty())) continue;
    told.insert(std::filesystem::path(state->path + state->name).filename());
    if (state->path == top + "/old") places.insert({state->file.identity.device.value, state->file.identity.subvolume});
  }
  EXPECT_TRUE(told.contains("old"));
  EXPECT_FALSE(told.contains("new"));
  EXPECT_EQ(places.size(), 1U) << "stat and open mean the same file";
}

TEST_P(RemovalRecordingLive, ASnapshotOfTheTreeIsAboutTheSameFiles) {
  IOTAPE_NEEDS_RECORDER();
  LoopFilesystem filesystem(GetParam());
  ASSERT_TRUE(filesystem.mounted());
  const test::ScratchDirectory scratch;
  const std::string top = filesystem.mount_point();
  const std::string make_inner = GetParam() == "btrfs" ? "btrfs subvolume create t/inner >/dev/null" : "mkdir t/inner";
  ASSERT_EQ(test::run_shell("cd " + top + " && mkdir t && " + make_inner +
                            " && echo one > t/one && echo three > t/inner/three && sync")
                .status,
            0);
  const std::string trace = scratch / "t.iotape";
  const auto done = record(trace, "--snapshot tree=" + top + "/t", "rm " + top + "/t/one " + top + "/t/inner/three");
  ASSERT_EQ(done.status, 0) << done.err;
  const Content content = content_of(trace);
  ASSERT_EQ(content.removals.size(), 2U);
  for (const FileState& removed : content.removals) {
    const auto found = content.snapshot.find(removed.file.identity);
    ASSERT_NE(found, content.snapshot.end()) << removed.name << removed.path;
    EXPECT_EQ(found->second.size, removed.size);
  }
}

INSTANTIATE_TEST_SUITE_P(Filesystems, RemovalRecordingLive, testing::Values("ext4", "xfs", "btrfs"),
                         [](const auto& filesystem) { return filesystem.param; });

TEST(RemovalRecording, WhereRemovalsAreNotShownTheTreeThatWouldHaveToldIsNamed) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  const std::string top = scratch / "m";
  ASSERT_EQ(test::run_shell("mkdir " + top + " && mount -t tmpfs tmpfs " + top + " && mkdir -p " + top + "/t/u " + top +
                            "/t/v && cd " + top + "/t && touch looked-at u/c v/d v/e && echo x > v/opened")
                .status,
            0);
  const std::string trace = scratch / "t.iotape";
  const auto blind =
      record(trace, "", "cd " + top + "; cat t/v/opened; echo new > t/v/made; rm -r t/looked-at t/u t/v");
  test::run_shell("mkdir " + top + "/t/v; touch " + top + "/t/v/a");
  const auto told = record(trace, "--snapshot tree=" + top + "/t", "rm -r " + top + "/t/v");
  test::run_shell("umount " + top);
  EXPECT_THAT(blind.err, testing::HasSubstr("iotape: 3 removed files had a size nobody saw"));
  EXPECT_THAT(blind.err, testing::HasSubstr("--snapshot tree=" + top + "/t\n"));
  EXPECT_THAT(told.err, testing::Not(testing::HasSubstr("nobody saw")));
}

}  // namespace
}  // namespace iotape
