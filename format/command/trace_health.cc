#include "format/command/trace_health.h"

#include <fmt/format.h>

#include <algorithm>

#include "format/base/units.h"
#include "format/quoting.h"

namespace iotape {

std::uint64_t lost_events(const ReadReport& report) {
  std::uint64_t lost = report.totals ? report.totals->lost() : 0;
  std::uint64_t by_cause = 0;
  for (std::size_t cause = 0; cause < report.losses.size(); ++cause)
    if (counts_as_lost(static_cast<LossCause>(cause))) by_cause += report.losses[cause];
  return std::max({lost, report.lost, by_cause});
}

void report_unmatched(const Terminal& terminal, std::string_view command, std::string_view trace,
                      const std::vector<std::string>& unmatched) {
  for (const std::string& word : unmatched)
    fmt::print(terminal.err, "iotape {}: {}: nothing matches {}\n", command, shell_word(trace), word);
}

int report_health(const Terminal& terminal, std::string_view command, const TraceReader& trace, bool strict) {
  const ReadReport& report = trace.report();
  const auto say = [&](const std::string& what) {
    fmt::print(terminal.err, "iotape {}: {}: {}\n", command, shell_word(trace.name()), what);
  };
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(report.damage.size(), kShown); ++i)
    say(fmt::format("damaged at offset {}, {} bytes skipped: {}", report.damage[i].offset, report.damage[i].bytes,
                    report.damage[i].what));
  if (report.damage_count > kShown)
    say(fmt::format("{} more damaged places; iotape info lists them", report.damage_count - kShown));
  if (report.interrupted) say("interrupted: the file has no end; all complete blocks were read");
  const std::uint64_t lost = lost_events(report);
  if (lost > 0) say(fmt::format("{} events were lost; iotape info tells the causes", format_count(lost)));
  const bool sound = report.whole() && lost == 0;
  return strict && !sound ? kExitDamaged : kExitOk;
}

}  // namespace iotape
