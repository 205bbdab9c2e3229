#include "recorder/command/record_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "format/base/units.h"

namespace iotape {
namespace {

// Options as typed; checked and converted in one place after parsing.
struct Typed {
  std::string window;
  std::string layers = "syscalls,block";
  std::string ring = "64M";
  std::vector<std::string> snapshots;
  std::string arguments = "name";
  std::string stacks;
  std::string max_size;
  std::string min_free;
};

void declare(CLI::App& app, RecordOptions& options, Typed& typed) {
  const auto one = [](CLI::Option* option) { return option->allow_extra_args(false); };
  app.add_option("-o,--output", options.output, "Trace file; - is standard output (default COMMAND.iotape)");
  app.add_flag("--force", options.force, "Overwrite an existing file");
  one(app.add_option("-p,--pid", options.processes, "Record this running process and its descendants; repeatable"));
  app.add_flag("-a,--all", options.all, "Record every process of the machine");
  app.add_option("--cgroup", options.cgroup, "Record every process in this control group (version 2) and below it");
  app.add_option("-u,--user", options.user, "Run the command as this user (under sudo: default the caller)");
  app.add_option("-w,--window", typed.window, "Stop recording after this time, e.g. 10s; the workload goes on");
  one(app.add_option("-d,--device", options.devices, "Requests of this disk only, e.g. sda; repeatable"));
  app.add_option("--layers", typed.layers, "syscalls, block or both (default syscalls,block)");
  app.add_option("--ring-size", typed.ring, "Buffer between kernel and recorder (default 64M)");
  one(app.add_option("--snapshot", typed.snapshots,
                     "touched: what files were like when first met (default); tree=DIR: walk it first; none\n"
                     "(but descriptors open before keep their files' sizes: a replay has to open them)"));
  app.add_flag("--cold", options.cold, "Drop the caches before the command starts");
  app.add_option("--args", typed.arguments, "Of programs keep none, the file's name, or all arguments");
  app.add_option("--stacks", typed.stacks, "Keep call stacks of calls that failed, or were slow=1ms");
  app.add_option("--max-size", typed.max_size, "Stop recording when the trace is this large");
  app.add_option("--min-free", typed.min_free, "Stop recording when the trace's disk has less free than this");
  app.add_flag("--strict", options.strict, "Fail with 4 when anything was lost");
}

Result<void> take_layers(const std::string& text, RecordOptions& options) {
  options.calls = text == "syscalls" || text == "syscalls,block" || text == "block,syscalls";
  options.block = text == "block" || text == "syscalls,block" || text == "block,syscalls";
  if (!options.calls && !options.block)
    return failure(ErrorCode::kUsage, fmt::format("--layers {}: only syscalls and block exist", text));
  return {};
}

Result<void> take_snapshots(const std::vector<std::string>& texts, RecordOptions& options) {
  constexpr std::string_view kTree = "tree=";
  for (const std::string& text : texts) {
    if (text == "none")
      options.states = false;
    else if (text.starts_with(kTree))
      options.trees.push_back(text.substr(kTree.size()));
    else if (text != "touched")
      return failure(ErrorCode::kUsage, fmt::format("--snapshot {}: touched, tree=DIR or none", text));
  }
  return {};
}

Result<void> take_stacks(const std::string& text, RecordOptions& options) {
  constexpr std::string_view kSlow = "slow=";
  if (text.empty()) return {};
  if (text == "failed")
    options.stacks_failed = true;
  else if (text.starts_with(kSlow)) {
    IOTAPE_ASSIGN(options.stacks_slower_than, parse_duration(text.substr(kSlow.size())));
  } else
    return failure(ErrorCode::kUsage, fmt::format("--stacks {}: failed or slow=TIME", text));
  return {};
}

Result<void> take_arguments(const std::string& text, RecordOptions& options) {
  if (text == "none")
    options.arguments = ArgumentPolicy::kNone;
  else if (text == "all")
    options.arguments = ArgumentPolicy::kAll;
  else if (text != "name")
    return failure(ErrorCode::kUsage, fmt::format("--args {}: none, name or all", text));
  return {};
}

Result<void> convert(const Typed& typed, RecordOptions& options) {
  IOTAPE_TRY(take_layers(typed.layers, options));
  IOTAPE_TRY(take_snapshots(typed.snapshots, options));
  IOTAPE_TRY(take_stacks(typed.stacks, options));
  IOTAPE_TRY(take_arguments(typed.arguments, options));
  IOTAPE_ASSIGN(options.ring_bytes, parse_size(typed.ring));
  if (!typed.window.empty()) {
    IOTAPE_ASSIGN(options.window, parse_duration(typed.window));
  }
  if (!typed.max_size.empty()) {
    IOTAPE_ASSIGN(options.max_size, parse_size(typed.max_size));
  }
  if (!typed.min_free.empty()) {
    IOTAPE_ASSIGN(options.min_free, parse_size(typed.min_free));
  }
  constexpr std::uint64_t kLargestRing = 2ULL << 30U;
  if (options.ring_bytes > kLargestRing) return failure(ErrorCode::kUsage, "--ring-size: at most 2G");
  const bool grouped = !options.cgroup.empty();
  if (options.command.empty() && options.processes.empty() && !options.all && !grouped)
    return failure(ErrorCode::kUsage, "nothing to record: give a COMMAND, -p PID, --cgroup PATH or -a");
  if (!options.command.empty() && !options.processes.empty())
    return failure(ErrorCode::kUsage, "give a COMMAND or -p PID, not both");
  if (grouped && (!options.command.empty() || !options.processes.empty() || options.all))
    return failure(ErrorCode::kUsage, "--cgroup is given alone: without a COMMAND, -p and -a");
  return {};
}

}  // namespace

int parse_record_options(CommandCall& call, RecordOptions& options) {
  CLI::App app(
      "Record what a workload asks of its filesystem and what that asks of the disk.\n"
      "usage: iotape record [OPTIONS] [--] COMMAND...\n       iotape record [OPTIONS] -p PID | --cgroup PATH | -a",
      "iotape record");
  app.footer(
      "Exit status: the command's own, 128+n for a signal; 125 when recording failed, 126 and 127 as env(1).\n"
      "Needs root or CAP_BPF and CAP_PERFMON: iotape doctor tells. Next: iotape info TRACE");
  Typed typed;
  add_common_options(app, *call.terminal);
  declare(app, options, typed);
  app.prefix_command();
  if (const int status = parse_arguments(app, call); status >= 0)
    return status == kExitUsage ? kExitRecorderFailed : status;
  options.command = app.remaining();
  const bool marked = !options.command.empty() && options.command.front() == "--";
  if (marked) options.command.erase(options.command.begin());
  auto converted = convert(typed, options);
  if (!marked && !options.command.empty() && options.command.front().starts_with("-"))
    converted = failure(ErrorCode::kUsage,
                        fmt::format("unknown option {}; iotape record --help lists them", options.command.front()));
  if (converted) return -1;
  report_error(*call.terminal, "record", converted.error());
  return kExitRecorderFailed;
}

}  // namespace iotape
