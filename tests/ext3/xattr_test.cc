#include "replayer/ext3/xattr/xattr.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "replayer/ext3/operations/xattr_operations.h"
#include "replayer/ext3/xattr/acl.h"
#include "replayer/ext3/xattr/xattr_entries.h"
#include "tests/ext3/support/mounted_disk.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3::test {
namespace {

using iotape::test::run_mounting_shell;
using iotape::test::run_program;
using iotape::test::ScratchDirectory;

FilesystemOptions options_of(std::uint32_t block_size, std::uint32_t inode_size) {
  FilesystemOptions options;
  options.block_size = block_size;
  options.inode_size = inode_size;
  return options;
}

// A disk whose files have attributes; what each call answers is the value, or "errno N".
class XattrDisk {
 public:
  explicit XattrDisk(std::uint32_t block_size = 4096, std::uint32_t inode_size = 256)
      : image_(32 << 20, options_of(block_size, inode_size)), mounted_(image_.device()) {}

  template <typename Use>
  auto with(std::string_view path, const Use& use) {
    InodeReference inode = mounted_.get(path);
    const HostEntry inside(mounted_.host());
    const InodeReference released_inside = std::move(inode);
    return use(*released_inside);
  }
  int set(std::string_view path, std::string_view name, std::string_view value, XattrMode mode = XattrMode::kEither) {
    return with(path, [&](Inode& inode) {
      const auto done = write_xattr(mounted_.volume(), inode, name, value, mode, Caller());
      return done ? 0 : done.error().value;
    });
  }
  int remove(std::string_view path, std::string_view name) {
    return with(path, [&](Inode& inode) {
      const auto done = erase_xattr(mounted_.volume(), inode, name, Caller());
      return done ? 0 : done.error().value;
    });
  }
  std::string get(std::string_view path, std::string_view name) {
    return with(path, [&](Inode& inode) {
      const auto value = read_xattr(mounted_.volume(), inode, name);
      return value ? *value : fmt::format("errno {}", value.error().value);
    });
  }
  std::vector<std::string> list(std::string_view path) {
    return with(path, [&](Inode& inode) {
      const auto names = read_xattr_names(mounted_.volume(), inode);
      return names ? *names : std::vector<std::string>{fmt::format("errno {}", names.error().value)};
    });
  }
  BlockNumber block_of(std::string_view path) {
    return with(path, [](const Inode& inode) { return inode.attribute_block; });
  }
  std::uint32_t references(BlockNumber block) {
    const HostEntry inside(mounted_.host());
    return (*mounted_.volume().cache->read(block, {}))->at<XattrBlockHeader>(0)->reference_count;
  }

  MountedDisk& mounted() { return mounted_; }
  MemoryDevice& device() { return image_.device(); }
  void expect_clean() {
    mounted_.unmount();
    IOTAPE_EXPECT_E2FSCK_CLEAN(image_.device());
  }

 private:
  TestVolumeImage image_;
  MountedDisk mounted_;
};

TEST(Xattr, AreSetReadListedAndRemovedInBothPlaces) {
  for (const std::uint32_t inode_size : {128U, 256U}) {
    for (const std::uint32_t block_size : {1024U, 4096U}) {
      XattrDisk disk(block_size, inode_size);
      ASSERT_EQ(disk.mounted().create("/f"), 0);
      ASSERT_EQ(disk.set("/f", "user.a", "short"), 0);
      ASSERT_EQ(disk.set("/f", "user.b", std::string(300, 'b')), 0);
      ASSERT_EQ(disk.set("/f", "trusted.c", std::string("\0\xFF", 2)), 0);
      ASSERT_EQ(disk.set("/f", "security.d", ""), 0);
      EXPECT_EQ(disk.get("/f", "user.a"), "short");
      EXPECT_EQ(disk.get("/f", "user.b"), std::string(300, 'b'));
      EXPECT_EQ(disk.get("/f", "trusted.c"), std::string("\0\xFF", 2));
      EXPECT_EQ(disk.get("/f", "security.d"), "");
      EXPECT_THAT(disk.list("/f"), testing::UnorderedElementsAre("user.a", "user.b", "trusted.c", "security.d"));
      EXPECT_EQ(disk.block_of("/f") != kNoBlock, true);  // 300 bytes fit no inode
      ASSERT_EQ(disk.remove("/f", "user.b"), 0);
      EXPECT_EQ(disk.get("/f", "user.b"), fmt::format("errno {}", ENODATA));
      EXPECT_EQ(disk.block_of("/f") == kNoBlock, inode_size == 256);
      ASSERT_EQ(disk.set("/f", "user.a", std::string(200, 'a')), 0);
      EXPECT_EQ(disk.get("/f", "user.a"), std::string(200, 'a'));
      disk.expect_clean();
    }
  }
}

TEST(Xattr, SayNoAsTheKernelDoes) {
  XattrDisk disk(1024);
  ASSERT_EQ(disk.mounted().create("/f"), 0);
  EXPECT_EQ(disk.set("/f", "user.a", "1", XattrMode::kReplace), ENODATA);
  EXPECT_EQ(disk.set("/f", "user.a", "1", XattrMode::kCreate), 0);
  EXPECT_EQ(disk.set("/f", "user.a", "2", XattrMode::kCreate), EEXIST);
  EXPECT_EQ(disk.set("/f", "user.a", "3", XattrMode::kReplace), 0);
  EXPECT_EQ(disk.get("/f", "user.a"), "3");
  EXPECT_EQ(disk.remove("/f", "user.b"), ENODATA);
  EXPECT_EQ(disk.set("/f", "other.a", "1"), EOPNOTSUPP);
  EXPECT_EQ(disk.set("/f", "system.other", "1"), EOPNOTSUPP);
  EXPECT_EQ(disk.set("/f", "user.", "1"), EINVAL);
  EXPECT_EQ(disk.set("/f", "", "1"), ERANGE);
  EXPECT_EQ(disk.set("/f", "user." + std::string(251, 'n'), "1"), ERANGE);
  EXPECT_EQ(disk.set("/f", "user." + std::string(250, 'n'), "1"), 0);
  EXPECT_EQ(disk.set("/f", "user.big", std::string(2000, 'v')), ENOSPC);
  EXPECT_EQ(disk.set("/f", "user.a", std::string(2000, 'v')), ENOSPC);
  EXPECT_EQ(disk.get("/f", "user.a"), "3");
  disk.expect_clean();
}

TEST(Xattr, OfEqualFilesShareABlock) {
  XattrDisk disk(4096, 128);
  const std::string value(100, 'v');
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(disk.mounted().create(fmt::format("/f{}", i)), 0);
    ASSERT_EQ(disk.set(fmt::format("/f{}", i), "user.same", value), 0);
    EXPECT_EQ(disk.block_of(fmt::format("/f{}", i)), disk.block_of("/f0"));
  }
  const BlockNumber block = disk.block_of("/f0");
  EXPECT_EQ(disk.references(block), 10U);
  // One goes its own way and comes back, one loses its attributes, one is deleted.
  ASSERT_EQ(disk.set("/f3", "user.more", "x"), 0);
  EXPECT_NE(disk.block_of("/f3"), block);
  EXPECT_EQ(disk.references(block), 9U);
  EXPECT_EQ(disk.get("/f4", "user.more"), fmt::format("errno {}", ENODATA));
  ASSERT_EQ(disk.remove("/f3", "user.more"), 0);
  EXPECT_EQ(disk.block_of("/f3"), block);
  EXPECT_EQ(disk.references(block), 10U);
  ASSERT_EQ(disk.remove("/f5", "user.same"), 0);
  EXPECT_EQ(disk.block_of("/f5"), kNoBlock);
  ASSERT_EQ(disk.mounted().unlink("/f6"), 0);
  EXPECT_EQ(disk.references(block), 8U);
  EXPECT_EQ(disk.get("/f9", "user.same"), value);
  disk.expect_clean();
}

TEST(Xattr, GiveTheirBlockBackWithTheLastFile) {
  XattrDisk disk(4096, 128);
  ASSERT_EQ(disk.mounted().create("/before"), 0);
  const auto free_blocks = [&disk] { return disk.mounted().volume().groups.free_blocks(); };
  const std::uint64_t before = free_blocks();
  for (const char* path : {"/a", "/b"}) {
    ASSERT_EQ(disk.mounted().create(path), 0);
    ASSERT_EQ(disk.set(path, "user.x", "value"), 0);
  }
  ASSERT_EQ(disk.mounted().create("/link", 0120777, "target"), 0);
  ASSERT_EQ(disk.set("/link", "trusted.x", "of a link"), 0);
  EXPECT_EQ(disk.mounted().read_link("/link"), "target");
  EXPECT_EQ(free_blocks(), before - 2);
  for (const char* path : {"/a", "/b", "/link"}) ASSERT_EQ(disk.mounted().unlink(path), 0);
  EXPECT_EQ(free_blocks(), before);
  disk.expect_clean();
}

TEST(Xattr, DoNotShareABlockBeyondItsLimit) {
  XattrDisk disk(1024, 128);
  for (int i = 0; i < 1030; ++i) {
    const std::string path = fmt::format("/f{}", i);
    ASSERT_EQ(disk.mounted().create(path), 0);
    ASSERT_EQ(disk.set(path, "user.same", "value"), 0);
  }
  EXPECT_EQ(disk.references(disk.block_of("/f0")), kXattrReferenceLimit);
  EXPECT_EQ(disk.references(disk.block_of("/f1029")), 6U);
  disk.expect_clean();
}

TEST(Xattr, SurviveWhatElseIsWrittenToTheirInode) {
  XattrDisk disk;
  ASSERT_EQ(disk.mounted().create("/f"), 0);
  ASSERT_EQ(disk.set("/f", "user.inner", "stays"), 0);
  EXPECT_EQ(disk.block_of("/f"), kNoBlock);
  ASSERT_EQ(disk.mounted().write("/f", 0, std::string(100000, 'x')), 0);
  ASSERT_EQ(disk.mounted().truncate("/f", 10), 0);
  EXPECT_EQ(disk.get("/f", "user.inner"), "stays");
  disk.mounted().unmount();
  MountedDisk again(disk.device());
  const InodeReference inode = again.get("/f");
  const HostEntry inside(again.host());
  EXPECT_EQ(*read_xattr(again.volume(), *inode, "user.inner"), "stays");
}

TEST(Xattr, AgreeWithAMapAndWithE2fsck) {
  for (const std::uint32_t inode_size : {128U, 256U}) {
    XattrDisk disk(1024, inode_size);
    std::mt19937 random(inode_size);
    std::map<std::pair<int, std::string>, std::string> model;
    for (int i = 0; i < 12; ++i) ASSERT_EQ(disk.mounted().create(fmt::format("/f{}", i)), 0);
    for (int i = 0; i < 3000; ++i) {
      const int file = static_cast<int>(random() % 12);
      const std::string path = fmt::format("/f{}", file);
      const std::string name = fmt::format("user.{}", random() % 6);
      const auto key = std::pair(file, name);
      if (random() % 3 == 0) {
        ASSERT_EQ(disk.remove(path, name), model.erase(key) != 0 ? 0 : ENODATA);
        continue;
      }
      // Few values, so that files often come to be equal.
      const std::string value(random() % 4 * 90, static_cast<char>('a' + random() % 2));
      const int outcome = disk.set(path, name, value);
      ASSERT_TRUE(outcome == 0 || outcome == ENOSPC);
      if (outcome == 0) model[key] = value;
      ASSERT_EQ(disk.get(path, name), model.contains(key) ? model[key] : fmt::format("errno {}", ENODATA));
    }
    for (const auto& [key, value] : model) EXPECT_EQ(disk.get(fmt::format("/f{}", key.first), key.second), value);
    disk.expect_clean();
  }
}

TEST(Xattr, AreTheSameToDebugfs) {
  const ScratchDirectory scratch;
  XattrDisk disk;
  ASSERT_EQ(disk.mounted().create("/ours"), 0);
  ASSERT_EQ(disk.set("/ours", "user.small", "in the inode"), 0);
  ASSERT_EQ(disk.set("/ours", "user.large", std::string(700, 'L')), 0);
  disk.mounted().unmount();
  TestVolumeImage::save_device(disk.device(), scratch / "image");
  EXPECT_THAT(run_debugfs(scratch / "image", {"ea_get /ours user.small"}), testing::HasSubstr("in the inode"));
  EXPECT_THAT(run_debugfs(scratch / "image", {"ea_get /ours user.large"}), testing::HasSubstr(std::string(700, 'L')));
  run_debugfs(scratch / "image", {"ea_set /ours user.theirs theirs", "ea_set /ours user.large " + std::string(900, 'M'),
                                  "ea_set /ours trusted.t t"});
  const auto device = load_device(scratch / "image");
  MountedDisk again(*device);
  const InodeReference inode = again.get("/ours");
  const HostEntry inside(again.host());
  for (const auto& [name, value] : std::map<std::string, std::string>{{"user.small", "in the inode"},
                                                                      {"user.theirs", "theirs"},
                                                                      {"user.large", std::string(900, 'M')},
                                                                      {"trusted.t", "t"}})
    EXPECT_EQ(read_xattr(again.volume(), *inode, name).value_or("none"), value) << name;
}

TEST(XattrLive, AreTheSameToTheKernelBothWays) {
  IOTAPE_NEEDS_RECORDER();
  for (const auto& [block_size, inode_size] : {std::pair{1024U, 128U}, {4096U, 256U}}) {
    const ScratchDirectory scratch;
    XattrDisk disk(block_size, inode_size);
    ASSERT_EQ(disk.mounted().create("/f"), 0);
    ASSERT_EQ(disk.mounted().create("/g"), 0);
    for (const char* path : {"/f", "/g"}) {
      ASSERT_EQ(disk.set(path, "user.small", "small"), 0);
      ASSERT_EQ(disk.set(path, "user.large", std::string(500, 'L')), 0);
      ASSERT_EQ(
          disk.set(path, "system.posix_acl_access",
                   format_posix_acl(
                       {{kAclOwner, 6}, {kAclUser, 4, 1234}, {kAclOwningGroup, 4}, {kAclMask, 4}, {kAclOther, 0}})),
          0);
    }
    disk.mounted().unmount();
    TestVolumeImage::save_device(disk.device(), scratch / "image");
    const auto kernel = run_mounting_shell(fmt::format(
        "set -e; cd {}; mkdir m; mount -t ext3 -o loop,acl,user_xattr image m; trap 'umount m' EXIT; "
        "getfattr --only-values -n user.small m/f; getfattr --only-values -n user.large m/f; getfacl -cn m/g; "
        "setfattr -n user.theirs -v theirs m/f; setfattr -x user.small m/f; setfacl -m u:77:rwx m/g; "
        "umount m; trap - EXIT",
        scratch.path().string()));
    ASSERT_EQ(kernel.status, 0) << kernel.out << kernel.err;
    EXPECT_THAT(kernel.out, testing::StartsWith("small" + std::string(500, 'L')));
    EXPECT_THAT(kernel.out, testing::HasSubstr("user:1234:r--"));
    EXPECT_EQ(run_program({"/sbin/e2fsck", "-fn", scratch / "image"}).status, 0);
    const auto device = load_device(scratch / "image");
    MountedDisk again(*device);
    const InodeReference f = again.get("/f");
    const InodeReference g = again.get("/g");
    const HostEntry inside(again.host());
    EXPECT_EQ(read_xattr(again.volume(), *f, "user.theirs").value_or("none"), "theirs");
    EXPECT_EQ(read_xattr(again.volume(), *f, "user.small").error().value, ENODATA);
    const Acl acl = *parse_posix_acl(*read_xattr(again.volume(), *g, "system.posix_acl_access"));
    ASSERT_EQ(acl.size(), 6U);
    EXPECT_EQ(acl[1].id, 77U);
    EXPECT_EQ(acl[1].permission, 7U);
  }
}

// ---- access control lists ----

TEST(Acl, KeepItsFormsApart) {
  const Acl acl{{kAclOwner, 7},        {kAclUser, 5, 1000}, {kAclOwningGroup, 5},
                {kAclGroup, 4, 70000}, {kAclMask, 5},       {kAclOther, 1}};
  const std::string posix = format_posix_acl(acl);
  const std::string disk = format_disk_acl(acl);
  EXPECT_EQ(posix.size(), 4U + 6 * 8);
  EXPECT_EQ(disk.size(), 4U + 4 * 4 + 2 * 8);
  EXPECT_EQ(format_posix_acl(*parse_posix_acl(posix)), posix);
  EXPECT_EQ(format_posix_acl(*parse_disk_acl(disk)), posix);
  EXPECT_EQ(acl_mode(acl), 0751U);
}

TEST(Acl, RefuseWhatPosixDoesNotAllow) {
  const auto outcome = [](const Acl& acl) {
    const auto parsed = parse_posix_acl(format_posix_acl(acl));
    return parsed ? 0 : parsed.error().value;
  };
  EXPECT_EQ(outcome({{kAclOwner, 7}, {kAclOwningGroup, 5}, {kAclOther, 1}}), 0);
  EXPECT_EQ(outcome({{kAclOwner, 7}, {kAclOwningGroup, 5}}), EINVAL);
  EXPECT_EQ(outcome({{kAclOwner, 8}, {kAclOwningGroup, 5}, {kAclOther, 1}}), EINVAL);
  EXPECT_EQ(outcome({{kAclOwningGroup, 5}, {kAclOwner, 7}, {kAclOther, 1}}), EINVAL);
  EXPECT_EQ(outcome({{kAclOwner, 7}, {kAclUser, 7, 1}, {kAclOwningGroup, 5}, {kAclOther, 1}}), EINVAL);  // no mask
  EXPECT_EQ(outcome({{kAclOwner, 7}, {kAclOwner, 7}, {kAclOwningGroup, 5}, {kAclOther, 1}}), EINVAL);
  EXPECT_EQ(outcome({{kAclOwner, 7}, {3, 7}, {kAclOwningGroup, 5}, {kAclOther, 1}}), EINVAL);
  const std::string good = format_posix_acl({{kAclOwner, 7}, {kAclOwningGroup, 5}, {kAclOther, 1}});
  EXPECT_EQ(parse_posix_acl(good.substr(0, good.size() - 1)).error().value, EINVAL);
  EXPECT_EQ(parse_posix_acl("\x01" + good.substr(1)).error().value, EOPNOTSUPP);
  for (std::size_t length = 0; length < 20; ++length)
    EXPECT_FALSE(parse_disk_acl(
        format_disk_acl({{kAclOwner, 7}, {kAclUser, 7, 1}, {kAclOwningGroup, 5}, {kAclMask, 7}, {kAclOther, 1}})
            .substr(0, length)));
}

TEST(Acl, AndModeSayTheSame) {
  XattrDisk disk;
  ASSERT_EQ(disk.mounted().create("/f", 0100640), 0);
  ASSERT_EQ(disk.mounted().make_directory("/d"), 0);
  const std::string access = "system.posix_acl_access";
  // No more than a mode: not kept as a list.
  ASSERT_EQ(disk.set("/f", access, format_posix_acl({{kAclOwner, 7}, {kAclOwningGroup, 5}, {kAclOther, 1}})), 0);
  EXPECT_EQ(disk.with("/f", [](const Inode& inode) { return inode.mode; }), 0100751U);
  EXPECT_TRUE(disk.list("/f").empty());
  const Acl named{{kAclOwner, 6}, {kAclUser, 6, 5}, {kAclOwningGroup, 4}, {kAclMask, 6}, {kAclOther, 0}};
  ASSERT_EQ(disk.set("/f", access, format_posix_acl(named)), 0);
  EXPECT_EQ(disk.with("/f", [](const Inode& inode) { return inode.mode; }), 0100660U);
  EXPECT_EQ(disk.get("/f", access), format_posix_acl(named));
  EXPECT_EQ(disk.set("/f", "system.posix_acl_default", format_posix_acl(named)), EACCES);
  EXPECT_EQ(disk.set("/d", "system.posix_acl_default", format_posix_acl(named)), 0);
  EXPECT_EQ(disk.get("/d", "system.posix_acl_default"), format_posix_acl(named));
  EXPECT_EQ(disk.set("/f", access, "xxxx"), 0);  // a list without entries is none
  EXPECT_EQ(disk.get("/f", access), fmt::format("errno {}", ENODATA));
  EXPECT_EQ(disk.remove("/f", access), 0);
  disk.expect_clean();
}

TEST(Acl, FollowChmodAndTheDirectoryTheyAreMadeIn) {
  XattrDisk disk;
  ASSERT_EQ(disk.mounted().make_directory("/d"), 0);
  ASSERT_EQ(disk.mounted().create("/f"), 0);
  const Acl named{{kAclOwner, 7}, {kAclUser, 6, 5}, {kAclOwningGroup, 5}, {kAclMask, 7}, {kAclOther, 5}};
  ASSERT_EQ(disk.set("/d", "system.posix_acl_default", format_posix_acl(named)), 0);
  Volume& volume = disk.mounted().volume();
  const InodeReference directory = disk.mounted().get("/d");
  const InodeReference file = disk.mounted().get("/f");
  const HostEntry inside(disk.mounted().host());
  Handle handle = *volume.journal->start(2 * xattr_credits());
  file->mode = 0100666;
  ASSERT_TRUE(inherit_acl(volume, handle, *directory, *file, 022, true));
  EXPECT_EQ(file->mode, 0100664U);  // not the umask: the list
  EXPECT_EQ(acl_mode(*parse_posix_acl(*get_xattr(volume, *file, "system.posix_acl_access"))), 0664U);
  file->mode = 0100640;
  ASSERT_TRUE(update_acl_after_chmod(volume, handle, *file, true));
  const Acl after = *parse_posix_acl(*get_xattr(volume, *file, "system.posix_acl_access"));
  EXPECT_EQ(acl_mode(after), 0640U);
  EXPECT_EQ(after[1].permission, 6U);
}

TEST(Acl, FollowAChangeOfAttributes) {
  XattrDisk disk;
  ASSERT_EQ(disk.mounted().create("/f", 0100640), 0);
  const Acl named{{kAclOwner, 6}, {kAclUser, 6, 5}, {kAclOwningGroup, 4}, {kAclMask, 6}, {kAclOther, 0}};
  ASSERT_EQ(disk.set("/f", "system.posix_acl_access", format_posix_acl(named)), 0);
  disk.with("/f", [&disk](Inode& inode) {
    AttributeChange change;
    change.permissions = 04751;
    EXPECT_TRUE(change_attributes(disk.mounted().volume(), inode, change));
    EXPECT_EQ(inode.mode, 0104751U);
    return 0;
  });
  const Acl after = *parse_posix_acl(disk.get("/f", "system.posix_acl_access"));
  EXPECT_EQ(acl_mode(after), 0751U);
  EXPECT_EQ(after[2].permission, 4U);  // the mask stands for the group
  disk.expect_clean();
}

// ---- damage ----

TEST(XattrEntries, SurviveAnyBytes) {
  std::vector<std::byte> block(1024);
  XattrList list{{kXattrUser, "name", std::string(40, 'v')}, {kXattrTrusted, "other", "w"}};
  ASSERT_TRUE(encode_xattrs(list, {block, sizeof(XattrBlockHeader)}, true));
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> hurt = block;
    for (std::size_t changes = 1 + random() % 4; changes > 0; --changes)
      hurt[random() % 2 == 0 ? 32 + random() % 64 : random() % 1024] = static_cast<std::byte>(random());
    (void)decode_xattrs(hurt, sizeof(XattrBlockHeader));
  }
}

TEST(Xattr, SayThatTheirBlockIsDamaged) {
  XattrDisk disk(1024, 128);
  ASSERT_EQ(disk.mounted().create("/f"), 0);
  ASSERT_EQ(disk.set("/f", "user.a", "value"), 0);
  {
    const BlockNumber block = disk.block_of("/f");
    const HostEntry inside(disk.mounted().host());
    const BufferReference buffer = *disk.mounted().volume().cache->read(block, {});
    buffer->at<XattrBlockHeader>(0)->magic = 1;
  }
  EXPECT_EQ(disk.get("/f", "user.a"), fmt::format("errno {}", EUCLEAN));
  EXPECT_EQ(disk.set("/f", "user.b", "x"), EUCLEAN);
  EXPECT_EQ(disk.mounted().unlink("/f"), 0);  // it does not keep the file from going
}

}  // namespace
}  // namespace iotape::ext3::test
