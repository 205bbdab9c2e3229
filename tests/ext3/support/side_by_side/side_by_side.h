// The same sequence of steps on the built-in ext3 and on the kernel's, on volumes of the same geometry: outcomes are
// compared after each step, trees every so often and after each remount, and at the end each side reads the other's
// volume and both checkers look at both.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replayer/ext3/make_filesystem.h"
#include "replayer/ext3/mount_options.h"
#include "tests/ext3/support/side_by_side/step_generator.h"
#include "tests/ext3/support/side_by_side/tree_picture.h"

namespace iotape::ext3::test {

struct Scene {
  std::string name;
  std::uint64_t bytes = 0;
  FilesystemOptions filesystem;
  DataMode data = DataMode::kOrdered;
  StepMix mix;
};

struct SideBySideOptions {
  std::uint64_t seed = 1;
  std::size_t steps = 1000;
  std::size_t compare_every = 250;
  std::size_t remount_every = 10'000;
  std::size_t shrink_runs = 60;  // at most, when there is a difference
};

// Differences that are known and meant, by the rule's name; rules are in difference_rules.cc.
using RuleCounts = std::map<std::string, std::uint64_t>;

struct SideBySideResult {
  std::size_t steps = 0;
  std::size_t succeeded = 0;  // of those, on both sides
  RuleCounts rules;
  std::string difference;  // empty: there was none. With the seed and the shortest sequence that was found.
};

SideBySideResult run_side_by_side(const Scene& scene, const SideBySideOptions& options);

}  // namespace iotape::ext3::test
