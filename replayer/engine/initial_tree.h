// The tree that has to exist before a trace's first call can be repeated, from what the survey learned.
//
// Best source first: snapshots, first touches, results of stat calls, facts from removals, and last what the calls
// prove: a file that was removed had to exist, one that was read to byte n was at least n long. Directories come before
// what they hold; within a directory the recorded order is kept where a snapshot knows it, else the order in which the
// trace first met the names (rm -rf meets them in the order of the directory).
#pragma once

#include <cstdint>

#include "replayer/engine/replay_roots.h"
#include "replayer/engine/trace_survey.h"
#include "replayer/target/target.h"

namespace iotape {

struct TreeSummary {
  std::uint64_t directories = 0;
  std::uint64_t files = 0;
  std::uint64_t others = 0;  // links, devices, fifos
  std::uint64_t bytes = 0;
  std::uint64_t inferred = 0;       // files nothing but the calls tells of
  std::uint64_t sizes_unknown = 0;  // regular files whose size is only bounded from below
};

struct BuiltTree {
  InitialTree nodes;
  TreeSummary summary;
};

[[nodiscard]] BuiltTree build_initial_tree(const SurveyResult& survey, const ReplayRoots& roots);

}  // namespace iotape
