#include "replayer/ext3/directory/directory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>

#include "replayer/ext3/disk_format/directory_record.h"
#include "tests/ext3/support/directory_bench.h"

namespace iotape::ext3 {
namespace {

using test::DirectoryBench;
using test::DirectoryBenchOptions;

std::vector<std::string> without_dots(std::vector<std::string> names) {
  std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
  return names;
}

TEST(Directory, FindsWhatWasPutInAndNothingElse) {
  DirectoryBench bench;
  EXPECT_EQ(bench.insert("a"), 0);
  EXPECT_EQ(bench.insert("a"), EEXIST);
  EXPECT_EQ(bench.insert("ab"), 0);
  EXPECT_EQ(bench.lookup("a"), bench.file(0));
  EXPECT_EQ(bench.lookup("ab"), bench.file(1));
  EXPECT_EQ(bench.lookup("abc"), kNoInode);
  EXPECT_EQ(bench.lookup(""), kNoInode);
  EXPECT_EQ(bench.lookup("."), bench.directory().number);
  EXPECT_EQ(bench.lookup(".."), kRootInode);
  EXPECT_EQ(bench.erase("a"), 0);
  EXPECT_EQ(bench.erase("a"), ENOENT);
  EXPECT_EQ(bench.lookup("a"), kNoInode);
  bench.expect_clean({"ab"});
}

TEST(Directory, ChangesTimesAndTheChangeCountWithItsNames) {
  DirectoryBench bench;
  bench.directory().modification_time = bench.directory().change_time = {};
  ASSERT_EQ(bench.insert("a"), 0);
  EXPECT_GT(bench.directory().modification_time.seconds, 0);
  EXPECT_EQ(bench.directory().change_time, bench.directory().modification_time);
  const auto count = bench.directory().change_count;
  ASSERT_EQ(bench.rewrite("a", 5), 0);
  ASSERT_EQ(bench.erase("a"), 0);
  EXPECT_EQ(bench.directory().change_count, count + 2);
}

TEST(Directory, LetsANameMeanAnotherInodeInItsPlace) {
  DirectoryBench bench;
  for (const char* name : {"a", "b", "c"}) ASSERT_EQ(bench.insert(name), 0);
  ASSERT_EQ(bench.rewrite("b", 9), 0);
  EXPECT_EQ(bench.lookup("b"), bench.file(9));
  bench.expect_clean({"a", "b", "c"});
}

TEST(Directory, TakesNamesOfEveryLengthAndEveryByte) {
  for (const std::uint32_t block_size : {1024U, 2048U, 4096U}) {
    DirectoryBenchOptions options;
    options.filesystem = DirectoryBenchOptions::without_journal(block_size);
    DirectoryBench bench(options);
    std::vector<std::string> names;
    for (std::size_t length = 1; length <= kNameLimit; ++length) names.emplace_back(length, 'n');
    for (int byte = 1; byte < 256; ++byte)
      if (byte != '/' && byte != '.' && byte != 'n') names.emplace_back(1, static_cast<char>(byte));
    for (const std::string& name : names) ASSERT_EQ(bench.insert(name), 0) << name.size();
    for (const std::string& name : names) EXPECT_NE(bench.lookup(name), kNoInode) << name;
    std::vector<std::string> listed = without_dots(bench.list());
    std::sort(listed.begin(), listed.end());
    std::sort(names.begin(), names.end());
    EXPECT_EQ(listed, names);
    bench.finish();
    IOTAPE_EXPECT_E2FSCK_CLEAN(bench.device());
  }
}

TEST(Directory, GivesRoomBackWhenANameGoes) {
  DirectoryBench bench;
  for (int i = 0; i < 19; ++i) ASSERT_EQ(bench.insert(std::string(199, static_cast<char>('a' + i))), 0);
  // The first behind "..", one between two others, and the last.
  for (const char name : {'a', 'j', 's'}) {
    ASSERT_EQ(bench.erase(std::string(199, name)), 0);
    ASSERT_EQ(bench.insert(std::string(197, name)), 0);
  }
  EXPECT_EQ(bench.blocks(), 1U);
  bench.finish();
  IOTAPE_EXPECT_E2FSCK_CLEAN(bench.device());
}

TEST(Directory, KnowsItsParentAndWhetherItIsEmpty) {
  for (const int count : {0, 300}) {  // linear and indexed
    DirectoryBench bench;
    for (int i = 0; i < count; ++i) ASSERT_EQ(bench.insert(fmt::format("name{}", i)), 0);
    const HostEntry inside(bench.host());
    EXPECT_EQ(*directory_parent(bench.volume(), bench.directory()), kRootInode);
    EXPECT_EQ(*directory_is_empty(bench.volume(), bench.directory()), count == 0);
    Handle handle = *bench.volume().journal->start(1);
    ASSERT_TRUE(set_directory_parent(bench.volume(), handle, bench.directory(), InodeNumber(77)));
    EXPECT_EQ(*directory_parent(bench.volume(), bench.directory()), InodeNumber(77));
  }
}

TEST(Directory, IsEmptyAgainWhenAllItsBlocksAre) {
  DirectoryBench bench;
  for (int i = 0; i < 600; ++i) ASSERT_EQ(bench.insert(fmt::format("name{}", i)), 0);
  for (int i = 0; i < 600; ++i) ASSERT_EQ(bench.erase(fmt::format("name{}", i)), 0);
  {
    const HostEntry inside(bench.host());
    EXPECT_TRUE(*directory_is_empty(bench.volume(), bench.directory()));
  }
  EXPECT_GT(bench.blocks(), 3U);  // a directory does not shrink
  EXPECT_EQ(without_dots(bench.list()), std::vector<std::string>());
  bench.expect_clean({});
}

TEST(Directory, RefusesToGuessWhenItsFirstBlockIsNotADirectorys) {
  DirectoryBench bench;
  const HostEntry inside(bench.host());
  auto probe = probe_directory(bench.volume(), bench.directory(), "..");
  ASSERT_TRUE(probe);
  std::byte* const block = probe->leaf->data;
  block[8] = std::byte{'x'};
  EXPECT_EQ(directory_parent(bench.volume(), bench.directory()).error().value, EUCLEAN);
  EXPECT_EQ(directory_is_empty(bench.volume(), bench.directory()).error().value, EUCLEAN);
  block[8] = std::byte{'.'};
  EXPECT_TRUE(directory_parent(bench.volume(), bench.directory()));
}

TEST(Directory, StartsWithDotAndDotDot) {
  DirectoryBench bench;
  const HostEntry inside(bench.host());
  Inode& directory = bench.directory();
  // As if it were new: its one block is forgotten and another is made.
  directory.size = 0;
  directory.block_cache.clear();
  Handle handle = *bench.volume().journal->start(insert_credits(bench.volume()));
  ASSERT_TRUE(initialise_directory(bench.volume(), handle, directory, kRootInode));
  EXPECT_EQ(directory.size, 4096U);
  EXPECT_EQ(*directory_parent(bench.volume(), directory), kRootInode);
  EXPECT_TRUE(*directory_is_empty(bench.volume(), directory));
}

TEST(Directory, StoresNoTypesWithoutThatFeature) {
  for (const bool filetype : {true, false}) {
    DirectoryBenchOptions options;
    options.filesystem.features.filetype = filetype;
    DirectoryBench bench(options);
    ASSERT_EQ(bench.insert("a"), 0);
    ASSERT_EQ(bench.insert("b"), 0);
    ASSERT_EQ(bench.rewrite("b", 3), 0);
    {
      const HostEntry inside(bench.host());
      for (const char* name : {"a", "b"}) {
        EXPECT_EQ(probe_directory(bench.volume(), bench.directory(), name)->file_type,
                  filetype ? kTypeRegular : kTypeUnknown);
      }
    }
    bench.expect_clean({"a", "b"});
  }
}

// ---- without an index ----

TEST(LinearDirectory, StaysLinearWithoutTheFeatureOrWhenToldSo) {
  for (const bool feature : {true, false}) {
    DirectoryBenchOptions options;
    options.filesystem.features.dir_index = feature;
    options.mount.htree = false;
    DirectoryBench bench(options);
    std::vector<std::string> names;
    for (int i = 0; i < 1000; ++i) names.push_back(fmt::format("file{:08}", i));
    for (const std::string& name : names) ASSERT_EQ(bench.insert(name), 0);
    EXPECT_FALSE(bench.indexed());
    EXPECT_EQ(bench.blocks(), 5U);
    // As they lie: in the order in which they were made.
    EXPECT_EQ(without_dots(bench.list()), names);
    EXPECT_EQ(without_dots(bench.list(1)), names);
    bench.expect_clean(names);
  }
}

TEST(LinearDirectory, FillsTheFirstGapItHas) {
  DirectoryBenchOptions options;
  options.mount.htree = false;
  DirectoryBench bench(options);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(bench.insert(fmt::format("file{:08}", i)), 0);
  ASSERT_EQ(bench.erase("file00000900"), 0);
  ASSERT_EQ(bench.erase("file00000500"), 0);
  ASSERT_EQ(bench.insert("other0000001"), 0);
  ASSERT_EQ(bench.insert("other0000002"), 0);
  const std::vector<std::string> listed = without_dots(bench.list());
  EXPECT_EQ(listed[500], "other0000001");
  EXPECT_EQ(listed[900], "other0000002");
  EXPECT_EQ(bench.blocks(), 5U);
}

TEST(LinearDirectory, LooksFirstWhereItLastFound) {
  DirectoryBenchOptions options;
  options.mount.htree = false;
  DirectoryBench bench(options);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(bench.insert(fmt::format("file{:08}", i)), 0);
  for (const int i : {900, 100, 999, 0}) {
    EXPECT_NE(bench.lookup(fmt::format("file{:08}", i)), kNoInode);
    EXPECT_EQ(bench.directory().lookup_start.value, static_cast<std::uint32_t>(i / 203)) << i;
  }
  EXPECT_EQ(bench.lookup("absent"), kNoInode);
}

TEST(LinearDirectory, HasNoIndexAfterAChangeThatDidNotKeepIt) {
  for (const int change : {0, 1, 2}) {
    DirectoryBench bench;
    std::vector<std::string> names;
    for (int i = 0; i < 1000; ++i) names.push_back(fmt::format("file{:08}", i));
    for (const std::string& name : names) ASSERT_EQ(bench.insert(name), 0);
    ASSERT_TRUE(bench.indexed());
    bench.volume().options.htree = false;
    EXPECT_NE(bench.lookup("file00000500"), kNoInode);
    EXPECT_TRUE(bench.indexed());  // looking changes nothing
    const int outcome = change == 0   ? bench.erase(names.back())
                        : change == 1 ? bench.rewrite(names.back(), 3)
                                      : bench.insert("one more");
    EXPECT_EQ(outcome, 0);
    if (change == 0) names.pop_back();
    if (change == 2) names.emplace_back("one more");
    EXPECT_FALSE(bench.indexed());
    bench.volume().options.htree = true;
    ASSERT_EQ(bench.insert("and one"), 0);
    names.emplace_back("and one");
    for (const std::string& name : names) EXPECT_NE(bench.lookup(name), kNoInode);
    bench.expect_clean(names);
  }
}

TEST(LinearDirectory, PassesOverAHole) {
  DirectoryBenchOptions options;
  options.mount.htree = false;
  DirectoryBench bench(options);
  ASSERT_EQ(bench.insert("a"), 0);
  bench.directory().size = 10 * 4096;  // nothing is mapped beyond the first block
  EXPECT_EQ(bench.lookup("b"), kNoInode);
  EXPECT_NE(bench.lookup("a"), kNoInode);
  EXPECT_EQ(without_dots(bench.list()), std::vector<std::string>{"a"});
}

// ---- every geometry and hash ----

struct Variant {
  std::uint32_t block_size;
  HashVersion hash;
  bool signed_hash;
  bool index;
};
std::string variant_name(const testing::TestParamInfo<Variant>& info) {
  constexpr std::array<const char*, 3> kHashes{"Legacy", "HalfMd4", "Tea"};
  return fmt::format("{}{}{}{}", info.param.block_size, kHashes[info.param.hash],
                     info.param.signed_hash ? "Signed" : "Unsigned", info.param.index ? "" : "Linear");
}
std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const std::uint32_t block_size : {1024U, 2048U, 4096U}) {
    for (const HashVersion hash : {kHashLegacy, kHashHalfMd4, kHashTea})
      for (const bool signed_hash : {true, false}) all.push_back({block_size, hash, signed_hash, true});
    all.push_back({block_size, kHashHalfMd4, true, false});
  }
  return all;
}

class DirectoryVariant : public testing::TestWithParam<Variant> {
 protected:
  static DirectoryBenchOptions options() {
    DirectoryBenchOptions result;
    result.filesystem = DirectoryBenchOptions::without_journal(GetParam().block_size);
    result.filesystem.hash_version = GetParam().hash;
    result.filesystem.signed_hash = GetParam().signed_hash;
    result.mount.htree = GetParam().index;
    return result;
  }
};
INSTANTIATE_TEST_SUITE_P(All, DirectoryVariant, testing::ValuesIn(variants()), variant_name);

std::string random_name(std::mt19937& random) {
  std::string name(random() % 4 == 0 ? 1 + random() % 255 : 5 + random() % 12, '\0');
  for (char& c : name) c = static_cast<char>(random() % 8 == 0 ? 0x80 + random() % 0x80 : 'a' + random() % 26);
  return name;
}

TEST_P(DirectoryVariant, AgreesWithASetOfNames) {
  DirectoryBench bench(options());
  std::mt19937 random(11);
  std::set<std::string> names;
  const int operations = GetParam().index ? 12000 : 3000;
  for (int i = 0; i < operations; ++i) {
    // Grows, shrinks, and grows again.
    const bool shrinking = i / (operations / 4) % 2 == 1;
    if (!names.empty() && random() % 10 < (shrinking ? 7U : 2U)) {
      auto victim = names.lower_bound(random_name(random));
      if (victim == names.end()) victim = names.begin();
      ASSERT_EQ(bench.erase(*victim), 0);
      ASSERT_EQ(bench.lookup(*victim), kNoInode);
      names.erase(victim);
      continue;
    }
    const std::string name = random_name(random);
    ASSERT_EQ(bench.insert(name), names.insert(name).second ? 0 : EEXIST);
  }
  for (const std::string& name : names) ASSERT_NE(bench.lookup(name), kNoInode);
  EXPECT_EQ(bench.indexed(), GetParam().index);
  for (const std::size_t batch : {std::size_t{1}, std::size_t{17}, SIZE_MAX}) {
    const std::vector<std::string> listed = without_dots(bench.list(batch));
    EXPECT_EQ(listed.size(), names.size());
    EXPECT_EQ(std::set<std::string>(listed.begin(), listed.end()), names);
  }
  bench.finish();
  IOTAPE_EXPECT_E2FSCK_CLEAN(bench.device());
}

TEST(DirectoryOnAJournal, IsCleanAfterManyTransactions) {
  DirectoryBenchOptions options;
  options.filesystem = DirectoryBenchOptions::without_journal(1024);
  options.filesystem.features.has_journal = true;
  options.filesystem.journal_blocks = 1024;
  DirectoryBench bench(options);
  std::vector<std::string> names;
  for (int i = 0; i < 20000; ++i) ASSERT_EQ(bench.insert(fmt::format("file{:08}", i)), 0);
  for (int i = 0; i < 20000; ++i) {
    if (i % 3 != 0) {
      ASSERT_EQ(bench.erase(fmt::format("file{:08}", i)), 0);
    } else {
      names.push_back(fmt::format("file{:08}", i));
    }
  }
  EXPECT_GT(bench.volume().journal->figures().transactions, 3U);
  bench.expect_clean(names);
}

}  // namespace
}  // namespace iotape::ext3
