// iotape cut: a part of a trace as a trace, with what the part needs to be understood and replayed.
#include "format/command/trace_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "format/base/units.h"
#include "format/command/selection_options.h"
#include "format/command/trace_health.h"
#include "format/quoting.h"
#include "format/selection.h"
#include "format/trace_copy.h"
#include "format/trace_files.h"

namespace iotape {
namespace {

struct CutOptions {
  std::string input;
  std::string output;
  bool force = false;
  bool strict = false;
  SelectionOptions selection;
};

// Losses outside the cut are not the cut's; those inside are told by their events.
TraceTotals totals_of_cut(const ReadReport& report, const CopyCounts& counts, const LossCounts& losses) {
  TraceTotals totals;
  totals.losses = losses;
  totals.seen = counts.events() + totals.lost();
  totals.workload_status = report.totals ? report.totals->workload_status : -1;
  if (report.totals) totals.end = report.totals->end;
  return totals;
}

std::string history_of(const CommandCall& call, const CutOptions& options) {
  std::string words = "cut";
  for (const std::string& word : call.arguments)
    words += ' ' + (word == options.input || word == options.output ? file_name_of(word) : word);
  return words;
}

Result<CopyCounts> cut(TraceReader& from, const CutOptions& options, Selector& selector, std::string history) {
  IOTAPE_ASSIGN(TraceFile to, TraceFile::create(options.output, options.force, from.header(), std::move(history)));
  LossCounts losses{};
  const auto keep = [&](const Event& event) {
    const bool kept = selector.judge(event.body) != Selected::kNo;
    if (const auto* loss = std::get_if<Loss>(&event.body); kept && loss != nullptr) {
      const auto cause = static_cast<std::size_t>(loss->cause);
      if (cause < losses.size()) losses[cause] += loss->count;
    }
    return kept;
  };
  IOTAPE_ASSIGN(const CopyCounts counts, copy_events(from, to.writer(), keep));
  IOTAPE_TRY(to.finish(totals_of_cut(from.report(), counts, losses)));
  return counts;
}

}  // namespace

int run_cut(CommandCall& call) {
  Terminal& terminal = *call.terminal;
  CutOptions options;
  CLI::App app("Write a part of a trace, with the processes, files and mounts it needs, to a trace of its own",
               "iotape cut");
  add_common_options(app, terminal);
  app.add_option("TRACE", options.input, "The trace; - is standard input")->required();
  app.add_option("-o,--output", options.output, "The trace to write")->required();
  app.add_flag("--force", options.force, "Overwrite the output");
  app.add_flag("--strict", options.strict, "Exit 4 when the trace is damaged, interrupted or lossy");
  add_selection_options(app, options.selection);
  if (const int status = parse_arguments(app, call); status >= 0) return status;
  if (is_same_file(options.input, options.output))
    return report_error(terminal, "cut", {ErrorCode::kUsage, "the output is the input; choose another with -o"});
  auto from = open_trace(options.input);
  if (!from) return report_error(terminal, "cut", from.error());
  Selector selector(options.selection, (*from)->header().anchor_time);
  const auto counts = cut(**from, options, selector, history_of(call, options));
  if (!counts) return report_error(terminal, "cut", counts.error());
  report_unmatched(terminal, "cut", options.input, selector.unmatched());
  const int status = report_health(terminal, "cut", **from, options.strict);
  if (!terminal.quiet)
    fmt::print(terminal.err, "{}: {} calls, {} requests kept\nnext: iotape replay {} TARGET\n",
               shell_word(options.output), format_count(counts->syscalls), format_count(counts->requests),
               shell_word(options.output));
  return status;
}

}  // namespace iotape
