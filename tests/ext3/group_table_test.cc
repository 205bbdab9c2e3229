#include "replayer/ext3/group_table.h"

#include <gtest/gtest.h>

#include <functional>

#include "replayer/ext3/thread_host.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3 {
namespace {

TEST(GroupSet, FindsTheNextMemberOnceRound) {
  GroupSet set(130);
  EXPECT_EQ(set.next(GroupNumber(0)), GroupNumber(130)) << "an empty set";
  for (const std::uint32_t member : {3U, 64U, 129U}) set.set(GroupNumber(member), true);
  EXPECT_EQ(set.next(GroupNumber(0)), GroupNumber(3));
  EXPECT_EQ(set.next(GroupNumber(3)), GroupNumber(3));
  EXPECT_EQ(set.next(GroupNumber(4)), GroupNumber(64));
  EXPECT_EQ(set.next(GroupNumber(65)), GroupNumber(129));
  EXPECT_EQ(set.next(GroupNumber(129)), GroupNumber(129));
  set.set(GroupNumber(129), false);
  EXPECT_EQ(set.next(GroupNumber(65)), GroupNumber(3)) << "round the end";
  set.set(GroupNumber(3), false);
  EXPECT_EQ(set.next(GroupNumber(65)), GroupNumber(64)) << "round the end into the word it began in";
}

class UnsoundVolume : public testing::Test {
 protected:
  UnsoundVolume() : image_(64 << 20, options()) { (void)read(1024, &superblock_, sizeof superblock_); }
  static FilesystemOptions options() {
    FilesystemOptions chosen;
    chosen.block_size = 1024;
    return chosen;
  }
  Answer<void> read(std::uint64_t offset, void* bytes, std::uint32_t count) {
    const std::array<IoPart, 1> part{{{static_cast<std::byte*>(bytes), count, {}}}};
    return image_.device().read(offset, part, IoReason::kDemand);
  }
  // What read_geometry says of the superblock with one change.
  std::string verdict(const std::function<void(Superblock&)>& change) {
    Superblock changed = superblock_;
    change(changed);
    const auto answer = read_geometry(changed, image_.device().size());
    return answer ? "" : answer.error().message;
  }
  // errno of load with one change of a group's descriptor; 0 for none.
  int load_error(std::uint32_t group, const std::function<void(GroupDescriptor&)>& change) {
    const Geometry geometry = *read_geometry(superblock_, image_.device().size());
    ThreadHost host;
    const HostEntry inside(host);
    BufferCache cache(image_.device(), host, 1024, 1000);
    auto buffer = cache.read(geometry.descriptor_table(), {});
    change(*(*buffer)->at<GroupDescriptor>(group * sizeof(GroupDescriptor)));
    GroupTable table;
    const auto answer = table.load(cache, geometry);
    return answer ? 0 : answer.error().value;
  }

  test::TestVolumeImage image_;
  Superblock superblock_;
};

TEST_F(UnsoundVolume, SuperblockFieldsThatCannotBeAreRefusedByName) {
  EXPECT_EQ(verdict([](Superblock&) {}), "");
  const auto refused = [&](const char* what, const std::function<void(Superblock&)>& change) {
    EXPECT_NE(verdict(change).find(what), std::string::npos) << what << ": " << verdict(change);
  };
  refused("magic", [](Superblock& it) { it.magic = 0; });
  refused("blocks of 2^3", [](Superblock& it) { it.log_block_size = 3; });
  refused("blocks of 2^4294967295", [](Superblock& it) { it.log_block_size = 0xFFFFFFFF; });
  refused("inodes of 0", [](Superblock& it) { it.inode_size = 0; });
  refused("inodes of 512", [](Superblock& it) { it.inode_size = 512; });
  refused("first inode", [](Superblock& it) { it.first_inode = 3; });
  refused("first inode", [](Superblock& it) { it.first_inode = 0xFFFFFFF0; });
  refused("first data block", [](Superblock& it) { it.first_data_block = 0; });
  refused("blocks per group", [](Superblock& it) { it.blocks_per_group = 0; });
  refused("blocks per group", [](Superblock& it) { it.blocks_per_group = 8193; });
  refused("blocks per group", [](Superblock& it) { it.blocks_per_group = 128; });
  refused("inodes per group", [](Superblock& it) { it.inodes_per_group = 7; });
  refused("inodes per group", [](Superblock& it) { it.inodes_per_group = 8200; });
  refused("number of inodes", [](Superblock& it) { it.inodes_count = 1000; });
  refused("number of blocks", [](Superblock& it) { it.blocks_count = 1; });
  refused("device", [](Superblock& it) { it.blocks_count = it.blocks_count + 1; });
  refused("reserved descriptor", [](Superblock& it) { it.reserved_gdt_blocks = 60000; });
}

TEST_F(UnsoundVolume, DescriptorsThatPointOutsideTheirGroupOrOntoEachOtherAreRefused) {
  EXPECT_EQ(load_error(2, [](GroupDescriptor&) {}), 0);
  const auto refused = [&](std::uint32_t group, const std::function<void(GroupDescriptor&)>& change) {
    EXPECT_EQ(load_error(group, change), EUCLEAN);
  };
  refused(2, [](GroupDescriptor& it) { it.block_bitmap = 0; });
  refused(2, [](GroupDescriptor& it) { it.block_bitmap = 0xFFFFFFFF; });
  refused(2, [](GroupDescriptor& it) { it.inode_bitmap = it.inode_bitmap - 8192; });
  refused(2, [](GroupDescriptor& it) { it.inode_table = it.inode_table + 8000; });
  refused(2, [](GroupDescriptor& it) { it.inode_table = 0xFFFFFFF0; });
  refused(2, [](GroupDescriptor& it) { it.inode_bitmap = std::uint32_t{it.block_bitmap}; });
  refused(2, [](GroupDescriptor& it) { it.inode_bitmap = it.inode_table + 5; });
  refused(1, [](GroupDescriptor& it) { it.block_bitmap = 8193 + 1; });  // its copy of the descriptors
}

TEST_F(UnsoundVolume, SumsAndSetsFollowTheCounters) {
  const Geometry geometry = *read_geometry(superblock_, image_.device().size());
  ThreadHost host;
  const HostEntry inside(host);
  BufferCache cache(image_.device(), host, 1024, 1000);
  GroupTable table;
  ASSERT_TRUE(table.load(cache, geometry));
  EXPECT_EQ(table.free_blocks(), image_.made().free_blocks);
  EXPECT_EQ(table.free_inodes(), image_.made().free_inodes);
  EXPECT_EQ(table.directories(), 2U) << "the root and lost+found";
}

}  // namespace
}  // namespace iotape::ext3
