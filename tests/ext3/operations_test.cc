#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fs.h>

#include "tests/ext3/support/mounted_disk.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3::test {
namespace {

constexpr std::uint64_t kSize = std::uint64_t{64} << 20U;

FilesystemOptions blocks_of_4k() {
  FilesystemOptions options;
  options.block_size = 4096;
  return options;
}

class OperationsTest : public testing::Test {
 protected:
  // Whatever a test did, what is on the disk afterwards is a sound filesystem.
  void TearDown() override {
    mounted_.unmount();
    IOTAPE_EXPECT_E2FSCK_CLEAN(image_.device());
  }

  TestVolumeImage image_{kSize, blocks_of_4k()};
  MountedDisk mounted_{image_.device()};
};

TEST_F(OperationsTest, FilesDirectoriesAndLinksComeAndGo) {
  EXPECT_EQ(mounted_.make_directory("/a"), 0);
  EXPECT_EQ(mounted_.create("/a/file"), 0);
  EXPECT_EQ(mounted_.create("/a/file"), EEXIST);
  EXPECT_EQ(mounted_.write("/a/file", 0, "hello"), 0);
  EXPECT_EQ(mounted_.link("/a/file", "/b"), 0);
  EXPECT_EQ(mounted_.unlink("/a/file"), 0);
  EXPECT_EQ(mounted_.read("/b"), "hello");
  EXPECT_EQ(mounted_.unlink("/a"), EISDIR);
  EXPECT_EQ(mounted_.remove_directory("/b"), ENOTDIR);
  EXPECT_EQ(mounted_.remove_directory("/a"), 0);
  EXPECT_EQ(mounted_.list("/"), "b lost+found");
}

TEST_F(OperationsTest, WhatWasWrittenIsThereAfterARemount) {
  const std::string text(100'000, 'x');
  EXPECT_EQ(mounted_.create("/f"), 0);
  EXPECT_EQ(mounted_.write("/f", 5000, text), 0);
  mounted_.unmount();
  MountedDisk again(image_.device());
  EXPECT_EQ(again.read("/f", 5000), text);
  EXPECT_EQ(again.read("/f", 0, 5000), std::string(5000, '\0'));
}

TEST_F(OperationsTest, SymlinksOfEveryLength) {
  for (const std::size_t length : {1, 59, 60, 61, 4095}) {
    const std::string path = "/l" + std::to_string(length);
    EXPECT_EQ(mounted_.create(path, 0120777, std::string(length, 't')), 0) << length;
    EXPECT_EQ(mounted_.read_link(path), std::string(length, 't'));
  }
  EXPECT_EQ(mounted_.create("/too_long", 0120777, std::string(4096, 't')), ENAMETOOLONG);
  EXPECT_EQ(mounted_.unlink("/l4095"), 0);
}

TEST_F(OperationsTest, RenameReplacesExchangesAndRefuses) {
  ASSERT_EQ(mounted_.make_directory("/d"), 0);
  ASSERT_EQ(mounted_.make_directory("/d/e"), 0);
  ASSERT_EQ(mounted_.create("/f"), 0);
  ASSERT_EQ(mounted_.create("/g"), 0);
  EXPECT_EQ(mounted_.rename("/d", "/d/e/x"), EINVAL);
  EXPECT_EQ(mounted_.rename("/f", "/g", RENAME_NOREPLACE), EEXIST);
  EXPECT_EQ(mounted_.rename("/f", "/d"), EISDIR);
  EXPECT_EQ(mounted_.rename("/d", "/f"), ENOTDIR);
  EXPECT_EQ(mounted_.rename("/f", "/g"), 0);
  EXPECT_EQ(mounted_.rename("/d/e", "/e"), 0);
  EXPECT_EQ(mounted_.rename("/g", "/e", RENAME_EXCHANGE), 0);
  EXPECT_EQ(mounted_.rename("/g", "/d", 0), 0);  // the directory that was /e replaces an empty one
  EXPECT_EQ(mounted_.list("/"), "d e lost+found");
  EXPECT_TRUE(mounted_.get("/d")->is_directory());
  EXPECT_TRUE(mounted_.get("/e")->is_regular());
}

TEST_F(OperationsTest, AnUnlinkedFileLivesUntilItsLastUserGoes) {
  ASSERT_EQ(mounted_.create("/f"), 0);
  ASSERT_EQ(mounted_.write("/f", 0, "still here"), 0);
  InodeReference open = mounted_.get("/f");
  EXPECT_EQ(mounted_.unlink("/f"), 0);
  {
    const HostEntry inside(mounted_.host());
    std::array<std::byte, 10> bytes{};
    ReadAheadState ahead;
    EXPECT_EQ(read_file(mounted_.volume(), *open, 0, bytes, ahead).value_or(0), 10U);
    open = {};
    EXPECT_TRUE(mounted_.volume().orphans.empty());
  }
}

TEST_F(OperationsTest, ManyFilesInOneDirectory) {
  ASSERT_EQ(mounted_.make_directory("/many"), 0);
  for (int i = 0; i < 3000; ++i) ASSERT_EQ(mounted_.create("/many/file" + std::to_string(i)), 0) << i;
  for (int i = 0; i < 3000; i += 2) ASSERT_EQ(mounted_.unlink("/many/file" + std::to_string(i)), 0) << i;
  for (int i = 0; i < 3000; ++i)
    ASSERT_EQ(static_cast<bool>(mounted_.get("/many/file" + std::to_string(i))), i % 2 == 1) << i;
}

}  // namespace
}  // namespace iotape::ext3::test
