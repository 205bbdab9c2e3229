// iotape convert: traces from and to other formats.
#include "format/command/trace_commands.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <fstream>
#include <optional>

#include "format/base/units.h"
#include "format/blktrace_importer.h"
#include "format/command/selection_options.h"
#include "format/command/trace_health.h"
#include "format/event_printer.h"
#include "format/input_file.h"
#include "format/json_fields.h"
#include "format/quoting.h"
#include "format/selection.h"
#include "format/trace_copy.h"
#include "format/trace_files.h"

namespace iotape {
namespace {

struct ConvertOptions {
  std::string input;
  std::string output;
  std::string from;
  std::string to;
  bool force = false;
  bool strict = false;
  SelectionOptions selection;
};

// Where converted events go: a trace, or text by way of a printer.
class Destination : public EventSink {
 public:
  virtual Result<void> begin(TraceHeader header) = 0;
  virtual Result<void> take(const Event& event) = 0;
  virtual Result<void> finish(const ReadReport& report) = 0;
  [[nodiscard]] const CopyCounts& counts() const { return counts_; }

  // For importers, which know neither numbers nor recorders.
  Result<void> append(EventBody body) override {
    Event event;
    event.id = EventId(counts_.events() + counts_.others);
    event.body = std::move(body);
    return take(event);
  }

 protected:
  CopyCounts counts_;
};

class TraceDestination final : public Destination {
 public:
  explicit TraceDestination(const ConvertOptions& options) : options_(&options) {}

  Result<void> begin(TraceHeader header) override {
    IOTAPE_ASSIGN(TraceFile file, TraceFile::create(options_->output, options_->force, std::move(header),
                                                    fmt::format("convert {}", file_name_of(options_->input))));
    file_.emplace(std::move(file));
    return {};
  }
  Result<void> take(const Event& event) override {
    count_event(counts_, event.body);
    if (const auto* loss = std::get_if<Loss>(&event.body))
      if (const auto cause = static_cast<std::size_t>(loss->cause); cause < losses_.size())
        losses_[cause] += loss->count;
    return file_->writer().append_from(event.recorder, event.body);
  }
  Result<void> finish(const ReadReport& report) override {
    ReadReport known = report;
    if (!known.totals) known.losses = losses_;
    IOTAPE_ASSIGN(const TraceTotals totals, totals_of_copy(known, counts_, file_->writer()));
    return file_->finish(totals);
  }

 private:
  const ConvertOptions* options_;
  std::optional<TraceFile> file_;
  LossCounts losses_{};
};

class PrintedDestination final : public Destination {
 public:
  PrintedDestination(const ConvertOptions& options, std::unique_ptr<EventPrinter> printer)
      : options_(&options), printer_(std::move(printer)) {}

  Result<void> begin(TraceHeader header) override {
    IOTAPE_ASSIGN(OutputFile file, OutputFile::create(options_->output, options_->force));
    file_.emplace(std::move(file));
    printer_->begin(buffer_, header);
    return {};
  }
  Result<void> take(const Event& event) override {
    count_event(counts_, event.body);
    printer_->observe(event);
    printer_->print(buffer_, event);
    constexpr std::size_t kFlushBytes = 1U << 16U;
    return buffer_.size() >= kFlushBytes ? flush() : Result<void>{};
  }
  Result<void> finish(const ReadReport& report) override {
    printer_->end(buffer_, report);
    IOTAPE_TRY(flush());
    return file_->commit();
  }

 private:
  Result<void> flush() {
    IOTAPE_TRY(file_->write(buffer_));
    buffer_.clear();
    return {};
  }

  const ConvertOptions* options_;
  std::unique_ptr<EventPrinter> printer_;
  std::optional<OutputFile> file_;
  std::string buffer_;
};

// ---- inputs ----

Result<int> from_trace(const Terminal& terminal, const ConvertOptions& options, Destination& to) {
  IOTAPE_ASSIGN(auto trace, open_trace(options.input));
  IOTAPE_TRY(to.begin(trace->header()));
  Selector selector(options.selection, trace->header().anchor_time);
  while (true) {
    IOTAPE_ASSIGN(Event * event, trace->next());
    if (event == nullptr) break;
    if (selector.judge(event->body) != Selected::kNo) IOTAPE_TRY(to.take(*event));
  }
  IOTAPE_TRY(to.finish(options.selection.empty() ? trace->report() : ReadReport{}));
  report_unmatched(terminal, "convert", options.input, selector.unmatched());
  return report_health(terminal, "convert", *trace, options.strict);
}

// One line at a time, each bounded, so that a hostile file cannot take the memory.
class JsonLines {
 public:
  explicit JsonLines(FileDescriptor file) : file_(std::move(file)) {}

  // False at the end.
  Result<bool> next() {
    constexpr std::size_t kLongest = 64U << 20U;
    line_.clear();
    ++number_;
    while (true) {
      const std::size_t end = buffer_.find('\n', position_);
      line_.append(buffer_, position_, end == std::string::npos ? end : end - position_);
      if (line_.size() > kLongest) return failure(ErrorCode::kLimit, fmt::format("line {} is too long", number_));
      if (end != std::string::npos) return position_ = end + 1, true;
      IOTAPE_ASSIGN(const bool more, fill());
      if (!more) return !line_.empty();
    }
  }
  [[nodiscard]] const std::string& line() const { return line_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }

 private:
  Result<bool> fill() {
    constexpr std::size_t kChunk = 1U << 18U;
    buffer_.resize(kChunk);
    position_ = 0;
    ssize_t got = -1;
    do got = ::read(file_.get(), buffer_.data(), buffer_.size());
    while (got < 0 && errno == EINTR);
    if (got < 0) return system_failure("reading JSON", errno);
    buffer_.resize(static_cast<std::size_t>(got));
    return got > 0;
  }

  FileDescriptor file_;
  std::string buffer_;
  std::size_t position_ = 0;
  std::string line_;
  std::uint64_t number_ = 0;
};

struct JsonTaker {
  Destination& to;
  ReadReport& report;
  bool& begun;

  Result<void> operator()(std::monostate) const { return {}; }
  Result<void> operator()(TraceHeader& header) const {
    if (begun) return failure(ErrorCode::kCorrupt, "a second header; convert one trace at a time");
    begun = true;
    return to.begin(std::move(header));
  }
  Result<void> operator()(Event& event) const {
    if (!begun) return failure(ErrorCode::kCorrupt, "an event before the header line");
    return to.take(event);
  }
  Result<void> operator()(TraceTotals& totals) const { return report.totals = totals, Result<void>{}; }
};

Result<int> from_json(const ConvertOptions& options, Destination& to) {
  IOTAPE_ASSIGN(FileDescriptor file, open_input(options.input));
  JsonLines lines(std::move(file));
  ReadReport report;
  bool begun = false;
  while (true) {
    IOTAPE_ASSIGN(const bool more, lines.next());
    if (!more) break;
    if (lines.line().empty()) continue;
    const std::string place = fmt::format("{} line {}", options.input, lines.number());
    auto parsed = parse_json_line(lines.line());
    if (!parsed) return tl::make_unexpected(std::move(parsed).error().within(place));
    if (auto taken = std::visit(JsonTaker{to, report, begun}, parsed->content); !taken)
      return tl::make_unexpected(std::move(taken).error().within(place));
  }
  if (!begun) return failure(ErrorCode::kCorrupt, options.input + " holds no header line; is it iotape dump's JSON?");
  report.interrupted = !report.totals;
  IOTAPE_TRY(to.finish(report));
  return report.interrupted && options.strict ? kExitDamaged : kExitOk;
}

Result<int> from_blktrace(const Terminal& terminal, const ConvertOptions& options, Destination& to) {
  IOTAPE_ASSIGN(TraceHeader header, blktrace_header(options.input));
  IOTAPE_TRY(to.begin(std::move(header)));
  IOTAPE_ASSIGN(const BlktraceSummary summary, import_blktrace(options.input, to));
  IOTAPE_TRY(to.finish({}));
  if (summary.lost > 0)
    fmt::print(terminal.err, "iotape convert: {}: {} records are missing by their sequence numbers\n", options.input,
               format_count(summary.lost));
  return summary.lost > 0 && options.strict ? kExitDamaged : kExitOk;
}

std::string format_of_input(const ConvertOptions& options) {
  if (!options.from.empty()) return options.from;
  if (looks_like_blktrace(options.input)) return "blktrace";
  std::ifstream file(options.input, std::ios::binary);
  if (options.input != "-" && file.peek() == '{') return "json";
  return "iotape";
}

std::string format_of_output(const ConvertOptions& options) {
  if (!options.to.empty()) return options.to;
  for (const auto& [ending, format] :
       {std::pair{".json", "json"}, {".jsonl", "json"}, {".csv", "csv"}, {".txt", "text"}})
    if (options.output.ends_with(ending)) return format;
  return "iotape";
}

std::unique_ptr<Destination> destination_of(const ConvertOptions& options) {
  const std::string format = format_of_output(options);
  if (format == "json") return std::make_unique<PrintedDestination>(options, make_json_printer());
  if (format == "csv") return std::make_unique<PrintedDestination>(options, make_csv_printer());
  if (format == "text") return std::make_unique<PrintedDestination>(options, make_text_printer({}));
  return std::make_unique<TraceDestination>(options);
}

Result<int> convert(const Terminal& terminal, const ConvertOptions& options, Destination& to) {
  const std::string from = format_of_input(options);
  if (from != "iotape" && !options.selection.empty())
    return failure(ErrorCode::kUsage, "selections apply to traces; convert first, then use iotape cut");
  if (from == "json") return from_json(options, to);
  if (from == "blktrace") return from_blktrace(terminal, options, to);
  return from_trace(terminal, options, to);
}

void add_options(CLI::App& app, ConvertOptions& options) {
  app.add_option("IN", options.input, "What to convert; - is standard input")->required();
  app.add_option("OUT", options.output, "Where to; - is standard output")->required();
  app.add_option("-f", options.from, "Format of IN; found out when not given")
      ->check(CLI::IsMember({"iotape", "json", "blktrace"}));
  app.add_option("-t", options.to, "Format of OUT; by its ending (.json .csv .txt) when not given")
      ->check(CLI::IsMember({"iotape", "json", "csv", "text"}));
  app.add_flag("--force", options.force, "Overwrite OUT");
  app.add_flag("--strict", options.strict, "Exit 4 when the input is damaged, interrupted or lossy");
  add_selection_options(app, options.selection);
}

}  // namespace

int run_convert(CommandCall& call) {
  Terminal& terminal = *call.terminal;
  ConvertOptions options;
  CLI::App app("Convert a trace: from blktrace, to and from JSON lines, to CSV and text", "iotape convert");
  add_common_options(app, terminal);
  add_options(app, options);
  if (const int status = parse_arguments(app, call); status >= 0) return status;
  if (is_same_file(options.input, options.output))
    return report_error(terminal, "convert", {ErrorCode::kUsage, "OUT is IN; choose another file"});
  const auto to = destination_of(options);
  const auto status = convert(terminal, options, *to);
  if (!status) return report_error(terminal, "convert", status.error());
  if (!terminal.quiet && options.output != "-")
    fmt::print(terminal.err, "{}: {} calls, {} requests\n", shell_word(options.output),
               format_count(to->counts().syscalls), format_count(to->counts().requests));
  if (!terminal.quiet && options.output != "-" && format_of_output(options) == "iotape")
    fmt::print(terminal.err, "next: iotape seeks {}\n", shell_word(options.output));
  return *status;
}

}  // namespace iotape
