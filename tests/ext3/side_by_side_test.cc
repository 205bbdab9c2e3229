// Random sequences of calls on the built-in ext3 and on the kernel's, side by side.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/ext3/support/side_by_side/side_by_side.h"
#include "tests/support/test_support.h"

namespace iotape::ext3::test {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

Scene scene(std::string name, std::uint32_t block_size, std::uint32_t inode_size, std::uint64_t mib) {
  Scene made;
  made.name = std::move(name);
  made.bytes = mib * kMiB;
  made.filesystem.block_size = block_size;
  made.filesystem.inode_size = inode_size;
  made.filesystem.journal_blocks = 1024;
  made.filesystem.inode_count = 4096;
  made.mix.farthest_offset = std::uint64_t{1} << 43U;
  return made;
}

std::vector<Scene> scenes() {
  std::vector<Scene> all;
  all.push_back(scene("1 KiB blocks, 128-byte inodes", 1024, 128, 48));
  all.push_back(scene("4 KiB blocks, 256-byte inodes", 4096, 256, 64));
  all.push_back(scene("2 KiB blocks, many names, data=writeback", 2048, 256, 48));
  all.back().mix.names = 1500;
  all.back().data = DataMode::kWriteback;
  all.push_back(scene("1 KiB blocks, no index", 1024, 256, 48));
  all.back().filesystem.features.dir_index = false;
  all.back().mix.names = 400;
  all.push_back(scene("1 KiB blocks, a small volume that fills up, data=journal", 1024, 256, 8));
  all.back().data = DataMode::kJournal;
  all.back().mix.fills_up = true;
  all.push_back(scene("4 KiB blocks, few inodes", 4096, 128, 24));
  all.back().filesystem.inode_count = 192;
  all.back().mix.fills_up = true;
  all.back().mix.names = 300;
  return all;
}

void print(const RuleCounts& rules) {
  for (const auto& [name, count] : rules) fmt::print("  by rule: {}: {}\n", name, count);
}

std::size_t number_from(const char* variable, std::size_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class SideBySideLive : public testing::TestWithParam<std::size_t> {};

TEST_P(SideBySideLive, OutcomesAndTreesAreTheKernels) {
  IOTAPE_NEEDS_RECORDER();
  SideBySideOptions options;
  options.steps = number_from("IOTAPE_STEPS", 1200);
  options.seed = number_from("IOTAPE_SEED", 1);
  options.shrink_runs = number_from("IOTAPE_SHRINK", options.shrink_runs);
  const SideBySideResult result = run_side_by_side(scenes()[GetParam()], options);
  fmt::print("{} steps, {} of them succeeded\n", result.steps, result.succeeded);
  print(result.rules);
  if (!result.difference.empty()) ADD_FAILURE() << result.difference;
}

INSTANTIATE_TEST_SUITE_P(Scenes, SideBySideLive, testing::Range(std::size_t{0}, scenes().size()));

// IOTAPE_SEED, IOTAPE_SEEDS, IOTAPE_STEPS: where to begin and how much.
TEST(SideBySideLiveLong, ManySeeds) {
  IOTAPE_NEEDS_RECORDER();
  const std::size_t first = number_from("IOTAPE_SEED", 1000);
  const std::size_t seeds = number_from("IOTAPE_SEEDS", 200);
  const std::vector<Scene> all = scenes();
  RuleCounts rules;
  std::size_t steps = 0;
  std::size_t succeeded = 0;
  std::size_t differing = 0;
  for (std::size_t seed = first; seed < first + seeds; ++seed) {
    SideBySideOptions options;
    options.steps = number_from("IOTAPE_STEPS", 10'000);
    options.remount_every = 5'000;
    options.seed = seed;
    options.shrink_runs = number_from("IOTAPE_SHRINK", options.shrink_runs);
    const SideBySideResult result = run_side_by_side(all[seed % all.size()], options);
    steps += result.steps;
    succeeded += result.succeeded;
    for (const auto& [name, count] : result.rules) rules[name] += count;
    if (!result.difference.empty()) ADD_FAILURE() << result.difference;
    differing += result.difference.empty() ? 0U : 1U;
    fmt::print("seed {}: {} steps in all, {} succeeded, {} seeds differ\n", seed, steps, succeeded, differing);
    std::fflush(stdout);
  }
  print(rules);
}

}  // namespace
}  // namespace iotape::ext3::test
