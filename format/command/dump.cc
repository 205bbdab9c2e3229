// iotape dump: the events of a trace as text, JSON lines or CSV.
#include "format/command/trace_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>

#include "format/command/selection_options.h"
#include "format/command/trace_health.h"
#include "format/event_printer.h"
#include "format/quoting.h"
#include "format/selection.h"
#include "format/trace_files.h"

namespace iotape {
namespace {

struct DumpOptions {
  std::string trace;
  std::string format = "text";
  std::string layer = "all";
  std::string clock = "wall";
  bool strict = false;
  SelectionOptions selection;
};

constexpr std::size_t kFlushBytes = 1U << 16U;

bool write_out(std::FILE* out, std::string& buffer) {
  const bool written = std::fwrite(buffer.data(), 1, buffer.size(), out) == buffer.size();
  buffer.clear();
  return written;
}

std::unique_ptr<EventPrinter> printer_for(const DumpOptions& options) {
  if (options.format == "json") return make_json_printer();
  if (options.format == "csv") return make_csv_printer();
  return make_text_printer({options.clock == "wall" ? TextClock::kWall : TextClock::kTrace});
}

bool in_layer(const DumpOptions& options, const EventBody& body) {
  if (options.layer == "syscalls") return std::holds_alternative<Syscall>(body);
  if (options.layer == "block") return std::holds_alternative<BlockRequest>(body);
  return true;
}

// Without a selection everything is printed; with one, what was asked for but not what merely explains it.
bool wanted(const DumpOptions& options, Selector& selector, const EventBody& body) {
  const Selected judged = selector.judge(body);
  if (!in_layer(options, body)) return false;
  return judged == Selected::kYes || (judged == Selected::kContext && options.selection.empty());
}

Result<void> print_all(TraceReader& trace, const DumpOptions& options, Selector& selector, std::FILE* out) {
  const auto printer = printer_for(options);
  std::string buffer;
  const auto flush = [&]() -> Result<void> {
    if (!write_out(out, buffer)) return system_failure("writing the output", errno);
    return {};
  };
  printer->begin(buffer, trace.header());
  while (true) {
    IOTAPE_ASSIGN(Event * event, trace.next());
    if (event == nullptr) break;
    printer->observe(*event);
    if (wanted(options, selector, event->body)) printer->print(buffer, *event);
    if (buffer.size() >= kFlushBytes) IOTAPE_TRY(flush());
  }
  printer->end(buffer, trace.report());
  IOTAPE_TRY(flush());
  if (std::fflush(out) != 0) return system_failure("writing the output", errno);
  return {};
}

void add_options(CLI::App& app, DumpOptions& options) {
  app.add_option("TRACE", options.trace, "The trace; - is standard input")->required();
  app.add_option("--format", options.format, "text (as strace and blkparse), json (one object per line) or csv")
      ->check(CLI::IsMember({"text", "json", "csv"}));
  app.add_option("--layer", options.layer, "Only calls (syscalls) or only requests (block); default all events")
      ->check(CLI::IsMember({"all", "syscalls", "block"}));
  app.add_option("--clock", options.clock, "Times of text output: wall (since 1970) or trace (the trace's own clock)")
      ->check(CLI::IsMember({"wall", "trace"}));
  app.add_flag("--strict", options.strict, "Exit 4 when the trace is damaged, interrupted or lossy");
  add_selection_options(app, options.selection);
}

}  // namespace

int run_dump(CommandCall& call) {
  Terminal& terminal = *call.terminal;
  DumpOptions options;
  CLI::App app("Print the events of a trace", "iotape dump");
  add_common_options(app, terminal);
  add_options(app, options);
  if (const int status = parse_arguments(app, call); status >= 0) return status;
  auto trace = open_trace(options.trace);
  if (!trace) return report_error(terminal, "dump", trace.error());
  Selector selector(options.selection, (*trace)->header().anchor_time);
  if (const auto printed = print_all(**trace, options, selector, terminal.out); !printed)
    return report_error(terminal, "dump", printed.error());
  report_unmatched(terminal, "dump", options.trace, selector.unmatched());
  const int status = report_health(terminal, "dump", **trace, options.strict);
  if (!terminal.quiet && terminal.err_is_terminal)
    fmt::print(terminal.err, "next: iotape info {0}, or: iotape seeks {0}\n", shell_word(options.trace));
  return status;
}

}  // namespace iotape
