// iotape recover: everything readable of a damaged or cut trace in a fresh whole one.
#include "format/command/trace_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "format/base/units.h"
#include "format/command/trace_health.h"
#include "format/quoting.h"
#include "format/trace_copy.h"
#include "format/trace_files.h"

namespace iotape {
namespace {

struct RecoverOptions {
  std::string input;
  std::string output;
  bool force = false;
};

std::string default_output(const std::string& input) {
  constexpr std::string_view kEnding = ".iotape";
  std::string stem = input == "-" ? "recovered" : input;
  if (stem.ends_with(kEnding)) stem.resize(stem.size() - kEnding.size());
  return stem + (input == "-" ? "" : ".recovered") + std::string(kEnding);
}

Result<CopyCounts> recover(TraceReader& from, const RecoverOptions& options) {
  IOTAPE_ASSIGN(TraceFile to, TraceFile::create(options.output, options.force, from.header(),
                                                fmt::format("recover {}", file_name_of(options.input))));
  IOTAPE_ASSIGN(const CopyCounts counts, copy_events(from, to.writer()));
  IOTAPE_ASSIGN(const TraceTotals totals, totals_of_copy(from.report(), counts, to.writer()));
  IOTAPE_TRY(to.finish(totals));
  return counts;
}

}  // namespace

int run_recover(CommandCall& call) {
  Terminal& terminal = *call.terminal;
  RecoverOptions options;
  CLI::App app("Write every readable event of a damaged or interrupted trace to a fresh, whole one", "iotape recover");
  add_common_options(app, terminal);
  app.add_option("TRACE", options.input, "The damaged trace; - is standard input")->required();
  app.add_option("-o,--output", options.output, "The trace to write; default TRACE.recovered.iotape");
  app.add_flag("--force", options.force, "Overwrite the output");
  if (const int status = parse_arguments(app, call); status >= 0) return status;
  if (options.output.empty()) options.output = default_output(options.input);
  if (is_same_file(options.input, options.output))
    return report_error(terminal, "recover", {ErrorCode::kUsage, "the output is the input; choose another with -o"});
  auto from = open_trace(options.input);
  if (!from) return report_error(terminal, "recover", from.error());
  const auto counts = recover(**from, options);
  if (!counts) return report_error(terminal, "recover", counts.error());
  report_health(terminal, "recover", **from, false);
  if (terminal.quiet) return kExitOk;
  fmt::print(terminal.err, "{}: {} calls, {} requests and {} other events saved\nnext: iotape info {}\n",
             shell_word(options.output), format_count(counts->syscalls), format_count(counts->requests),
             format_count(counts->others), shell_word(options.output));
  return kExitOk;
}

}  // namespace iotape
