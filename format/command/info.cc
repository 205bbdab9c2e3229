// iotape info: what a trace holds, whether it is whole, what was lost, who did what, where it came from.
#include "format/command/trace_commands.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "format/base/units.h"
#include "format/command/trace_health.h"
#include "format/enum_names.h"
#include "format/json_fields.h"
#include "format/quoting.h"
#include "format/symbols.h"
#include "format/syscall_table.h"
#include "format/trace_files.h"
#include "format/trace_summary.h"

namespace iotape {
namespace {

using nlohmann::ordered_json;

struct InfoOptions {
  std::string trace;
  bool history = false;
  bool json = false;
  bool strict = false;
  std::size_t top = 10;
};

struct Info {
  const TraceReader& trace;
  const TraceSummary& summary;
  const InfoOptions& options;

  [[nodiscard]] const TraceHeader& header() const { return trace.header(); }
  [[nodiscard]] const ReadReport& report() const { return trace.report(); }
  [[nodiscard]] std::uint64_t events() const { return summary.syscalls + summary.requests; }
  [[nodiscard]] double bytes_per_event() const {
    return events() == 0 ? 0 : static_cast<double>(report().bytes) / static_cast<double>(events());
  }
  [[nodiscard]] Nanoseconds span() const { return summary.last - summary.first; }
  [[nodiscard]] LossCounts losses() const { return report().losses; }
};

std::string printable(std::string_view bytes) {
  std::string out;
  append_c_escaped(out, bytes);
  return out;
}

// The entries of a map, the largest by that measure first.
template <typename Map, typename Measure>
auto largest(const Map& map, std::size_t limit, Measure measure) {
  std::vector<const typename Map::value_type*> rows;
  rows.reserve(map.size());
  for (const auto& entry : map) rows.push_back(&entry);
  std::stable_sort(rows.begin(), rows.end(), [&](auto* a, auto* b) { return measure(a->second) > measure(b->second); });
  if (rows.size() > limit) rows.resize(limit);
  return rows;
}

std::string wall_time(std::int64_t ns) {
  const std::time_t seconds = ns / kNanosecondsPerSecond;
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "unknown";
  std::array<char, 64> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return {text.data(), length};
}

// ---- for people ----

class InfoText {
 public:
  InfoText(std::FILE* out, const Info& info) : out_(out), info_(info) {}

  void print() {
    print_overview();
    print_origin();
    print_losses();
    print_calls();
    print_processes();
    print_devices();
    print_mounts();
    print_roots();
    if (info_.options.history) print_history();
  }

 private:
  template <typename... Arguments>
  void line(std::string_view label, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::print(out_, "{:<14} {}\n", label, fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  template <typename Rows>
  void heading(std::string_view columns, const Rows& rows, std::size_t all) {
    fmt::print(out_, "\n{}\n", columns);
    if (rows.size() < all) more_ = fmt::format("  ... and {} more (--top)\n", all - rows.size());
  }
  void footing() {
    fmt::print(out_, "{}", more_);
    more_.clear();
  }

  void print_overview() {
    const TraceSummary& summary = info_.summary;
    const ReadReport& report = info_.report();
    line("trace", "{}", printable(info_.trace.name()));
    std::string state = report.whole() ? "whole" : report.interrupted ? "interrupted" : "damaged";
    if (report.damage_count > 0) state += fmt::format(", {} damaged places", format_count(report.damage_count));
    line("state", "{}", state);
    line("events", "{} calls, {} requests ({} parts)", format_count(summary.syscalls), format_count(summary.requests),
         format_count(summary.parts));
    line("size", "{} in {} blocks, {:.2f} bytes per event", format_size(report.bytes), format_count(report.blocks),
         info_.bytes_per_event());
    if (summary.any_time) line("time", "{} from the first event to the last", format_duration(info_.span()));
    if (summary.recorders > 1) line("recorders", "{}", summary.recorders);
    const std::uint64_t kept = summary.states + summary.stacks + summary.markers;
    if (kept > 0)
      line("also", "{} file states, {} stacks, {} markers", format_count(summary.states), format_count(summary.stacks),
           format_count(summary.markers));
    print_replay();
  }

  void print_replay() {
    if (info_.summary.skipped.empty()) return;
    std::string skips;
    for (const auto& [reason, count] : info_.summary.skipped)
      skips += fmt::format("{}{} {}", skips.empty() ? "" : ", ", format_count(count), enum_name(reason));
    line("replay", "{}", skips);
    line("mismatches", "{} calls ended in another error than recorded", format_count(info_.summary.mismatches));
  }

  void print_origin() {
    const TraceHeader& header = info_.header();
    if (!header.source_command.empty()) line("command", "{}", printable(header.source_command));
    if (!header.target.empty()) line("target", "{}", printable(header.target));
    if (header.anchor_wall_ns != 0) line("made", "{}", wall_time(header.anchor_wall_ns));
    line("clock", "{}, resolution {} ns", enum_name(header.clock), header.resolution.value);
    std::string machine;
    if (!header.kernel.empty()) machine = "kernel " + printable(header.kernel);
    if (header.cpus > 0) machine += fmt::format("{}{} CPUs", machine.empty() ? "" : ", ", header.cpus);
    if (header.memory_bytes > 0) machine += ", " + format_size(header.memory_bytes) + " memory";
    if (!machine.empty()) line("machine", "{}", machine);
    line("layers", "{}", layers());
    line("page cache", "{}", header.cache == CacheCondition::kCold ? "dropped before the start" : "as found");
    print_cost();
    for (const MissingHook& hook : header.missing_hooks)
      line("missing hook", "{}: {}", printable(hook.name), printable(hook.reason));
    line("made by", "iotape {}, format version {}", printable(header.tool_version), header.format_version);
  }

  [[nodiscard]] std::string layers() const {
    const TraceHeader& header = info_.header();
    if (header.has_syscalls && header.has_block) return "system calls and block requests";
    if (header.has_syscalls) return "system calls only";
    return header.has_block ? "block requests only" : "none";
  }

  void print_cost() {
    const TraceHeader& header = info_.header();
    if (header.calibrated_cost.value > 0)
      line("cost per call", "{} to the recorded thread, calibrated", format_duration(header.calibrated_cost));
    const auto& totals = info_.report().totals;
    if (!totals) return;
    if (totals->recorder_cpu.value > 0) line("recorder CPU", "{}", format_duration(totals->recorder_cpu));
    if (totals->own_calls + totals->own_requests > 0)
      line("left out", "{} calls and {} requests of iotape itself", format_count(totals->own_calls),
           format_count(totals->own_requests));
    if (totals->workload_status >= 0) line("exit status", "{}", status_text(totals->workload_status));
  }

  static std::string status_text(int status) {
    return WIFSIGNALED(status) ? signal_name(WTERMSIG(status)) : std::to_string(WEXITSTATUS(status));
  }

  void print_losses() {
    const std::uint64_t lost = lost_events(info_.report());
    const auto& totals = info_.report().totals;
    const std::uint64_t seen = totals ? totals->seen : info_.report().seen;
    line("seen", "{}", seen == 0 ? "not counted" : format_count(seen));
    line("lost", "{}", lost == 0 ? "nothing" : format_count(lost) + " events");
    if (!info_.report().whole() && seen > info_.events() + lost)
      line("not readable", "{} events the recorder counted are in no readable block",
           format_count(seen - info_.events() - lost));
    const LossCounts losses = info_.losses();
    for (std::size_t cause = 0; cause < losses.size(); ++cause)
      if (losses[cause] > 0)
        fmt::print(out_, "  {:>12}  {}: {}\n", format_count(losses[cause]), enum_name(static_cast<LossCause>(cause)),
                   loss_meaning(static_cast<LossCause>(cause)));
    for (const Damage& damage : info_.report().damage)
      fmt::print(out_, "  at offset {}, {} bytes: {}\n", damage.offset, damage.bytes, printable(damage.what));
  }

  void print_calls() {
    const auto& calls = info_.summary.calls;
    if (calls.empty()) return;
    const auto rows = largest(calls, info_.options.top, [](const CallSummary& c) { return c.calls; });
    heading("call                     count     errors        bytes     total time", rows, calls.size());
    for (const auto* row : rows)
      fmt::print(out_, "{:<17} {:>12} {:>10} {:>12} {:>14}\n", syscall_display_name(row->first),
                 format_count(row->second.calls), format_count(row->second.errors),
                 row->second.bytes > 0 ? format_size(row->second.bytes) : "-", format_duration(row->second.time));
    footing();
  }

  void print_processes() {
    const auto& processes = info_.summary.processes;
    if (processes.empty()) return;
    const auto rows =
        largest(processes, info_.options.top, [](const ProcessSummary& p) { return p.calls + p.requests; });
    heading("process                          calls     requests  time in calls", rows, processes.size());
    for (const auto* row : rows)
      fmt::print(out_, "{:>7} {:<17} {:>12} {:>12} {:>14}\n", row->first,
                 row->second.command.empty() ? "?" : printable(row->second.command), format_count(row->second.calls),
                 format_count(row->second.requests), format_duration(row->second.time));
    footing();
  }

  void print_devices() {
    const auto& devices = info_.summary.devices;
    if (devices.empty()) return;
    const auto rows = largest(devices, info_.options.top, [](const DeviceSummary& d) { return d.requests; });
    heading("device               requests        read     written  flushes", rows, devices.size());
    for (const auto* row : rows)
      fmt::print(out_, "{:<8} {:<10} {:>10} {:>11} {:>11} {:>8}\n", device_number_text(row->first),
                 printable(row->second.name), format_count(row->second.requests), format_size(row->second.read_bytes),
                 format_size(row->second.written_bytes), format_count(row->second.flushes));
    footing();
  }

  void print_mounts() {
    if (info_.summary.mounts.empty()) return;
    fmt::print(out_, "\nmount\n");
    for (const MountInfo& mount : info_.summary.mounts)
      fmt::print(out_, "{:<8} {:<8} {}{}\n", device_number_text(mount.device), printable(mount.filesystem),
                 printable(mount.mount_point), mount.read_only ? " (read-only)" : "");
  }

  void print_roots() {
    const auto roots = info_.summary.roots();
    if (roots.empty()) return;
    fmt::print(out_, "\nroot of the changing calls (the directory a replay puts on its target)\n");
    for (const ChangingRoots::Root& root : roots)
      fmt::print(out_, "{:<8} {:>12} calls  {}\n", device_number_text(root.device), format_count(root.calls),
                 printable(root.path));
  }

  void print_history() {
    fmt::print(out_, "\nhistory, oldest first\n");
    for (const HistoryEntry& entry : info_.header().history)
      fmt::print(out_, "  {} ({})\n", printable(entry.command), printable(entry.tool_version));
  }

  std::FILE* out_;
  const Info& info_;
  std::string more_;
};

// ---- for programs ----

// Names are bytes; JSON wants UTF-8. The same form as in dump.
ordered_json bytes_json(std::string_view bytes) {
  std::string text;
  append_json_bytes(text, bytes);
  return ordered_json::parse(text);
}

template <typename T>
ordered_json fields_json(const T& value) {
  std::string text;
  append_json(text, value);
  return ordered_json::parse(text);
}

ordered_json losses_json(const Info& info) {
  ordered_json losses = ordered_json::object();
  const LossCounts counts = info.losses();
  for (std::size_t cause = 0; cause < counts.size(); ++cause)
    losses[std::string(enum_name(static_cast<LossCause>(cause)))] = counts[cause];
  return losses;
}

ordered_json damage_json(const ReadReport& report) {
  ordered_json list = ordered_json::array();
  for (const Damage& damage : report.damage)
    list.push_back({{"offset", damage.offset},
                    {"bytes", damage.bytes},
                    {"cause", enum_name(damage.cause)},
                    {"what", bytes_json(damage.what)}});
  return list;
}

ordered_json calls_json(const TraceSummary& summary) {
  ordered_json list = ordered_json::array();
  for (const auto* row : largest(summary.calls, summary.calls.size(), [](const CallSummary& c) { return c.calls; }))
    list.push_back({{"call", syscall_display_name(row->first)},
                    {"number", row->first},
                    {"count", row->second.calls},
                    {"errors", row->second.errors},
                    {"unfinished", row->second.unfinished},
                    {"bytes", row->second.bytes},
                    {"time_ns", row->second.time.value}});
  return list;
}

ordered_json processes_json(const TraceSummary& summary) {
  ordered_json list = ordered_json::array();
  const auto measure = [](const ProcessSummary& p) { return p.calls + p.requests; };
  for (const auto* row : largest(summary.processes, summary.processes.size(), measure))
    list.push_back({{"pid", row->first},
                    {"command", bytes_json(row->second.command)},
                    {"calls", row->second.calls},
                    {"requests", row->second.requests},
                    {"time_ns", row->second.time.value}});
  return list;
}

ordered_json devices_json(const TraceSummary& summary) {
  ordered_json list = ordered_json::array();
  for (const auto& [device, row] : summary.devices)
    list.push_back({{"device", device_number_text(device)},
                    {"name", bytes_json(row.name)},
                    {"requests", row.requests},
                    {"parts", row.parts},
                    {"reads", row.reads},
                    {"writes", row.writes},
                    {"flushes", row.flushes},
                    {"others", row.others},
                    {"read_bytes", row.read_bytes},
                    {"written_bytes", row.written_bytes}});
  return list;
}

ordered_json mounts_json(const TraceSummary& summary) {
  ordered_json list = ordered_json::array();
  for (const MountInfo& mount : summary.mounts)
    list.push_back({{"device", device_number_text(mount.device)},
                    {"filesystem", bytes_json(mount.filesystem)},
                    {"mount_point", bytes_json(mount.mount_point)},
                    {"block_size", mount.block_size},
                    {"read_only", mount.read_only}});
  return list;
}

ordered_json roots_json(const TraceSummary& summary) {
  ordered_json list = ordered_json::array();
  for (const ChangingRoots::Root& root : summary.roots())
    list.push_back(
        {{"device", device_number_text(root.device)}, {"path", bytes_json(root.path)}, {"changing_calls", root.calls}});
  return list;
}

ordered_json info_json(const Info& info) {
  const ReadReport& report = info.report();
  ordered_json skipped = ordered_json::object();
  for (const auto& [reason, count] : info.summary.skipped) skipped[std::string(enum_name(reason))] = count;
  ordered_json document{{"schema", "iotape.info/1"},
                        {"trace", bytes_json(info.trace.name())},
                        {"whole", report.whole()},
                        {"interrupted", report.interrupted},
                        {"damage_count", report.damage_count},
                        {"damage", damage_json(report)},
                        {"bytes", report.bytes},
                        {"blocks", report.blocks},
                        {"syscalls", info.summary.syscalls},
                        {"requests", info.summary.requests},
                        {"parts", info.summary.parts},
                        {"bytes_per_event", info.bytes_per_event()},
                        {"span_ns", info.span().value},
                        {"seen", report.totals ? report.totals->seen : report.seen},
                        {"lost", lost_events(report)},
                        {"losses", losses_json(info)},
                        {"file_states", info.summary.states},
                        {"stacks", info.summary.stacks},
                        {"markers", info.summary.markers},
                        {"recorders", info.summary.recorders},
                        {"header", fields_json(info.header())}};
  if (report.totals) document["totals"] = fields_json(*report.totals);
  document["calls"] = calls_json(info.summary);
  document["processes"] = processes_json(info.summary);
  document["devices"] = devices_json(info.summary);
  document["mounts"] = mounts_json(info.summary);
  document["roots"] = roots_json(info.summary);
  document["replay_outcomes"] = skipped;
  document["mismatches"] = info.summary.mismatches;
  return document;
}

Result<TraceSummary> summarise(TraceReader& trace) {
  TraceSummary summary;
  while (true) {
    IOTAPE_ASSIGN(const Event* event, trace.next());
    if (event == nullptr) return summary;
    summary.add(event->body, event->recorder);
  }
}

}  // namespace

int run_info(CommandCall& call) {
  Terminal& terminal = *call.terminal;
  InfoOptions options;
  CLI::App app("Say what a trace holds, whether it is whole, what was lost and where it came from", "iotape info");
  add_common_options(app, terminal);
  app.add_option("TRACE", options.trace, "The trace; - is standard input")->required();
  app.add_flag("--history", options.history, "Also list the commands that had a part in making the file");
  app.add_flag("--json", options.json, "Print one JSON document with all rows");
  app.add_option("--top", options.top, "Rows of each table")->capture_default_str();
  app.add_flag("--strict", options.strict, "Exit 4 when the trace is damaged, interrupted or lossy");
  if (const int status = parse_arguments(app, call); status >= 0) return status;
  auto trace = open_trace(options.trace);
  if (!trace) return report_error(terminal, "info", trace.error());
  const auto summary = summarise(**trace);
  if (!summary) return report_error(terminal, "info", summary.error());
  const Info info{**trace, *summary, options};
  if (options.json)
    fmt::print(terminal.out, "{}\n", info_json(info).dump(2));
  else
    InfoText(terminal.out, info).print();
  const bool sound = (*trace)->report().whole() && lost_events((*trace)->report()) == 0;
  if (!terminal.quiet && !options.json)
    fmt::print(terminal.err, "next: {}\n",
               (*trace)->report().whole() ? fmt::format("iotape seeks {0}, or: iotape dump {0}", options.trace)
                                          : fmt::format("iotape recover {}", options.trace));
  return options.strict && !sound ? kExitDamaged : kExitOk;
}

}  // namespace iotape
