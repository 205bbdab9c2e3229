// iotape merge: several traces of one machine as one, in the order of time.
#include "format/command/trace_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <unordered_map>

#include "format/base/units.h"
#include "format/command/trace_health.h"
#include "format/quoting.h"
#include "format/trace_copy.h"
#include "format/trace_files.h"

namespace iotape {
namespace {

struct MergeOptions {
  std::vector<std::string> inputs;
  std::string output;
  bool force = false;
  bool strict = false;
};

// One input: its next event, and the numbers under which its stacks and recorders appear in the result.
struct Source {
  std::unique_ptr<TraceReader> reader;
  Event* next = nullptr;
  std::unordered_map<std::uint32_t, std::uint32_t> recorders;
  std::unordered_map<std::uint32_t, StackId> stacks;
};

class Merger {
 public:
  Merger(std::vector<Source> sources, TraceWriter& to) : sources_(std::move(sources)), to_(&to) {}

  Result<CopyCounts> run() {
    for (Source& source : sources_) IOTAPE_TRY(advance(source));
    while (Source* source = earliest()) {
      Event& event = *source->next;
      renumber(*source, event.body);
      count_event(counts_, event.body);
      IOTAPE_TRY(to_->append_from(recorder_of(*source, event.recorder), std::move(event.body)));
      IOTAPE_TRY(advance(*source));
    }
    return counts_;
  }
  [[nodiscard]] const std::vector<Source>& sources() const { return sources_; }

 private:
  Result<void> advance(Source& source) {
    IOTAPE_ASSIGN(source.next, source.reader->next());
    return {};
  }

  // Devices, mounts and stacks have time 0 and so go first, as what follows refers to them.
  Source* earliest() {
    Source* best = nullptr;
    for (Source& source : sources_)
      if (source.next != nullptr && (best == nullptr || event_time(source.next->body) < event_time(best->next->body)))
        best = &source;
    return best;
  }

  // An input may be a merged trace that holds several recorders already.
  std::uint32_t recorder_of(Source& source, std::uint32_t old) {
    const auto [entry, is_new] = source.recorders.try_emplace(old, recorders_);
    if (is_new) ++recorders_;
    return entry->second;
  }
  StackId stack_of(Source& source, StackId old) {
    const auto [entry, is_new] = source.stacks.try_emplace(old.value, StackId(stacks_));
    if (is_new) ++stacks_;
    return entry->second;
  }
  void renumber(Source& source, EventBody& body) {
    if (auto* stack = std::get_if<Stack>(&body)) stack->id = stack_of(source, stack->id);
    auto* call = std::get_if<Syscall>(&body);
    if (call == nullptr) return;
    if (call->user_stack) call->user_stack = stack_of(source, *call->user_stack);
    if (call->kernel_stack) call->kernel_stack = stack_of(source, *call->kernel_stack);
  }

  std::vector<Source> sources_;
  TraceWriter* to_;
  CopyCounts counts_;
  std::uint32_t stacks_ = 0;
  std::uint32_t recorders_ = 0;
};

// Two recordings share a clock when the distance from it to the wall clock is the same but for its adjustments.
Result<void> require_one_clock(const std::vector<Source>& sources) {
  constexpr double kDrift = 2'000'000'000;
  const TraceHeader& first = sources.front().reader->header();
  for (const Source& source : sources) {
    const TraceHeader& header = source.reader->header();
    const auto offset = [](const TraceHeader& h) {
      return static_cast<double>(h.anchor_wall_ns) - static_cast<double>(h.anchor_time.value);
    };
    const bool anchored = first.anchor_wall_ns != 0 && header.anchor_wall_ns != 0;
    if (header.clock != first.clock || (anchored && std::abs(offset(header) - offset(first)) > kDrift))
      return failure(ErrorCode::kUnsupported,
                     fmt::format("{} and {} were recorded by different clocks (another machine or another boot); "
                                 "compare them with iotape compare instead",
                                 sources.front().reader->name(), source.reader->name()));
  }
  return {};
}

Result<std::vector<Source>> open_sources(const MergeOptions& options) {
  std::vector<Source> sources;
  for (const std::string& input : options.inputs) {
    if (is_same_file(input, options.output))
      return failure(ErrorCode::kUsage, "the output is also an input; choose another with -o");
    IOTAPE_ASSIGN(auto reader, open_trace(input));
    Source source;
    source.reader = std::move(reader);
    sources.push_back(std::move(source));
  }
  return sources;
}

TraceHeader merged_header(const std::vector<Source>& sources) {
  TraceHeader header = sources.front().reader->header();
  for (const Source& source : sources) {
    const TraceHeader& other = source.reader->header();
    header.has_syscalls |= other.has_syscalls;
    header.has_block |= other.has_block;
    header.resolution = std::min(header.resolution, other.resolution);
    if (&source == &sources.front()) continue;
    header.missing_hooks.insert(header.missing_hooks.end(), other.missing_hooks.begin(), other.missing_hooks.end());
    header.history.insert(header.history.end(), other.history.begin(), other.history.end());
  }
  return header;
}

TraceTotals merged_totals(const std::vector<Source>& sources) {
  TraceTotals sum;
  sum.workload_status = -1;
  for (const Source& source : sources) {
    const ReadReport& report = source.reader->report();
    TraceTotals totals;
    totals.losses = report.losses;
    if (report.totals) totals = *report.totals;
    for (std::size_t cause = 0; cause < sum.losses.size(); ++cause) sum.losses[cause] += totals.losses[cause];
    sum.end = std::max(sum.end, totals.end);
    sum.recorder_cpu += totals.recorder_cpu;
    sum.own_calls += totals.own_calls;
    sum.own_requests += totals.own_requests;
  }
  return sum;
}

Result<CopyCounts> merge(const Terminal& terminal, const MergeOptions& options, bool& sound) {
  IOTAPE_ASSIGN(std::vector<Source> sources, open_sources(options));
  IOTAPE_TRY(require_one_clock(sources));
  std::string history = "merge";
  for (const std::string& input : options.inputs) history += ' ' + file_name_of(input);
  IOTAPE_ASSIGN(TraceFile to,
                TraceFile::create(options.output, options.force, merged_header(sources), std::move(history)));
  Merger merger(std::move(sources), to.writer());
  IOTAPE_ASSIGN(const CopyCounts counts, merger.run());
  TraceTotals totals = merged_totals(merger.sources());
  totals.seen = counts.events() + totals.lost();
  IOTAPE_TRY(to.finish(totals));
  for (const Source& source : merger.sources())
    sound &= report_health(terminal, "merge", *source.reader, options.strict) == kExitOk;
  return counts;
}

}  // namespace

int run_merge(CommandCall& call) {
  Terminal& terminal = *call.terminal;
  MergeOptions options;
  CLI::App app("Join traces of one machine into one, in the order of time; each keeps a recorder number of its own",
               "iotape merge");
  add_common_options(app, terminal);
  app.add_option("TRACE", options.inputs, "The traces to join, two or more")->required();
  app.add_option("-o,--output", options.output, "The trace to write")->required();
  app.add_flag("--force", options.force, "Overwrite the output");
  app.add_flag("--strict", options.strict, "Exit 4 when an input is damaged, interrupted or lossy");
  if (const int status = parse_arguments(app, call); status >= 0) return status;
  if (options.inputs.size() < 2)
    return report_error(terminal, "merge", {ErrorCode::kUsage, "one trace is joined with nothing; give two or more"});
  bool sound = true;
  const auto counts = merge(terminal, options, sound);
  if (!counts) return report_error(terminal, "merge", counts.error());
  if (!terminal.quiet)
    fmt::print(terminal.err, "{}: {} calls, {} requests\nnext: iotape info {}\n", shell_word(options.output),
               format_count(counts->syscalls), format_count(counts->requests), shell_word(options.output));
  return sound ? kExitOk : kExitDamaged;
}

}  // namespace iotape
