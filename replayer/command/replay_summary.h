// What iotape replay says: before (the plan), after (the summary), as text or JSON ("iotape.replay/1").
#pragma once

#include <string>
#include <vector>

#include "format/base/command.h"
#include "replayer/command/replay_options.h"
#include "replayer/engine/initial_tree.h"
#include "replayer/engine/replay_report.h"
#include "replayer/engine/trace_survey.h"

namespace iotape {

struct PassTimes {
  Nanoseconds calls;   // from the anchor to the last call's end: what compare calls wall_time
  Nanoseconds synced;  // until the target was synced and let go: compare's synced_time
};

struct ReplaySummary {
  const ReplayOptions& options;
  const SurveyResult& survey;
  const ReplayRoots& roots;
  const TreeSummary& tree;
  const ReplayReport* report = nullptr;  // of the last pass; of a rehearsal against nothing with --dry-run
  std::string target;                    // fully resolved
  std::string filesystem;
  std::vector<std::string> notes;
  std::vector<PassTimes> walls;  // of each pass
  std::string result;
};

void print_plan(const Terminal& terminal, const ReplaySummary& summary);
// Which directories have no known place, and how --map gives them one.
void print_unplaced(const Terminal& terminal, const ReplaySummary& summary);
void print_dry_run(const Terminal& terminal, const ReplaySummary& summary);
void print_summary(const Terminal& terminal, const ReplaySummary& summary);
// The same facts as one JSON document.
[[nodiscard]] std::string summary_json(const ReplaySummary& summary);

}  // namespace iotape
