// Access control lists where files are made and their modes changed.
#include <gtest/gtest.h>

#include <string>

#include "replayer/ext3/operations/xattr_operations.h"
#include "replayer/ext3/xattr/acl.h"
#include "tests/ext3/support/mounted_disk.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3::test {
namespace {

constexpr std::uint32_t kUserId = 1234;

Acl default_list() {
  return {{kAclOwner, 7}, {kAclUser, 7, kUserId}, {kAclOwningGroup, 4}, {kAclMask, 7}, {kAclOther, 5}};
}

class AclOfNewFiles : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  AclOfNewFiles() : image_(std::uint64_t{16} << 20U, options()), mounted_(image_.device()) {
    mounted_.make_directory("/d");
  }
  static FilesystemOptions options() {
    FilesystemOptions options;
    options.inode_size = GetParam();
    return options;
  }
  void set_default_list() {
    const InodeReference directory = mounted_.get("/d");
    const HostEntry inside(mounted_.host());
    ASSERT_TRUE(write_xattr(mounted_.volume(), *directory, "system.posix_acl_default", format_posix_acl(default_list()),
                            XattrMode::kEither, {}));
  }
  // The mode of what is made under this umask.
  std::uint32_t make(const char* name, std::uint32_t mode, std::uint32_t umask) {
    const InodeReference directory = mounted_.get("/d");
    const HostEntry inside(mounted_.host());
    NewNode node;
    node.mode = mode;
    node.umask = umask;
    const auto made = create_node(mounted_.volume(), *directory, name, node, {});
    return made ? (*made)->mode & 07777U : 0;
  }
  Acl list_of(const std::string& path, const char* kind = "system.posix_acl_access") {
    const InodeReference inode = mounted_.get(path);
    const HostEntry inside(mounted_.host());
    const auto value = read_xattr(mounted_.volume(), *inode, kind);
    return value ? parse_posix_acl(*value).value_or(Acl{}) : Acl{};
  }

  TestVolumeImage image_;
  MountedDisk mounted_;
};

TEST_P(AclOfNewFiles, WithoutADefaultListTheUmaskDecides) {
  EXPECT_EQ(make("f", 0100666, 027), 0640U);
  EXPECT_EQ(make("e", 0040777, 027), 0750U);
  EXPECT_TRUE(list_of("/d/f").empty());
}

TEST_P(AclOfNewFiles, ADefaultListDecidesInsteadOfTheUmask) {
  make("before", 0100666, 077);  // the directory is known to have none; then it gets one
  set_default_list();
  EXPECT_EQ(make("f", 0100660, 077), 0660U);
  const Acl list = list_of("/d/f");
  ASSERT_EQ(list.size(), 5U);
  EXPECT_EQ(list[1].id, kUserId);
  EXPECT_EQ(list[3].permission, 6U);
  EXPECT_EQ(make("e", 0040777, 077), 0775U);
  EXPECT_EQ(list_of("/d/e", "system.posix_acl_default").size(), 5U);
  mounted_.unmount();
  IOTAPE_EXPECT_E2FSCK_CLEAN(image_.device());
}

TEST_P(AclOfNewFiles, ANewDirectoryTakesNothingFromAFileThatHadItsInode) {
  ASSERT_EQ(mounted_.create("/d/old"), 0);
  {
    const InodeReference old = mounted_.get("/d/old");
    const HostEntry inside(mounted_.host());
    ASSERT_TRUE(write_xattr(mounted_.volume(), *old, "user.old", "value", XattrMode::kEither, {}));
  }
  ASSERT_EQ(mounted_.unlink("/d/old"), 0);
  ASSERT_EQ(mounted_.sync_all(), 0);
  set_default_list();
  for (const char* name : {"e1", "e2", "e3"}) make(name, 0100777, 0);
  for (const char* path : {"/d/e1", "/d/e2", "/d/e3"}) {
    const InodeReference inode = mounted_.get(path);
    const HostEntry inside(mounted_.host());
    EXPECT_FALSE(read_xattr(mounted_.volume(), *inode, "user.old").has_value()) << path;
  }
}

TEST_P(AclOfNewFiles, ChmodIsSeenInTheList) {
  set_default_list();
  make("f", 0100660, 0);
  {
    const InodeReference inode = mounted_.get("/d/f");
    const HostEntry inside(mounted_.host());
    AttributeChange change;
    change.permissions = 0640;
    ASSERT_TRUE(change_attributes(mounted_.volume(), *inode, change));
  }
  const Acl list = list_of("/d/f");
  ASSERT_EQ(list.size(), 5U);
  EXPECT_EQ(list[3].permission, 4U);
  EXPECT_EQ(list[4].permission, 0U);
}

INSTANTIATE_TEST_SUITE_P(InodeSizes, AclOfNewFiles, ::testing::Values(128U, 256U));

}  // namespace
}  // namespace iotape::ext3::test
