#include "replayer/command/replay_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "analysis/text_table.h"
#include "format/base/units.h"
#include "format/enum_names.h"
#include "format/quoting.h"
#include "format/syscall_table.h"

namespace iotape {
namespace {

using Json = nlohmann::ordered_json;

// "ENOENT"; the number for errors without a name.
std::string outcome_text(const OpOutcome& outcome) {
  if (outcome.ok()) return fmt::format("{}", outcome.value);
  const char* name = ::strerrorname_np(outcome.error_number);
  return name != nullptr ? name : fmt::format("errno {}", outcome.error_number);
}

// Names are bytes; a terminal and JSON get printable ASCII.
std::string escaped(const std::string& bytes) {
  std::string text;
  for (const char letter : bytes) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte >= ' ' && byte < 0x7F && letter != '\\')
      text += letter;
    else
      text += fmt::format("\\x{:02x}", byte);
  }
  return text;
}

void say(std::FILE* to, int width, const std::string& text) { fmt::print(to, "{}", wrapped(text, width)); }

std::string skipped_text(const ReplayReport& report) {
  std::string text;
  for (std::size_t reason = 0; reason < report.skipped.size(); ++reason)
    if (report.skipped[reason] > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_count(report.skipped[reason]),
                          enum_name(static_cast<SkipReason>(reason)));
  return text.empty() ? "none" : text;
}

std::string roots_text(const ReplayRoots& roots) {
  std::string text;
  for (const ReplayRoot& root : roots.all())
    text += fmt::format("  {} -> {}\n", escaped(root.from), root.to.empty() ? "/" : root.to);
  return text;
}

void print_losses(std::FILE* to, const SurveyResult& survey) {
  const ReadReport& read = survey.read_report;
  if (read.interrupted) fmt::print(to, "the trace was interrupted: it has no proper end\n");
  if (read.damage_count > 0)
    fmt::print(to, "the trace has {} damaged places; what they held is not replayed\n", read.damage_count);
  std::uint64_t lost = 0;
  for (std::size_t cause = 0; cause < survey.losses.size(); ++cause)
    if (counts_as_lost(static_cast<LossCause>(cause))) lost += survey.losses[cause];
  if (lost > 0)
    fmt::print(to, "the recording lost {} events; calls that needed them are skipped\n", format_count(lost));
  if (survey.implausible_count > 0)
    fmt::print(to, "{} timestamps cannot be right (first: event {}); their calls are due at once\n",
               survey.implausible_count, survey.implausible_times.front().value);
}

void print_calls(const Terminal& terminal, const ReplayReport& report, bool timed) {
  std::vector<std::pair<std::uint32_t, const CallTally*>> rows;
  for (const auto& [number, tally] : report.by_number) rows.emplace_back(number, &tally);
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second->issued + a.second->skipped > b.second->issued + b.second->skipped;
  });
  fmt::print(terminal.out, "{:<16}{:>11}{:>11}{:>9}", "call", "issued", "skipped", "differ");
  if (timed) fmt::print(terminal.out, "{:>12}{:>12}", "p50", "p99");
  fmt::print(terminal.out, "\n");
  for (const auto& [number, tally] : rows) {
    fmt::print(terminal.out, "{:<16}{:>11}{:>11}{:>9}", syscall_display_name(number), format_count(tally->issued),
               format_count(tally->skipped), format_count(tally->mismatched));
    if (timed && tally->issued > 0)
      fmt::print(terminal.out, "{:>12}{:>12}", format_duration(tally->latency->percentile(0.5)),
                 format_duration(tally->latency->percentile(0.99)));
    fmt::print(terminal.out, "\n");
  }
}

void print_mismatches(std::FILE* to, int width, const ReplayReport& report) {
  if (report.first_mismatches.empty()) return;
  fmt::print(to, "calls that ended otherwise (the first {}):\n", report.first_mismatches.size());
  for (const Mismatch& mismatch : report.first_mismatches)
    say(to, width,
        fmt::format("- event {}: {} {}: recorded {}, got {}", mismatch.source.value,
                    syscall_display_name(mismatch.number), escaped(mismatch.what), outcome_text(mismatch.expected),
                    outcome_text(mismatch.got)));
}

Json duration_json(const DurationHistogram& histogram) {
  return {{"count", histogram.count()},
          {"p50_ns", histogram.percentile(0.5).value},
          {"p99_ns", histogram.percentile(0.99).value},
          {"p999_ns", histogram.percentile(0.999).value},
          {"max_ns", histogram.maximum().value},
          {"total_ns", histogram.total().value}};
}

Json outcome_json(const OpOutcome& outcome) { return {{"value", outcome.value}, {"errno", outcome.error_number}}; }

Json report_json(const ReplayReport& report) {
  Json skipped = Json::object();
  for (std::size_t reason = 1; reason < report.skipped.size(); ++reason)
    skipped[std::string(enum_name(static_cast<SkipReason>(reason)))] = report.skipped[reason];
  Json by_call = Json::object();
  for (const auto& [number, tally] : report.by_number)
    by_call[syscall_display_name(number)] = {{"issued", tally.issued},
                                             {"skipped", tally.skipped},
                                             {"mismatched", tally.mismatched},
                                             {"unsupported", tally.unsupported},
                                             {"recorded_ns", tally.recorded_time.value},
                                             {"latency", duration_json(*tally.latency)}};
  Json first = Json::array();
  for (const Mismatch& mismatch : report.first_mismatches)
    first.push_back({{"event", mismatch.source.value},
                     {"call", syscall_display_name(mismatch.number)},
                     {"what", escaped(mismatch.what)},
                     {"expected", outcome_json(mismatch.expected)},
                     {"got", outcome_json(mismatch.got)}});
  return {{"calls", report.calls},
          {"issued", report.issued},
          {"skipped", report.skipped_total()},
          {"skipped_by_reason", skipped},
          {"mismatches", report.mismatches},
          {"unsupported", report.unsupported},
          {"adjusted", report.adjusted},
          {"interrupted_calls", report.interrupted_calls},
          {"overtaken", report.overtaken},
          {"housekeeping", report.housekeeping},
          {"implausible_times", report.implausible_times},
          {"threads", report.threads},
          {"serialised", report.serialised},
          {"bytes_read", report.bytes_read},
          {"bytes_written", report.bytes_written},
          {"duration_ns", (report.end - report.anchor).value},
          {"stopped", report.stopped},
          {"lateness", duration_json(*report.lateness)},
          {"by_call", by_call},
          {"first_mismatches", first}};
}

}  // namespace

void print_plan(const Terminal& terminal, const ReplaySummary& summary) {
  if (terminal.quiet) return;
  print_losses(terminal.err, summary.survey);
  say(terminal.err, terminal.width,
      describe_expectation(summary.options.pace, summary.survey.span, summary.survey.shortened_span));
  if (summary.options.order == ReplayOrder::kThread)
    fmt::print(terminal.err,
               "{} threads made calls; order thread lets each go on at its own pace, so what\n"
               "one finds of another's work may differ from the recording: mismatches\n",
               format_count(summary.survey.threads_with_calls));
  else if (summary.survey.threads_with_calls > 1)
    fmt::print(terminal.err,
               "{} threads made calls; strict order issues them one after the other,\n"
               "so latencies are serialised and say nothing of a server under load\n",
               format_count(summary.survey.threads_with_calls));
}

void print_unplaced(const Terminal& terminal, const ReplaySummary& summary) {
  constexpr std::size_t kShown = 3;
  std::vector<UnplacedDirectory> unplaced = summary.survey.unplaced();
  // Where --map has placed one, nothing is missing.
  std::erase_if(unplaced, [&](const UnplacedDirectory& directory) {
    return std::any_of(summary.options.mappings.begin(), summary.options.mappings.end(),
                       [&](const PathMapping& mapping) { return mapping.from == directory.path; });
  });
  if (unplaced.empty()) return;
  std::uint64_t calls = 0;
  for (const UnplacedDirectory& directory : unplaced) calls += directory.calls;
  fmt::print(terminal.err,
             "warning: the trace does not tell where {} directories lie; {} calls\n"
             "in them are replayed apart from the rest, or skipped as external.\n"
             "Where they belong is said by:\n",
             format_count(unplaced.size()), format_count(calls));
  for (std::size_t i = 0; i < std::min(unplaced.size(), kShown); ++i)
    fmt::print(terminal.err, "  --map {}=/DIRECTORY   ({} calls)\n", shell_word(unplaced[i].path),
               format_count(unplaced[i].calls));
}

void print_dry_run(const Terminal& terminal, const ReplaySummary& summary) {
  const ReplayReport& report = *summary.report;
  const TreeSummary& tree = summary.tree;
  fmt::print(terminal.out, "would replay {} on {}\n{}", shell_word(summary.options.trace),
             escaped(summary.options.target.text()), roots_text(summary.roots));
  say(terminal.out, terminal.width,
      describe_expectation(summary.options.pace, summary.survey.span, summary.survey.shortened_span));
  fmt::print(terminal.out, "would create first: {} directories, {} files of {}, {} others\n",
             format_count(tree.directories), format_count(tree.files), format_size(tree.bytes),
             format_count(tree.others));
  if (tree.sizes_unknown > 0)
    say(terminal.out, terminal.width,
        fmt::format("(the sizes of {} of them nobody saw; they will be as short as the reads allow)",
                    format_count(tree.sizes_unknown)));
  fmt::print(terminal.out, "would write {} and read {}\n", format_size(report.bytes_written),
             format_size(report.bytes_read));
  say(terminal.out, terminal.width,
      fmt::format("{} calls: {} issued, skipped: {}", format_count(report.calls), format_count(report.issued),
                  skipped_text(report)));
  print_calls(terminal, report, false);
}

void print_summary(const Terminal& terminal, const ReplaySummary& summary) {
  const ReplayReport& report = *summary.report;
  fmt::print(terminal.out, "{} on {}{}\n{}", shell_word(summary.options.trace), escaped(summary.target),
             summary.filesystem.empty() ? "" : fmt::format(" ({})", summary.filesystem), roots_text(summary.roots));
  for (std::size_t pass = 0; pass < summary.walls.size(); ++pass)
    fmt::print(terminal.out, "{}wall time {}, {} with the target {}\n",
               summary.walls.size() > 1 ? fmt::format("pass {} of {}: ", pass + 1, summary.options.loops) : "",
               format_duration(summary.walls[pass].calls), format_duration(summary.walls[pass].synced),
               summary.options.final_sync ? "synced and let go" : "let go, not synced");
  say(terminal.out, terminal.width,
      fmt::format("calls {}: issued {}; skipped: {}", format_count(report.calls), format_count(report.issued),
                  skipped_text(report)));
  if (report.lateness->count() > 0)
    fmt::print(terminal.out, "lateness p50 {}, p99 {}, max {}\n", format_duration(report.lateness->percentile(0.5)),
               format_duration(report.lateness->percentile(0.99)), format_duration(report.lateness->maximum()));
  say(terminal.out, terminal.width,
      fmt::format("mismatches {}, not supported by the target {}, weakened by the sandbox {}",
                  format_count(report.mismatches), format_count(report.unsupported), format_count(report.adjusted)));
  if (report.serialised) fmt::print(terminal.out, "latencies are serialised: several threads, strict order\n");
  if (summary.options.order == ReplayOrder::kThread)
    say(terminal.out, terminal.width,
        "order thread: calls kept their order within a thread only; what threads raced for may end otherwise than "
        "recorded and counts as a mismatch");
  for (const std::string& note : summary.notes) say(terminal.out, terminal.width, "note: " + note);
  print_calls(terminal, report, true);
  print_mismatches(terminal.out, terminal.width, report);
  if (report.stopped) fmt::print(terminal.out, "stopped before the end of the trace\n");
}

std::string summary_json(const ReplaySummary& summary) {
  Json roots = Json::array();
  for (const ReplayRoot& root : summary.roots.all())
    roots.push_back({{"from", escaped(root.from)}, {"to", root.to.empty() ? "/" : root.to}});
  Json walls = Json::array();
  Json synced = Json::array();
  for (const PassTimes& pass : summary.walls) {
    walls.push_back(pass.calls.value);
    synced.push_back(pass.synced.value);
  }
  const Json document = {{"schema", "iotape.replay/1"},
                         {"trace", summary.options.trace},
                         {"target", summary.target},
                         {"filesystem", summary.filesystem},
                         {"dry_run", summary.options.dry_run},
                         {"order", summary.options.order_text},
                         {"pace", summary.options.pace_text},
                         {"roots", roots},
                         {"trace_span_ns", summary.survey.span.value},
                         {"wall_ns", walls},
                         {"synced_ns", synced},
                         {"tree",
                          {{"directories", summary.tree.directories},
                           {"files", summary.tree.files},
                           {"others", summary.tree.others},
                           {"bytes", summary.tree.bytes},
                           {"inferred", summary.tree.inferred},
                           {"sizes_unknown", summary.tree.sizes_unknown}}},
                         {"notes", summary.notes},
                         {"result", summary.result},
                         {"replay", report_json(*summary.report)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace iotape
