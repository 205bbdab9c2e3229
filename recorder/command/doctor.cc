#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "recorder/command/record.h"
#include "recorder/probe.h"
#include "recorder/requirements.h"

namespace iotape {
namespace {

const char* word_for(const Requirement& need) { return need.met ? "ok" : need.optional ? "missing" : "NEEDED"; }

void print_need(const Terminal& terminal, const Requirement& need) {
  fmt::print(terminal.out, "{:<8}{:<28}{}\n", word_for(need), need.name, need.found);
  if (!need.met) fmt::print(terminal.out, "        -> {}\n", need.remedy);
}

// The proof of the pudding: all programs through the verifier.
Requirement trial_load() {
  ProbeOptions options;
  options.block = true;
  constexpr std::uint64_t kSmallRing = 1ULL << 20U;
  options.ring_bytes = kSmallRing;
  const auto probe = Probe::load(options);
  if (probe) return {"loading the recorder", true, false, "the kernel took every program", {}};
  return {"loading the recorder", false, false, probe.error().message, "see above; -v says more"};
}

}  // namespace

int run_doctor(CommandCall& call) {
  CLI::App app("Check what recording needs of this machine, one line per need with its remedy.", "iotape doctor");
  app.footer("Exit status: 0 when everything needed is there, 1 when not. Next: iotape record -- COMMAND");
  add_common_options(app, *call.terminal);
  if (const int status = parse_arguments(app, call); status >= 0) return status;
  std::vector<Requirement> needs = survey_requirements();
  if (check_requirements()) needs.push_back(trial_load());
  bool sound = true;
  for (const Requirement& need : needs) {
    sound = sound && (need.met || need.optional);
    print_need(*call.terminal, need);
  }
  if (!call.terminal->quiet)
    fmt::print(call.terminal->err, "{}\n",
               sound ? "this machine can record; next: iotape record -- COMMAND"
                     : "this machine cannot record as it is; replaying, reading and comparing traces work without");
  return sound ? kExitOk : kExitFailed;
}

}  // namespace iotape
