// The command line of iotape replay.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/base/command.h"
#include "format/base/result.h"
#include "format/selection.h"
#include "replayer/engine/pace.h"
#include "replayer/engine/replay_engine.h"
#include "replayer/engine/replay_roots.h"
#include "replayer/target/make_target.h"

namespace iotape {

struct ReplayOptions {
  std::string trace;
  std::string target_text;
  TargetSpec target;
  TargetOptions target_options;
  std::string result;  // empty: none is written
  bool force = false;
  std::vector<PathMapping> mappings;
  SelectionOptions selection;  // of calls
  bool external = false;
  PaceOptions pace;
  std::string pace_text = "asap";
  ReplayOrder order = ReplayOrder::kStrict;
  std::string order_text = "strict";
  bool cold = false;
  bool dry_run = false;
  bool strict = false;
  bool json = false;
  bool final_sync = true;
  std::uint32_t loops = 1;
};

// nullopt when the command ends here with `status`: help was asked for, or the command line is wrong.
std::optional<ReplayOptions> parse_replay_options(CommandCall& call, int& status);

}  // namespace iotape
