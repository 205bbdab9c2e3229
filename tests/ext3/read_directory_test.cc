#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "replayer/ext3/directory/htree.h"
#include "tests/ext3/support/directory_bench.h"

namespace iotape::ext3 {
namespace {

using test::DirectoryBench;
using test::DirectoryBenchOptions;

bool is_dots(std::string_view name) { return name == "." || name == ".."; }
std::vector<std::string> without_dots(std::vector<std::string> names) {
  std::erase_if(names, is_dots);
  return names;
}

struct Seen {
  std::string name;
  std::uint64_t next_cookie = 0;
  NameHash hash;
};
std::vector<Seen> read_from(DirectoryBench& bench, std::uint64_t cookie, std::size_t limit = SIZE_MAX) {
  const HostEntry inside(bench.host());
  const NameHasher hasher = default_hasher(bench.volume());
  std::vector<Seen> seen;
  const auto answer = read_directory(bench.volume(), bench.directory(), cookie, [&](const DirectoryListing& listing) {
    if (seen.size() == limit) return false;
    seen.push_back({std::string(listing.name), listing.next_cookie, hasher(listing.name)});
    return true;
  });
  EXPECT_TRUE(answer);
  return seen;
}

TEST(ReadDirectory, GivesIndexedNamesInHashOrderBehindDotAndDotDot) {
  DirectoryBench bench;
  for (int i = 0; i < 3000; ++i) ASSERT_EQ(bench.insert(fmt::format("file{}", i)), 0);
  const std::vector<Seen> seen = read_from(bench, 0);
  ASSERT_EQ(seen.size(), 3002U);
  EXPECT_EQ(seen[0].name, ".");
  EXPECT_EQ(seen[1].name, "..");
  for (std::size_t i = 3; i < seen.size(); ++i) {
    EXPECT_LT(seen[i - 1].hash, seen[i].hash);
    EXPECT_LT(seen[i - 1].next_cookie, seen[i].next_cookie);
  }
}

TEST(ReadDirectory, GivesASingleBlockInHashOrderWithDotsAmongTheOthers) {
  DirectoryBench bench;
  for (int i = 0; i < 50; ++i) ASSERT_EQ(bench.insert(fmt::format("file{}", i)), 0);
  ASSERT_FALSE(bench.indexed());
  const std::vector<Seen> seen = read_from(bench, 0);
  ASSERT_EQ(seen.size(), 52U);
  for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_LT(seen[i - 1].hash, seen[i].hash);
}

TEST(ReadDirectory, GivesCookiesAsWideAsTheMountSays) {
  for (const bool short_cookies : {false, true}) {
    DirectoryBenchOptions options;
    options.mount.short_cookies = short_cookies;
    DirectoryBench bench(options);
    for (int i = 0; i < 3000; ++i) ASSERT_EQ(bench.insert(fmt::format("file{}", i)), 0);
    const std::vector<Seen> seen = read_from(bench, 0);
    const std::uint64_t end = short_cookies ? 0x7FFFFFFF : 0x7FFFFFFFFFFFFFFF;
    for (const Seen& one : seen) {
      EXPECT_LE(one.next_cookie, end);
      const std::uint64_t major = one.name == "." ? 0 : one.name == ".." ? 1 : one.hash.major >> 1U;
      const std::uint64_t own = short_cookies ? major : major << 32U | (is_dots(one.name) ? 0 : one.hash.minor);
      EXPECT_EQ(one.next_cookie, own + 1);
    }
    EXPECT_TRUE(read_from(bench, end).empty());
    // From any cookie what follows its name, no more and no less.
    for (std::size_t i = 0; i < seen.size(); i += 97) {
      const std::vector<Seen> rest = read_from(bench, seen[i].next_cookie);
      ASSERT_EQ(rest.size(), seen.size() - i - 1);
      EXPECT_TRUE(rest.empty() || rest[0].name == seen[i + 1].name);
    }
  }
}

// ---- while others add and remove ----

struct Situation {
  HashVersion hash;
  bool short_cookies;
  bool index;
  std::uint32_t block_size;
  std::size_t batch;
};

std::string situation_name(const testing::TestParamInfo<Situation>& info) {
  constexpr std::array<const char*, 3> kHashes{"Legacy", "HalfMd4", "Tea"};
  const Situation& s = info.param;
  return fmt::format("{}{}{}{}By{}", s.index ? kHashes[s.hash] : "Linear", s.short_cookies ? "Narrow" : "Wide",
                     "Cookies", s.block_size, s.batch);
}
std::vector<Situation> situations() {
  std::vector<Situation> all;
  for (const HashVersion hash : {kHashLegacy, kHashHalfMd4, kHashTea})
    for (const bool short_cookies : {false, true})
      for (const std::size_t batch : {1, 7, 400})
        all.push_back({hash, short_cookies, true, batch == 7 ? 1024U : 4096U, batch});
  for (const std::size_t batch : {1, 7, 400}) all.push_back({kHashHalfMd4, false, false, 1024, batch});
  return all;
}

class ReadWhileChanging : public testing::TestWithParam<Situation> {
 protected:
  static DirectoryBenchOptions options() {
    DirectoryBenchOptions result;
    result.bytes = 256 << 20;
    result.filesystem = DirectoryBenchOptions::without_journal(GetParam().block_size);
    result.filesystem.hash_version = GetParam().hash;
    result.mount.short_cookies = GetParam().short_cookies;
    result.mount.htree = GetParam().index;
    return result;
  }
};
INSTANTIATE_TEST_SUITE_P(All, ReadWhileChanging, testing::ValuesIn(situations()), situation_name);

// Adds and removes names that begin with "other", a few at a time.
class Disturber {
 public:
  explicit Disturber(DirectoryBench& bench) : bench_(bench) {}
  void disturb(int times) {
    for (int i = 0; i < times; ++i) {
      const std::string name = fmt::format("other{:0>{}}", random_() % 4000, 4 + random_() % 30);
      const int outcome = names_.erase(name) != 0 ? bench_.erase(name) : bench_.insert(name);
      if (outcome == 0 && bench_.lookup(name) != kNoInode) names_.insert(name);
      EXPECT_TRUE(outcome == 0 || outcome == EEXIST);
    }
  }

 private:
  DirectoryBench& bench_;
  std::mt19937 random_{5};
  std::set<std::string> names_;
};

// One call's names, from an open directory's position.
bool read_batch(DirectoryBench& bench, DirectoryPosition& position, std::uint64_t& cookie, std::size_t batch,
                std::map<std::string, int>& times) {
  const HostEntry inside(bench.host());
  std::size_t taken = 0;
  EXPECT_TRUE(read_directory(bench.volume(), bench.directory(), position, cookie, [&](const DirectoryListing& listing) {
    if (taken == batch) return false;
    ++taken;
    ++times[std::string(listing.name)];
    cookie = listing.next_cookie;
    return true;
  }));
  return taken != 0;
}

TEST_P(ReadWhileChanging, GivesEveryNameThatStaysExactlyOnce) {
  DirectoryBench bench(options());
  Disturber disturber(bench);
  std::vector<std::string> stay;
  for (int i = 0; i < 1500; ++i) {
    stay.push_back(fmt::format("stay{:06}", i));
    ASSERT_EQ(bench.insert(stay.back()), 0);
    if (i % 2 == 0) disturber.disturb(1);
  }
  std::map<std::string, int> times;
  DirectoryPosition position;
  std::uint64_t cookie = 0;
  // Not for ever: a linear directory that grows faster than it is read has no end.
  int left = 1500;
  while (read_batch(bench, position, cookie, GetParam().batch, times)) {
    const int changes = std::min(left, GetParam().batch > 7 ? 300 : 3);
    disturber.disturb(changes);
    left -= changes;
  }
  for (const std::string& name : stay) EXPECT_EQ(times[name], 1) << name;
  EXPECT_EQ(times["."], 1);
  EXPECT_EQ(times[".."], 1);
}

class ReadWhileChangingLong : public ReadWhileChanging {};
// Without an index a directory of that size takes minutes to make.
std::vector<Situation> indexed_situations() {
  std::vector<Situation> all = situations();
  std::erase_if(all, [](const Situation& situation) { return !situation.index; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, ReadWhileChangingLong, testing::ValuesIn(indexed_situations()), situation_name);

TEST_P(ReadWhileChangingLong, GivesAHundredThousandNamesOnceEach) {
  DirectoryBench bench(options());
  for (int i = 0; i < 100000; ++i) ASSERT_EQ(bench.insert(fmt::format("stay{:06}", i)), 0);
  std::map<std::string, int> times;
  DirectoryPosition position;
  std::uint64_t cookie = 0;
  while (read_batch(bench, position, cookie, GetParam().batch, times)) {
  }
  EXPECT_EQ(times.size(), 100002U);
  for (const auto& [name, count] : times) ASSERT_EQ(count, 1) << name;
}

TEST(ReadDirectory, GivesNamesOfEqualCookieAgainOnlyToWhoKeepsNoPosition) {
  // A million legacy hashes hold some pairs; two names of one are found by looking.
  DirectoryBenchOptions options;
  options.filesystem.hash_version = kHashLegacy;
  DirectoryBench bench(options);
  const NameHasher hasher = default_hasher(bench.volume());
  std::map<std::uint32_t, std::string> first;
  std::vector<std::string> equal;
  for (int i = 0; equal.empty(); ++i) {
    const std::string name = fmt::format("{:x}", i * 7919);
    const auto [at, is_new] = first.emplace(hasher(name).major, name);
    if (!is_new) equal = {at->second, name};
  }
  for (const std::string& name : equal) ASSERT_EQ(bench.insert(name), 0);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(bench.insert(fmt::format("file{}", i)), 0);
  EXPECT_EQ(without_dots(bench.list(1)).size(), 1002U);
  EXPECT_EQ(without_dots(bench.list(2)).size(), 1002U);
  // A seek to the shared cookie gives both.
  const std::uint64_t cookie = hasher(equal[0]).major >> 1U;
  const std::vector<Seen> seen = read_from(bench, cookie << 32U, 2);
  std::vector<std::string> names{seen[0].name, seen[1].name};
  std::sort(names.begin(), names.end());
  std::sort(equal.begin(), equal.end());
  EXPECT_EQ(names, equal);
}

TEST(ReadDirectory, GoesOnAfterTheDirectoryGotItsIndex) {
  DirectoryBench bench;
  for (int i = 0; i < 150; ++i) ASSERT_EQ(bench.insert(fmt::format("stay{:06}", i)), 0);
  ASSERT_FALSE(bench.indexed());
  std::map<std::string, int> times;
  DirectoryPosition position;
  std::uint64_t cookie = 0;
  for (int i = 0; read_batch(bench, position, cookie, 10, times); ++i)
    for (int j = 0; j < 30; ++j) ASSERT_EQ(bench.insert(fmt::format("other{}", i * 100 + j)), 0);
  EXPECT_TRUE(bench.indexed());
  for (int i = 0; i < 150; ++i) EXPECT_EQ(times[fmt::format("stay{:06}", i)], 1);
}

}  // namespace
}  // namespace iotape::ext3
