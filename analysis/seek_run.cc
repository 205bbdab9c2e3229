#include "analysis/seek_run.h"

#include <fmt/format.h>

#include "analysis/seek_text.h"
#include "format/base/units.h"

namespace iotape {

Result<SeekReport> analyse_seeks(const std::string& path, const SelectionOptions& selection,
                                 const SeekOptions& options) {
  SeekAnalysis analysis(options);
  const bool names_from_calls = options.by == GroupBy::kFile;
  if (options.by == GroupBy::kStack) {
    if (path == "-")
      return failure(ErrorCode::kUsage, "--by stack reads a trace twice, so it needs a file and not a pipe");
    IOTAPE_TRY(walk_trace(path, {}, {true, false}, [&](const Event& event, Selected) { analysis.learn(event.body); }));
  }
  IOTAPE_ASSIGN(const WalkEnd end,
                walk_trace(path, selection, {names_from_calls, true}, [&](const Event& event, Selected selected) {
                  analysis.add(event.body, selected == Selected::kYes);
                }));
  analysis.condition().finish(end.header, end.report);
  analysis.condition().unmatched = end.unmatched;
  return analysis.finish(path == "-" ? "standard input" : path);
}

int run_stat(const std::string& path, const Terminal& terminal) {
  SeekAnalysis seeks({});
  CallStatistics calls;
  const auto end = walk_trace(path, {}, {true, true}, [&](const Event& event, Selected) {
    seeks.add(event.body);
    if (const auto* call = std::get_if<Syscall>(&event.body)) calls.add(*call);
  });
  if (!end) return report_error(terminal, "stat", end.error());
  seeks.condition().finish(end->header, end->report);
  SeekReport report = seeks.finish("this run");
  fmt::print(terminal.out, "{} system calls in {}\n{}\n{}", format_count(calls.total().count),
             format_duration(Nanoseconds(calls.wall_time())), call_text(calls, terminal), seek_text(report, terminal));
  return kExitOk;
}

}  // namespace iotape
