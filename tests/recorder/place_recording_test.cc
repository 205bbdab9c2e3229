// Where recorded processes are: their directories' paths, read in the kernel and so known of the shortest command.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sched.h>
#include <filesystem>
#include <functional>
#include <set>
#include <thread>

#include "format/name_tracker.h"
#include "recorder/known_contexts.h"
#include "recorder/recording.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

class Collected final : public RecordingSink {
 public:
  Result<void> append(EventBody body) override {
    if (auto* context = std::get_if<ProcessContext>(&body)) contexts.push_back(*context);
    if (const auto* call = std::get_if<Syscall>(&body)) note_relative(*call);
    names.observe(body);
    return {};
  }
  Result<void> checkpoint(std::uint64_t, std::uint64_t) override { return {}; }

  // Of relative paths: the name as given, and where its directory lies.
  std::set<std::pair<std::string, std::string>> relative;
  std::vector<ProcessContext> contexts;
  NameTracker names;

  [[nodiscard]] std::set<std::string> working_directories() const {
    std::set<std::string> paths;
    for (const ProcessContext& context : contexts) paths.insert(context.working_directory.path);
    return paths;
  }

 private:
  void note_relative(const Syscall& call) {
    const auto* open = std::get_if<Open>(&call.operation);
    const auto* make = std::get_if<MakeDirectory>(&call.operation);
    const PathArgument* path = open != nullptr ? &open->path : make != nullptr ? &make->path : nullptr;
    if (path == nullptr || path->absolute() || path->directory.number != kAtCurrentDirectory) return;
    relative.insert({path->bytes, std::string(names.path(path->directory.file))});
  }
};

void record(const std::function<void()>& body, Collected& sink) {
  ProbeOptions options;
  options.ring_bytes = 16ULL << 20U;
  auto recording = Recording::prepare(options);
  ASSERT_TRUE(recording) << recording.error().message;
  int go[2];
  ASSERT_EQ(::pipe2(go, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    if (::read(go[0], &byte, 1) == 1) body();
    ::_exit(0);
  }
  ASSERT_TRUE((*recording)->follow_process(ProcessId(child)));
  ASSERT_TRUE((*recording)->begin(sink));
  ASSERT_EQ(::write(go[1], "x", 1), 1);
  ::waitpid(child, nullptr, 0);
  ::close(go[0]);
  ::close(go[1]);
  ASSERT_TRUE((*recording)->stop());
}

void run(const char* program, const char* script) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execlp(program, program, "-c", script, nullptr);
    ::_exit(127);
  }
  ::waitpid(child, nullptr, 0);
}

TEST(PlaceRecording, RelativePathsOfCommandsThatLiveAMillisecondAreBelowTheirDirectories) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  const std::string top = std::filesystem::canonical(scratch.path());
  Collected sink;
  record(
      [&] {
        if (::chdir(top.c_str()) != 0) return;
        run("sh",
            "mkdir one; cd one; mkdir two; (cd two && : > in-two); : > in-one; cd ..; mkdir -p three/four; "
            "cd three/four && : > in-four; cd ../../one/two/../..; : > in-top");
      },
      sink);
  const std::set<std::pair<std::string, std::string>> expected{{"one", top},
                                                               {"two", top + "/one"},
                                                               {"in-two", top + "/one/two"},
                                                               {"in-one", top + "/one"},
                                                               {"in-four", top + "/three/four"},
                                                               {"in-top", top}};
  for (const auto& pair : expected)
    EXPECT_TRUE(sink.relative.contains(pair)) << pair.first << " was not seen in " << pair.second;
  EXPECT_THAT(sink.working_directories(), testing::Not(testing::Contains("")));
}

TEST(PlaceRecording, ADirectoryBelowNestedMountsHasItsFullPathInEveryNamespace) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  const std::string top = std::filesystem::canonical(scratch.path());
  Collected sink;
  record(
      [&] {
        if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
        if (::chdir(top.c_str()) != 0) return;
        run("sh",
            "mount -t tmpfs tmpfs .; cd \"$PWD\"; mkdir -p a/b; mount -t tmpfs tmpfs a/b; mkdir a/b/c; "
            "mount --bind a/b/c a/b; cd a/b; mkdir inner; cd inner; true; /bin/true");
      },
      sink);
  const auto paths = sink.working_directories();
  EXPECT_TRUE(paths.contains(top + "/a/b"));
  EXPECT_TRUE(paths.contains(top + "/a/b/inner"));
}

TEST(PlaceRecording, AChangedRootIsToldFromTheTopAndSoIsTheDirectoryInIt) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  const std::string top = std::filesystem::canonical(scratch.path());
  std::filesystem::create_directories(top + "/jail/cell");
  Collected sink;
  record(
      [&] {
        if (::chroot((top + "/jail").c_str()) != 0 || ::chdir("/cell") != 0) return;
        ::mkdir("in-cell", 0700);
      },
      sink);
  ASSERT_FALSE(sink.contexts.empty());
  EXPECT_EQ(sink.contexts.back().root.path, top + "/jail");
  EXPECT_EQ(sink.contexts.back().working_directory.path, top + "/jail/cell");
  EXPECT_TRUE(sink.relative.contains({"in-cell", top + "/jail/cell"}));
}

TEST(PlaceRecording, APathTooLongToTellIsLeftOutAndNeverCut) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  const std::string top = std::filesystem::canonical(scratch.path());
  const std::string name(255, 'n');
  constexpr int kLevels = 20;  // 5,120 bytes
  Collected sink;
  record(
      [&] {
        if (::chdir(top.c_str()) != 0) return;
        for (int level = 0; level < kLevels; ++level)
          if (::mkdir(name.c_str(), 0700) != 0 || ::chdir(name.c_str()) != 0) return;
      },
      sink);
  test::run_shell("rm -rf " + top + "/nnn*");
  std::string path = top;
  std::size_t told = 0;
  const std::size_t begin = sink.contexts.size() - kLevels;
  for (std::size_t level = 0; level < kLevels; ++level) {
    path += "/" + name;
    const Location& where = sink.contexts.at(begin + level).working_directory;
    EXPECT_EQ(where.path, path.size() < 4096 ? path : "") << "level " << level;
    EXPECT_EQ(where.file.kind, FileKind::kDirectory);
    told += where.path.empty() ? 0U : 1U;
  }
  EXPECT_GT(told, 10U);
  EXPECT_LT(told, 20U);
}

TEST(PlaceRecording, ARemovedDirectoryIsToldAsSuchAndOddNamesAreBytes) {
  IOTAPE_NEEDS_RECORDER();
  const test::ScratchDirectory scratch;
  const std::string top = std::filesystem::canonical(scratch.path());
  const std::string odd = top + "/ \n\"\xff (deleted)";
  Collected sink;
  record(
      [&] {
        if (::mkdir(odd.c_str(), 0700) != 0 || ::chdir(odd.c_str()) != 0 || ::rmdir(odd.c_str()) != 0) return;
        run("/bin/true", "");
        if (::unshare(CLONE_NEWNS) != 0) return;
      },
      sink);
  ASSERT_GE(sink.contexts.size(), 2U);
  std::set<std::pair<std::string, bool>> seen;
  for (const ProcessContext& context : sink.contexts)
    seen.insert({context.working_directory.path, context.working_directory.deleted});
  EXPECT_TRUE(seen.contains({odd, false}));
  EXPECT_TRUE(seen.contains({odd, true}));
}

ProcessContext context_of(std::int32_t process, const std::string& directory) {
  ProcessContext context;
  context.thread = {ProcessId(process), ThreadId(process)};
  context.working_directory.path = directory;
  return context;
}

TEST(KnownContexts, AChildHasItsParentsUntilItChangesAnything) {
  KnownContexts known;
  EXPECT_TRUE(known.tell(context_of(1, "/a")));
  EXPECT_FALSE(known.tell(context_of(1, "/a")));
  ProcessStart start;
  start.thread = {ProcessId(2), ThreadId(2)};
  start.parent = {ProcessId(1), ThreadId(1)};
  known.started(start);
  EXPECT_FALSE(known.tell(context_of(2, "/a")));
  EXPECT_TRUE(known.tell(context_of(2, "/b")));
  EXPECT_FALSE(known.tell(context_of(1, "/a"))) << "the parent stayed where it was";
}

TEST(KnownContexts, AProcessNumberUsedAgainStartsAfresh) {
  KnownContexts known;
  EXPECT_TRUE(known.tell(context_of(2, "/a")));
  ProcessExit exit;
  exit.thread = {ProcessId(2), ThreadId(2)};
  exit.whole_process = true;
  known.ended(exit);
  EXPECT_TRUE(known.tell(context_of(2, "/a")));
  ProcessStart start;  // of a parent nobody told of
  start.thread = {ProcessId(2), ThreadId(2)};
  start.parent = {ProcessId(9), ThreadId(9)};
  known.started(start);
  EXPECT_TRUE(known.tell(context_of(2, "/a")));
}

}  // namespace
}  // namespace iotape
