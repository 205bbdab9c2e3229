#include "traces/workload/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "format/base/units.h"
#include "traces/workload/workload.h"

namespace iotape {
namespace {

using nlohmann::ordered_json;
using workload::all_workloads;
using workload::Phase;
using workload::Totals;
using workload::WorkloadEntry;

struct TotalsColumn {
  const char* key;
  const char* title;
  std::uint64_t Totals::*value;
};
constexpr std::array<TotalsColumn, 7> kColumns{{{"files_created", "created", &Totals::files_created},
                                                {"directories_created", "dirs", &Totals::directories_created},
                                                {"files_deleted", "deleted", &Totals::files_deleted},
                                                {"files_renamed", "renamed", &Totals::files_renamed},
                                                {"entries_listed", "listed", &Totals::entries_listed},
                                                {"bytes_written", "written", &Totals::bytes_written},
                                                {"bytes_read", "read", &Totals::bytes_read}}};

bool is_bytes(const TotalsColumn& column) { return std::string_view(column.key).starts_with("bytes"); }

void print_json(const Terminal& terminal, const ordered_json& document) {
  fmt::print(terminal.out, "{}\n", document.dump(2));
}

int list_workloads(const Terminal& terminal, bool json) {
  if (json) {
    ordered_json document{{"schema", "iotape.workload/1"}, {"workloads", ordered_json::array()}};
    for (const WorkloadEntry& entry : all_workloads())
      document["workloads"].push_back({{"name", entry.name}, {"summary", entry.summary}, {"origin", entry.origin}});
    print_json(terminal, document);
    return kExitOk;
  }
  for (const WorkloadEntry& entry : all_workloads())
    fmt::print(terminal.out, "{:<10} {}\n{:<10} ({})\n", entry.name, entry.summary, "", entry.origin);
  if (!terminal.quiet)
    fmt::print(terminal.err, "next: iotape workload NAME --help, or: iotape record iotape workload NAME DIR\n");
  return kExitOk;
}

ordered_json phases_as_json(std::string_view name, const std::string& directory, const std::vector<Phase>& phases) {
  ordered_json document{
      {"schema", "iotape.workload/1"}, {"workload", name}, {"directory", directory}, {"phases", ordered_json::array()}};
  for (const Phase& phase : phases) {
    ordered_json row{{"name", phase.name}, {"wall_ns", phase.nanoseconds}};
    for (const TotalsColumn& column : kColumns) row[column.key] = phase.totals.*column.value;
    document["phases"].push_back(std::move(row));
  }
  return document;
}

// Columns in which every phase has a zero are left out.
std::vector<TotalsColumn> columns_in_use(const std::vector<Phase>& phases) {
  std::vector<TotalsColumn> used;
  for (const TotalsColumn& column : kColumns)
    if (std::any_of(phases.begin(), phases.end(), [&](const Phase& p) { return p.totals.*column.value != 0; }))
      used.push_back(column);
  return used;
}

void print_phases(const Terminal& terminal, const std::vector<Phase>& phases) {
  const std::vector<TotalsColumn> columns = columns_in_use(phases);
  fmt::print(terminal.out, "{:<8}{:>10}", "phase", "time");
  for (const TotalsColumn& column : columns) fmt::print(terminal.out, "{:>12}", column.title);
  fmt::print(terminal.out, "\n");
  for (const Phase& phase : phases) {
    fmt::print(terminal.out, "{:<8}{:>10}", phase.name, format_duration(Nanoseconds(phase.nanoseconds)));
    for (const TotalsColumn& column : columns) {
      const std::uint64_t value = phase.totals.*column.value;
      fmt::print(terminal.out, "{:>12}", is_bytes(column) ? format_size(value) : format_count(value));
    }
    fmt::print(terminal.out, "\n");
  }
}

int run_workload(const WorkloadEntry& entry, CommandCall& call) {
  CLI::App app(fmt::format("{}\nFirst published: {}", entry.summary, entry.origin),
               fmt::format("iotape workload {}", entry.name));
  std::string directory;
  bool json = false;
  const std::unique_ptr<workload::Workload> work = entry.make();
  add_common_options(app, *call.terminal);
  app.add_option("DIR", directory, "Where to work; made when it does not exist")->required();
  app.add_flag("--json", json, "Print one JSON document");
  work->add_options(app);
  if (const int status = parse_arguments(app, call); status >= 0) return status;

  const Terminal& terminal = *call.terminal;
  const Result<std::vector<Phase>> phases = work->run(directory);
  if (!phases) return report_error(terminal, fmt::format("workload {}", entry.name), phases.error());
  if (json)
    print_json(terminal, phases_as_json(entry.name, directory, *phases));
  else
    print_phases(terminal, *phases);
  if (!terminal.quiet)
    fmt::print(terminal.err, "next: iotape record -o {0}.iotape iotape workload {0} DIR\n", entry.name);
  return kExitOk;
}

int unknown_workload(const Terminal& terminal, const std::string& typed) {
  std::vector<std::string> names;
  for (const WorkloadEntry& entry : all_workloads()) names.emplace_back(entry.name);
  const std::string nearest = nearest_word(typed, names);
  fmt::print(terminal.err, "iotape workload: no workload is named '{}'{}\n", typed,
             nearest.empty() ? "; iotape workload --list names them" : fmt::format("; did you mean {}?", nearest));
  return kExitUsage;
}

int run_without_a_name(CommandCall& call) {
  CLI::App app(
      "Runs one of the classic workloads as real system calls.\niotape workload NAME --help tells its options.",
      "iotape workload");
  bool list = false;
  bool json = false;
  add_common_options(app, *call.terminal);
  app.add_flag("--list", list, "Name every workload, what it does and where it was published");
  app.add_flag("--json", json, "With --list: as one JSON document");
  app.footer("iotape workload NAME DIR [OPTIONS]\niotape workload --list [--json]");
  if (const int status = parse_arguments(app, call); status >= 0) return status;
  if (list) return list_workloads(*call.terminal, json);
  fmt::print(call.terminal->err, "iotape workload: say which workload; iotape workload --list names them\n");
  return kExitUsage;
}

int run_command(CommandCall& call) {
  const auto name = std::find_if(call.arguments.begin(), call.arguments.end(),
                                 [](const std::string& word) { return !word.starts_with('-'); });
  // The name selects the options that may follow, so it is looked for first.
  if (name == call.arguments.end()) return run_without_a_name(call);
  const auto& entries = all_workloads();
  const auto entry =
      std::find_if(entries.begin(), entries.end(), [&](const WorkloadEntry& e) { return e.name == *name; });
  if (entry == entries.end()) return unknown_workload(*call.terminal, *name);
  call.arguments.erase(name);
  return run_workload(*entry, call);
}

constexpr std::array<Command, 1> kCommands{{{"workload", "run a classic workload as real system calls", run_command}}};

}  // namespace

std::span<const Command> workload_commands() { return kCommands; }

}  // namespace iotape
