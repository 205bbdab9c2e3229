// iotape compare [LABEL:] T... [LABEL: T...]...
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iterator>

#include "analysis/command/analysis_commands.h"
#include "analysis/command/threshold_option.h"
#include "analysis/comparison.h"
#include "format/base/units.h"
#include "format/command/selection_options.h"

namespace iotape {
namespace {

struct CompareArguments {
  std::vector<std::string> words;
  std::vector<std::string> limits;
  SelectionOptions selection;
  std::uint64_t threshold = kDefaultThresholdSectors;
  bool json = false;
};

void declare(CLI::App& app, CompareArguments& arguments) {
  app.add_option("T", arguments.words, "Traces, or documents of --json; a word ending in : begins a named group")
      ->required();
  app.add_option("--fail-if", arguments.limits, "Exit 5 when e.g. 'seeks>+2%' or 'errors>0' holds; repeatable")
      ->allow_extra_args(false);
  add_threshold_option(app, arguments.threshold);
  app.add_flag("--json", arguments.json, "One JSON document, schema iotape.compare/1");
  add_selection_options(app, arguments.selection);
}

bool begins_group(const std::string& word) { return word.size() > 1 && word.ends_with(':'); }

// Without labels every trace is a group of its own, named by its file.
Result<std::vector<RunGroup>> read_groups(const CompareArguments& arguments) {
  std::vector<std::string> traces;
  std::copy_if(arguments.words.begin(), arguments.words.end(), std::back_inserter(traces),
               [](const std::string& word) { return !begins_group(word); });
  IOTAPE_ASSIGN(const auto repeated, find_repeated_calls(traces));
  std::vector<RunGroup> groups;
  bool named = false;
  for (const std::string& word : arguments.words) {
    if (begins_group(word)) {
      groups.push_back({word.substr(0, word.size() - 1), {}});
      named = true;
      continue;
    }
    const auto found = repeated.find(word);
    IOTAPE_ASSIGN(auto runs, read_figures(word, arguments.selection, arguments.threshold,
                                          found == repeated.end() ? nullptr : &found->second));
    if (!named) groups.push_back({std::filesystem::path(word).stem().string(), {}});
    for (RunFigures& run : runs) groups.back().runs.push_back(std::move(run));
  }
  for (const RunGroup& group : groups)
    if (group.runs.empty())
      return failure(ErrorCode::kUsage, fmt::format("group '{}:' has no traces after it", group.label));
  return groups;
}

Result<Comparison> compare(const CompareArguments& arguments) {
  std::vector<FailLimit> limits;
  for (const std::string& text : arguments.limits) {
    IOTAPE_ASSIGN(FailLimit limit, parse_fail_limit(text));
    limits.push_back(std::move(limit));
  }
  Comparison comparison;
  IOTAPE_ASSIGN(comparison.groups, read_groups(arguments));
  IOTAPE_TRY(check_limits(comparison, limits));
  return comparison;
}

}  // namespace

int run_compare(CommandCall& call) {
  Terminal& terminal = *call.terminal;
  CLI::App app("What differs between runs, and whether it may be chance", "iotape compare");
  CompareArguments arguments;
  add_common_options(app, terminal);
  declare(app, arguments);
  if (const int status = parse_arguments(app, call); status >= 0) return status;
  const auto comparison = compare(arguments);
  if (!comparison) return report_error(terminal, "compare", comparison.error());
  fmt::print(terminal.out, "{}",
             arguments.json ? comparison_json(*comparison) : comparison_text(*comparison, terminal));
  if (!terminal.quiet && comparison->broken_limits.empty())
    fmt::print(terminal.err, "next: iotape plot ... -o seeks.svg --what histogram overlays their seek histograms\n");
  return comparison->broken_limits.empty() ? kExitOk : kExitLimitBroken;
}

}  // namespace iotape
