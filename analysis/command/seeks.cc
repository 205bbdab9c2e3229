// iotape seeks T...
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>

#include "analysis/command/analysis_commands.h"
#include "analysis/command/threshold_option.h"
#include "analysis/disk/profile_parser.h"
#include "analysis/seek_run.h"
#include "analysis/seek_text.h"
#include "format/base/units.h"
#include "format/command/selection_options.h"
#include "format/quoting.h"

namespace iotape {
namespace {

struct SeeksArguments {
  std::vector<std::string> traces;
  SelectionOptions selection;
  SeekOptions options;
  std::string disk;
  bool json = false;
};

std::string disk_names() {
  std::string names;
  for (const BuiltInProfile& profile : built_in_profiles())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", profile.name);
  return names;
}

void declare(CLI::App& app, SeeksArguments& arguments) {
  static const std::map<std::string, StreamOrder> kOrders{
      {"issue", StreamOrder::kIssue}, {"queue", StreamOrder::kQueue}, {"complete", StreamOrder::kComplete}};
  static const std::map<std::string, GroupBy> kGroups{{"op", GroupBy::kOperation},
                                                      {"process", GroupBy::kProcess},
                                                      {"file", GroupBy::kFile},
                                                      {"cause", GroupBy::kCause},
                                                      {"stack", GroupBy::kStack}};
  app.add_option("T", arguments.traces, "Traces; - is standard input")->required();
  app.add_option_function<std::string>(
         "--event", [&](const std::string& name) { arguments.options.order = kOrders.at(name); },
         "Order of the requests: issue (default), queue or complete")
      ->check(CLI::IsMember({"issue", "queue", "complete"}));
  add_threshold_option(app, arguments.options.threshold);
  app.add_option_function<std::string>(
         "--by", [&](const std::string& name) { arguments.options.by = kGroups.at(name); },
         "Charge seeks to: op (default), process, file, cause or stack")
      ->check(CLI::IsMember({"op", "process", "file", "cause", "stack"}));
  app.add_option("--disk", arguments.disk,
                 "Estimate seek, rotation and transfer on: " + disk_names() + " or a profile FILE");
  app.add_flag("--json", arguments.json, "One JSON document, schema iotape.seeks/1");
  add_selection_options(app, arguments.selection);
}

}  // namespace

int run_seeks(CommandCall& call) {
  Terminal& terminal = *call.terminal;
  CLI::App app("Seek distances of the block requests in traces", "iotape seeks");
  SeeksArguments arguments;
  add_common_options(app, terminal);
  declare(app, arguments);
  if (const int status = parse_arguments(app, call); status >= 0) return status;
  if (!arguments.disk.empty()) {
    auto profile = load_disk_profile(arguments.disk);
    if (!profile) return report_error(terminal, "seeks", profile.error());
    arguments.options.disk = std::make_shared<const DiskModel>(std::move(*profile));
  }
  std::vector<SeekReport> reports;
  for (const std::string& trace : arguments.traces) {
    auto report = analyse_seeks(trace, arguments.selection, arguments.options);
    if (!report) return report_error(terminal, "seeks", report.error());
    if (!arguments.json)
      fmt::print(terminal.out, "{}{}", &trace == &arguments.traces.front() ? "" : "\n", seek_text(*report, terminal));
    if (arguments.json) reports.push_back(std::move(*report));
  }
  if (arguments.json) fmt::print(terminal.out, "{}", seek_json(reports));
  if (!terminal.quiet)
    fmt::print(terminal.err, "next: iotape plot {} -o heads.svg draws where the head went\n",
               shell_word(arguments.traces.front()));
  return kExitOk;
}

}  // namespace iotape
