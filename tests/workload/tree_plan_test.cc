#include "traces/workload/tree_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace iotape::workload {
namespace {

std::uint64_t bytes_of(const std::vector<TreeEntry>& plan) {
  return std::accumulate(plan.begin(), plan.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const TreeEntry& entry) { return sum + entry.size; });
}
std::int64_t files_in(const std::vector<TreeEntry>& plan) {
  return std::count_if(plan.begin(), plan.end(), [](const TreeEntry& entry) { return !entry.is_directory; });
}

TEST(TreePlan, DefaultIsThePublishedTree) {
  const auto plan = plan_tree({});
  EXPECT_EQ(files_in(plan), 13'035);
  EXPECT_EQ(bytes_of(plan), 192ULL << 20U);
}

TEST(TreePlan, SameSeedGivesTheSameTreeAndAnotherSeedAnother) {
  const auto as_text = [](std::uint64_t seed) {
    std::string text;
    for (const TreeEntry& entry : plan_tree({.files = 500, .bytes = 1 << 20, .seed = seed}))
      text += entry.path + ' ' + std::to_string(entry.size) + '\n';
    return text;
  };
  EXPECT_EQ(as_text(7), as_text(7));
  EXPECT_NE(as_text(7), as_text(8));
}

TEST(TreePlan, EveryDirectoryComesBeforeWhatIsInItAndNoNameTwice) {
  std::set<std::string> directories{""};
  std::set<std::string> seen;
  for (const TreeEntry& entry : plan_tree({.files = 3000})) {
    EXPECT_TRUE(seen.insert(entry.path).second) << entry.path;
    const auto slash = entry.path.rfind('/');
    EXPECT_TRUE(directories.contains(slash == std::string::npos ? "" : entry.path.substr(0, slash))) << entry.path;
    if (entry.is_directory) directories.insert(entry.path);
  }
}

TEST(TreePlan, WalksDepthFirst) {
  // Once a directory has been left, nothing below it comes again.
  std::set<std::string> left;
  std::string open_top;
  for (const TreeEntry& entry : plan_tree({.files = 3000})) {
    const std::string top = entry.path.substr(0, entry.path.find('/'));
    if (top != open_top) {
      EXPECT_FALSE(left.contains(top)) << entry.path;
      left.insert(open_top);
      open_top = top;
    }
  }
}

TEST(TreePlan, SizesAreLogNormalWithAMeanWellAboveTheMedian) {
  std::vector<std::uint64_t> sizes;
  for (const TreeEntry& entry : plan_tree({}))
    if (!entry.is_directory) sizes.push_back(entry.size);
  std::sort(sizes.begin(), sizes.end());
  const std::uint64_t median = sizes[sizes.size() / 2];
  const std::uint64_t mean = (192ULL << 20U) / sizes.size();
  EXPECT_GT(mean, median * 2);
  EXPECT_LT(mean, median * 3);
  EXPECT_GT(sizes.back(), 256U << 10U);
}

TEST(TreePlan, TinyAndEmptyTreesAreTreesToo) {
  EXPECT_TRUE(plan_tree({.files = 0, .bytes = 0}).empty());
  const auto one = plan_tree({.files = 1, .bytes = 5});
  EXPECT_EQ(files_in(one), 1);
  EXPECT_EQ(bytes_of(one), 5U);
  EXPECT_EQ(bytes_of(plan_tree({.files = 100, .bytes = 3})), 3U);
}

}  // namespace
}  // namespace iotape::workload
