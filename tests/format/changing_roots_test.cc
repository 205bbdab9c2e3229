#include "format/changing_roots.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "format/trace_summary.h"

namespace iotape {
namespace {

constexpr DeviceId kDisk = DeviceId::of(7, 0);
constexpr DeviceId kOther = DeviceId::of(7, 1);

TEST(ChangingRoots, OneDirectoryIsItsOwnRoot) {
  ChangingRoots roots;
  roots.add(kDisk, "/mnt/x");
  ASSERT_EQ(roots.roots().size(), 1U);
  EXPECT_EQ(roots.roots()[0].path, "/mnt/x");
}

TEST(ChangingRoots, NamesThatShareLettersShareNoDirectory) {
  ChangingRoots roots;
  roots.add(kDisk, "/mnt/tree");
  roots.add(kDisk, "/mnt/treetop");
  EXPECT_EQ(roots.roots()[0].path, "/mnt");
}

TEST(ChangingRoots, AParentAmongThemWins) {
  ChangingRoots roots;
  roots.add(kDisk, "/mnt/x/a/b");
  roots.add(kDisk, "/mnt/x/");
  roots.add(kDisk, "/mnt/x/c");
  EXPECT_EQ(roots.roots()[0].path, "/mnt/x");
  EXPECT_EQ(roots.roots()[0].calls, 3U);
}

TEST(ChangingRoots, NothingInCommonIsTheTop) {
  ChangingRoots roots;
  roots.add(kDisk, "/var/lib");
  roots.add(kDisk, "/home");
  EXPECT_EQ(roots.roots()[0].path, "/");
}

TEST(ChangingRoots, EveryMountHasItsOwnAndTheBusiestComesFirst) {
  ChangingRoots roots;
  roots.add(kDisk, "/data/wal");
  roots.add(kOther, "/fast/base/1", 5);
  roots.add(kOther, "/fast/base/2", 5);
  roots.add(kOther, "relative/is/ignored", 90);
  const auto all = roots.roots();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0], (ChangingRoots::Root{kOther, "/fast/base", 10}));
  EXPECT_EQ(all[1], (ChangingRoots::Root{kDisk, "/data/wal", 1}));
}

TEST(ChangedPaths, AreThoseOfCallsThatChangeADirectoryOrAFile) {
  const auto count = [](const Operation& operation) {
    int paths = 0;
    for_each_changed_path(operation, [&](const PathArgument&) { ++paths; });
    return paths;
  };
  Open writing;
  writing.flags = O_WRONLY;
  EXPECT_EQ(count(writing), 1);
  writing.opened = {{DeviceId::of(0, 6), 0, InodeNumber(5), 0}, FileKind::kCharacterDevice};
  EXPECT_EQ(count(writing), 0) << "a terminal";
  EXPECT_EQ(count(Open{}), 0);
  EXPECT_EQ(count(Rename{}), 2);
  EXPECT_EQ(count(SetTimes{}), 1);
  EXPECT_EQ(count(StatPath{}), 0);
}

// tar sets the mode and the times of "." when an archive begins with it.
TEST(ChangingRoots, ADirectoryThatChangesItselfIsTheRootAndNotWhatItLiesIn) {
  for (const char* name : {"/srv/t/.", "/srv/t/", "/srv/t/file"}) {
    ChangeModePath change;
    change.path.state = TextState::kPresent;
    change.path.bytes = name;
    change.path.directory.file = {{kDisk, 0, InodeNumber(2), 0}, FileKind::kDirectory};
    Syscall call;
    call.operation = change;
    TraceSummary summary;
    summary.add(call, 0);
    ASSERT_EQ(summary.roots().size(), 1U) << name;
    EXPECT_EQ(summary.roots()[0].path, "/srv/t") << name;
  }
}

}  // namespace
}  // namespace iotape
