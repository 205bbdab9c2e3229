#include "replayer/command/replay_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "format/base/units.h"
#include "format/command/selection_options.h"

namespace iotape {
namespace {

constexpr std::uint32_t kMostLoops = 1'000'000;

// The words as typed, before they are understood.
struct Words {
  std::vector<std::string> maps;
  std::string external = "skip";
  std::string directory_order = "recorded";
  std::string tree = "prepare";
  std::string fill = "random";
  std::vector<std::string> keep;
  std::string longest_gap;
};

void declare(CLI::App& app, ReplayOptions& options, Words& words) {
  app.add_option("TRACE", options.trace, "The trace to replay")->required();
  app.add_option("TARGET", options.target_text,
                 "KIND:PLACE,key=value,...; a bare path means dir:. KIND:help lists keys")
      ->required();
  app.add_option("-o,--output", options.result, "Write the replay itself as a trace");
  app.add_flag("--force", options.force, "Overwrite an existing result");
  app.add_option("--map", words.maps, "FROM=TO: replay what lay under FROM at TO inside the target; repeatable")
      ->allow_extra_args(false);
  app.add_option("--pace", options.pace_text, "asap, think, recorded, or a speed: 2x is twice as fast")
      ->capture_default_str();
  app.add_option("--max-gap", words.longest_gap, "Shorten longer pauses of the trace to this");
  app.add_option("--order", options.order_text,
                 "strict: one call after the other, as they ended; thread: every thread at its own pace")
      ->check(CLI::IsMember({"strict", "thread"}))
      ->capture_default_str();
  app.add_option("--dir-order", words.directory_order,
                 "recorded: removals in the recorded order; the only one in this version")
      ->check(CLI::IsMember({"recorded", "target"}))
      ->capture_default_str();
  app.add_option("--external", words.external, "replay: repeat calls outside every root too, under /external")
      ->check(CLI::IsMember({"skip", "replay"}))
      ->capture_default_str();
  app.add_option("--tree", words.tree, "prepare: make what must exist first; existing: use what is there; none")
      ->check(CLI::IsMember({"prepare", "existing", "none"}))
      ->capture_default_str();
  app.add_flag("--cold", options.cold, "Forget every cached page, inode and name of the target before the first call");
  app.add_option("--fill", words.fill, "What written data is: random (incompressible) or zero")
      ->check(CLI::IsMember({"random", "zero"}))
      ->capture_default_str();
  app.add_option("--keep", words.keep, "owner, special, setuid: what the sandbox would refuse or weaken; repeatable")
      ->delimiter(',')
      ->check(CLI::IsMember({"owner", "special", "setuid"}))
      ->allow_extra_args(false);
  app.add_option("--loops", options.loops, "Replay this often; the tree is made anew each time")
      ->check(CLI::Range(std::uint32_t{1}, kMostLoops));
  app.add_option("--allow-writes", options.target_options.allow_writes, "A block device that may be overwritten")
      ->allow_extra_args(false);
  app.add_flag_callback(
      "--no-sync", [&options] { options.final_sync = false; }, "Do not sync the target after the last call");
  app.add_flag("--dry-run", options.dry_run, "Say what would happen; touch nothing");
  app.add_flag("--strict", options.strict, "Refuse a damaged or lossy trace; any deviation is a divergence");
  app.add_flag("--json", options.json, "Print the summary as one JSON document");
  add_selection_options(app, options.selection);
  app.footer(
      "Exit status: 0 replayed as recorded, 3 some calls ended otherwise, 4 the trace is damaged\n"
      "or lossy (--strict), 1 failed, 2 usage, 130 interrupted.\n"
      "Calls a target does not support (fallocate on ext3) are counted apart; --strict fails for\n"
      "them too, and for lost descriptors, unresolved paths and what the sandbox refused.");
}

Result<void> understand(ReplayOptions& options, const Words& words) {
  options.order = options.order_text == "thread" ? ReplayOrder::kThread : ReplayOrder::kStrict;
  if (words.directory_order != "recorded")
    return failure(ErrorCode::kUsage, "--dir-order target: this version keeps the recorded order of removals only");
  IOTAPE_ASSIGN(options.pace, parse_pace(options.pace_text));
  if (!words.longest_gap.empty()) {
    IOTAPE_ASSIGN(options.pace.longest_gap, parse_duration(words.longest_gap));
  }
  for (const std::string& map : words.maps) {
    IOTAPE_ASSIGN(PathMapping mapping, parse_path_mapping(map));
    options.mappings.push_back(std::move(mapping));
  }
  IOTAPE_ASSIGN(options.target, parse_target_spec(options.target_text));
  options.external = words.external == "replay";
  TargetOptions& target = options.target_options;
  target.fill = words.fill == "zero" ? Fill::kZero : Fill::kRandom;
  target.tree = words.tree == "prepare"    ? TreePolicy::kPrepare
                : words.tree == "existing" ? TreePolicy::kExisting
                                           : TreePolicy::kNone;
  const auto keeps = [&](std::string_view what) {
    return std::find(words.keep.begin(), words.keep.end(), what) != words.keep.end();
  };
  target.keep = {keeps("owner"), keeps("special"), keeps("setuid")};
  if (options.loops > 1 && target.tree != TreePolicy::kPrepare)
    return failure(ErrorCode::kUsage, "--loops makes the tree anew before each pass; leave out --tree");
  if (!options.selection.devices.empty() || !options.selection.operations.empty())
    return failure(ErrorCode::kUsage,
                   "--device and --op select block requests, and a replay repeats system calls; use --syscall, --path, "
                   "--process, --from and --to");
  if (options.trace == "-")
    return failure(ErrorCode::kUsage, "a replay reads its trace twice, so it cannot come from a pipe; save it first");
  return {};
}

}  // namespace

std::optional<ReplayOptions> parse_replay_options(CommandCall& call, int& status) {
  ReplayOptions options;
  Words words;
  CLI::App app("Repeat a recorded trace on another filesystem, as fast as it answers or as recorded", "iotape replay");
  add_common_options(app, *call.terminal);
  declare(app, options, words);
  // `iotape replay ext4:help` asks for a target's keys and needs no trace.
  if (call.arguments.size() == 1 && call.arguments[0].ends_with(":help")) {
    const std::string help = target_help(std::string_view(call.arguments[0]).substr(0, call.arguments[0].find(':')));
    fmt::print(call.terminal->out, "{}", help);
    status = kExitOk;
    return std::nullopt;
  }
  status = parse_arguments(app, call);
  if (status >= 0) return std::nullopt;
  if (const auto understood = understand(options, words); !understood) {
    status = report_error(*call.terminal, "replay", understood.error());
    return std::nullopt;
  }
  if (options.target.help) {
    fmt::print(call.terminal->out, "{}", target_help(options.target.kind));
    status = kExitOk;
    return std::nullopt;
  }
  return options;
}

}  // namespace iotape
