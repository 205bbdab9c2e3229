// Directories whose blocks hold anything: every answer is an errno or a bounded walk, and what the index alone lost is
// found all the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "replayer/ext3/directory/directory_file.h"
#include "replayer/ext3/directory/htree.h"
#include "replayer/ext3/directory/htree_frame.h"
#include "tests/ext3/support/directory_bench.h"

namespace iotape::ext3 {
namespace {

using test::DirectoryBench;
using test::DirectoryBenchOptions;

DirectoryBenchOptions small_blocks() {
  DirectoryBenchOptions options;
  options.filesystem = DirectoryBenchOptions::without_journal(1024);
  return options;
}

BufferReference block_of(DirectoryBench& bench, std::uint32_t file_block) {
  const HostEntry inside(bench.host());
  return *read_directory_block(bench.volume(), bench.directory(), FileBlock(file_block), BlockCause::kDirectoryLeaf);
}

// What a walk over a damaged directory may do: anything that ends.
std::size_t names_given(DirectoryBench& bench) {
  const HostEntry inside(bench.host());
  std::size_t names = 0;
  (void)read_directory(bench.volume(), bench.directory(), 0, [&](const DirectoryListing&) { return ++names < 100000; });
  return names;
}

// Puts a directory's blocks and fields back as they were.
class Snapshot {
 public:
  explicit Snapshot(DirectoryBench& bench)
      : bench_(bench), size_(bench.directory().size), flags_(bench.directory().flags) {
    for (std::uint32_t i = 0; i < bench.blocks(); ++i) {
      buffers_.push_back(block_of(bench, i));
      bytes_.emplace_back(buffers_.back()->data, buffers_.back()->data + bench.volume().geometry.block_size);
    }
  }
  void restore() {
    for (std::size_t i = 0; i < buffers_.size(); ++i) std::copy(bytes_[i].begin(), bytes_[i].end(), buffers_[i]->data);
    bench_.directory().size = size_;
    bench_.directory().flags = flags_;
  }

 private:
  DirectoryBench& bench_;
  std::vector<BufferReference> buffers_;
  std::vector<std::vector<std::byte>> bytes_;
  std::uint64_t size_;
  std::uint32_t flags_;
};

void use_in_every_way(DirectoryBench& bench) {
  (void)names_given(bench);
  {
    const HostEntry inside(bench.host());
    for (const char* name : {"file1", "file250", "absent", ".", ".."})
      (void)probe_directory(bench.volume(), bench.directory(), name);
    (void)directory_is_empty(bench.volume(), bench.directory());
    (void)directory_parent(bench.volume(), bench.directory());
  }
  (void)bench.insert("a new name that needs room in a leaf");
  (void)bench.erase("a new name that needs room in a leaf");
  (void)names_given(bench);
}

TEST(DamagedDirectory, EndsWhateverOneByteBecomes) {
  for (const int count : {20, 300}) {  // one linear block; a root and leaves
    DirectoryBench bench(small_blocks());
    for (int i = 0; i < count; ++i) ASSERT_EQ(bench.insert(fmt::format("file{}", i)), 0);
    Snapshot snapshot(bench);
    const std::uint32_t checked = std::min(bench.blocks(), 3U);
    for (std::uint32_t block = 0; block < checked; ++block) {
      const BufferReference buffer = block_of(bench, block);
      for (std::uint32_t at = 0; at < 1024; ++at) {
        for (const unsigned change : {0x01U, 0x80U, 0xFFU}) {
          buffer->data[at] ^= static_cast<std::byte>(change);
          use_in_every_way(bench);
          snapshot.restore();
        }
      }
    }
    EXPECT_NE(bench.lookup("file1"), kNoInode);
  }
}

TEST(DamagedDirectory, EndsWhateverANodesBytesBecome) {
  DirectoryBench bench(small_blocks());
  for (int i = 0; i < 700; ++i) ASSERT_EQ(bench.insert(fmt::format("{:0>200}", i)), 0);
  HtreePath path;
  {
    const HostEntry inside(bench.host());
    NameHasher hasher = default_hasher(bench.volume());
    ASSERT_EQ(*open_index(bench.volume(), bench.directory(), path, hasher), IndexState::kSound);
    ASSERT_EQ(*descend_index(bench.volume(), bench.directory(), 0, path), IndexState::kSound);
    ASSERT_EQ(path.count, 2U);
  }
  Snapshot snapshot(bench);
  std::mt19937 random(9);
  for (int i = 0; i < 1500; ++i) {
    std::byte* const data = path.frames[random() % 2].buffer->data;
    for (std::size_t changes = 1 + random() % 6; changes > 0; --changes)
      data[random() % 3 == 0 ? random() % 48 : random() % 1024] = static_cast<std::byte>(random());
    use_in_every_way(bench);
    snapshot.restore();
  }
}

TEST(DamagedDirectory, EndsWhateverRandomBytesItHolds) {
  DirectoryBench bench(small_blocks());
  for (int i = 0; i < 100; ++i) ASSERT_EQ(bench.insert(fmt::format("file{}", i)), 0);
  Snapshot snapshot(bench);
  std::mt19937 random(4);
  for (int i = 0; i < 1000; ++i) {
    for (std::uint32_t block = 0; block < bench.blocks(); ++block)
      if (random() % 2 == 0)
        for (int at = 0; at < 1024; ++at) block_of(bench, block)->data[at] = static_cast<std::byte>(random());
    use_in_every_way(bench);
    snapshot.restore();
  }
}

// ---- only the index is hurt ----

void hurt_limit(HtreePath& path) { count_limit_of(path.frames[0])->limit = 5; }
void hurt_count(HtreePath& path) { count_limit_of(path.frames[0])->count = 0; }
void hurt_version(HtreePath& path) { path.frames[0].buffer->at<HtreeRootInfo>(kHtreeRootInfoOffset)->hash_version = 9; }
void hurt_flags(HtreePath& path) { path.frames[0].buffer->at<HtreeRootInfo>(kHtreeRootInfoOffset)->flags = 1; }
void hurt_levels(HtreePath& path) {
  path.frames[0].buffer->at<HtreeRootInfo>(kHtreeRootInfoOffset)->indirect_levels = 2;
}
void hurt_blocks(HtreePath& path) {
  for (std::uint32_t i = 0; i < entry_count(path.frames[0]); ++i) entries_of(path.frames[0])[i].block = 0x00FFFFF0;
}
void hurt_node(HtreePath& path) { count_limit_of(path.frames[1])->limit = 1000; }

TEST(DamagedIndex, LosesNoNameAndGoesWithTheNextInsertion) {
  for (const auto hurt : {hurt_limit, hurt_count, hurt_version, hurt_flags, hurt_levels, hurt_blocks, hurt_node}) {
    DirectoryBench bench(small_blocks());
    std::vector<std::string> names;
    for (int i = 0; i < 700; ++i) names.push_back(fmt::format("{:0>200}", i));
    for (const std::string& name : names) ASSERT_EQ(bench.insert(name), 0);
    {
      const HostEntry inside(bench.host());
      HtreePath path;
      NameHasher hasher = default_hasher(bench.volume());
      ASSERT_EQ(*open_index(bench.volume(), bench.directory(), path, hasher), IndexState::kSound);
      ASSERT_EQ(*descend_index(bench.volume(), bench.directory(), 0, path), IndexState::kSound);
      hurt(path);
    }
    for (std::size_t i = 0; i < names.size(); i += 9) ASSERT_NE(bench.lookup(names[i]), kNoInode) << i;
    for (const std::size_t batch : {std::size_t{50}, SIZE_MAX}) {
      std::vector<std::string> listed = bench.list(batch);
      std::erase_if(listed, [](const std::string& name) { return name == "." || name == ".."; });
      std::sort(listed.begin(), listed.end());
      EXPECT_EQ(listed, names);
    }
    EXPECT_TRUE(bench.indexed());
    names.emplace_back("one more");
    ASSERT_EQ(bench.insert("one more"), 0);
    EXPECT_FALSE(bench.indexed());
    for (std::size_t i = 0; i < names.size(); i += 9) ASSERT_NE(bench.lookup(names[i]), kNoInode);
    EXPECT_GT(bench.volume().damage_count, 0U);
    bench.expect_clean(names);
  }
}

TEST(DamagedDirectory, SaysSoWhenALeafCannotBeRead) {
  DirectoryBench bench(small_blocks());
  for (int i = 0; i < 300; ++i) ASSERT_EQ(bench.insert(fmt::format("file{}", i)), 0);
  for (std::uint32_t block = 1; block < bench.blocks(); ++block)
    std::memset(block_of(bench, block)->data, 0, 1024);  // as a block that was never written
  const HostEntry inside(bench.host());
  EXPECT_EQ(probe_directory(bench.volume(), bench.directory(), "file1").error().value, EUCLEAN);
  const auto listed =
      read_directory(bench.volume(), bench.directory(), 0, [](const DirectoryListing&) { return true; });
  EXPECT_EQ(listed.error().value, EUCLEAN);
}

TEST(DamagedDirectory, DoesNotListNamesThatNoPathCanSay) {
  for (const char* name : {"a/b", "a"}) {
    DirectoryBench bench;
    ASSERT_EQ(bench.insert(name), 0);
    if (name[1] == '\0') {
      const HostEntry inside(bench.host());
      const auto probe = probe_directory(bench.volume(), bench.directory(), name);
      probe->leaf->data[probe->offset + 8] = std::byte{0};
    }
    const HostEntry inside(bench.host());
    const auto answer =
        read_directory(bench.volume(), bench.directory(), 0, [](const DirectoryListing&) { return true; });
    EXPECT_EQ(answer.error().value, EUCLEAN);
  }
}

}  // namespace
}  // namespace iotape::ext3
