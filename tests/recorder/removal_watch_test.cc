// Which removed files the trace says nothing of.
#include "recorder/removal_watch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorder/changing_watch.h"

namespace iotape {
namespace {

constexpr DeviceId kDisk(0x700000);
constexpr std::uint16_t kUnlinkat = 263;

TEST(RemovalWatch, CountsWhatWasRemovedUnseenBelowTheDirectoryThatHeldItAll) {
  RemovalWatch watch;
  watch.known("/m/a/seen");
  watch.removed("/m/a/seen");
  EXPECT_EQ(watch.unseen(), 0U);
  watch.removed("/m/a/one");
  watch.removed("/m/b/c/two");
  EXPECT_EQ(watch.unseen(), 2U);
  ASSERT_EQ(watch.directories().size(), 1U);
  EXPECT_EQ(watch.directories()[0].path, "/m");
}

TEST(RemovalWatch, AFileIsKnownUnderItsNewNameAndANameRemovedIsAnothersThen) {
  RemovalWatch watch;
  watch.known("/m/old");
  watch.moved("/m/old", "/m/new");
  watch.removed("/m/new");
  EXPECT_EQ(watch.unseen(), 0U);
  watch.removed("/m/new");
  EXPECT_EQ(watch.unseen(), 1U);
  watch.moved("/m/stranger", "/m/elsewhere");
  watch.removed("/m/elsewhere");
  EXPECT_EQ(watch.unseen(), 2U);
}

MountInfo mount_of(const std::string& filesystem, const std::string& point) {
  MountInfo mount;
  mount.filesystem = filesystem;
  mount.mount_point = point;
  mount.device = DeviceId(static_cast<std::uint32_t>(point.size()));
  return mount;
}

TEST(RemovalWatch, FilesystemsWhoseRemovalsAreShownLeaveNothingUnseen) {
  RemovalWatch watch;
  watch.mounted(mount_of("ext4", "/"));
  watch.mounted(mount_of("tmpfs", "/m"));
  watch.mounted(mount_of("xfs", "/m/x"));
  for (const char* path : {"/a", "/mm/a", "/m/x/a", "/m/x/y/z"}) watch.removed(path);
  EXPECT_EQ(watch.unseen(), 0U);
  watch.removed("/m/a");
  watch.removed("/m/xx");
  EXPECT_EQ(watch.unseen(), 2U);
  ASSERT_EQ(watch.directories().size(), 1U);
  EXPECT_EQ(watch.directories()[0].path, "/m");
}

TEST(RemovalWatch, WhereItLiesMustBeKnown) {
  RemovalWatch watch;
  watch.removed("");
  watch.removed("relative");
  EXPECT_EQ(watch.unseen(), 0U);
}

class Nowhere final : public RecordingSink {
 public:
  Result<void> append(EventBody) override { return {}; }
  Result<void> checkpoint(std::uint64_t, std::uint64_t) override { return {}; }
};

FileReference directory_of(std::uint64_t inode) {
  FileReference file;
  file.identity.device = kDisk;
  file.identity.inode = InodeNumber(inode);
  file.kind = FileKind::kDirectory;
  return file;
}

Syscall unlink_in(const FileReference& directory, const std::string& name, std::int64_t flags = 0) {
  Unlink remove;
  remove.path = {TextState::kPresent, name, {kAtCurrentDirectory, directory}};
  remove.flags = flags;
  Syscall call;
  call.number = kUnlinkat;
  call.operation = std::move(remove);
  return call;
}

class RemovalsOfEvents : public testing::Test {
 protected:
  RemovalsOfEvents() {
    ProcessContext context;
    context.working_directory = {directory_of(10), "/m/tree", false};
    (void)watch_.append(std::move(context));
  }
  std::uint64_t unseen() const { return watch_.removals().unseen(); }

  Nowhere nowhere_;
  ChangingWatch watch_{nowhere_};
};

TEST_F(RemovalsOfEvents, AStateTellsByParentAndNameByPathOrAsSpelt) {
  FileState state;
  state.file.kind = FileKind::kRegular;
  state.size = 5;
  state.parent = directory_of(10);
  state.name = "by-name";
  (void)watch_.append(state);
  state.name = "./below/../as-spelt";
  (void)watch_.append(state);
  state.name.clear();
  state.path = "/m/tree/by-path";
  (void)watch_.append(state);
  state.path = "/m/tree/without-size";
  state.size.reset();
  (void)watch_.append(state);
  for (const char* name : {"by-name", "as-spelt", "by-path"}) (void)watch_.append(unlink_in(directory_of(10), name));
  EXPECT_EQ(unseen(), 0U);
  (void)watch_.append(unlink_in(directory_of(10), "without-size"));
  EXPECT_EQ(unseen(), 1U);
  ASSERT_EQ(watch_.removals().directories().size(), 1U);
  EXPECT_EQ(watch_.removals().directories()[0].path, "/m/tree");
}

TEST_F(RemovalsOfEvents, DirectoriesAndRemovalsThatFailedAreNoFiles) {
  (void)watch_.append(unlink_in(directory_of(10), "directory", AT_REMOVEDIR));
  Syscall failed = unlink_in(directory_of(10), "not-there");
  failed.outcome = OpOutcome::from_kernel(-2);
  (void)watch_.append(std::move(failed));
  (void)watch_.append(unlink_in(directory_of(99), "in a directory nobody named"));
  EXPECT_EQ(unseen(), 0U);
}

}  // namespace
}  // namespace iotape
