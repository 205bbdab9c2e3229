#include "replayer/experiment/experiment_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "format/base/command.h"
#include "format/base/units.h"
#include "format/syscall_table.h"

namespace iotape {
namespace {

class Planner {
 public:
  Planner(ExperimentSpec spec, const std::vector<std::string>& directories) : directories_(directories) {
    plan_.spec = std::move(spec);
  }

  Result<ExperimentPlan> plan() {
    const ExperimentSpec& spec = plan_.spec;
    for (const ExperimentTarget& target : spec.placed_targets()) IOTAPE_TRY(add_target(target));
    for (const ExperimentStep& step : spec.steps) IOTAPE_TRY(add_step(step));
    for (const std::string& map : spec.maps) {
      auto mapping = parse_path_mapping(map);
      if (!mapping) return spec.wrong(spec.map_line, "map", mapping.error().message);
      plan_.mappings.push_back(std::move(*mapping));
    }
    return std::move(plan_);
  }

 private:
  Result<void> add_target(const ExperimentTarget& from) {
    auto spec = parse_target_spec(from.spec);
    if (!spec) return plan_.spec.wrong(from.line, "target.spec", spec.error().message);
    if (spec->help) return plan_.spec.wrong(from.line, "target.spec", "asks for help instead of naming a target");
    plan_.targets.push_back({from.label, std::move(*spec)});
    return {};
  }

  Result<void> add_step(const ExperimentStep& from) {
    PlannedStep step;
    step.label = from.label;
    step.cold = from.cache == StepCache::kCold;
    step.fresh = from.fresh || plan_.steps.empty();
    auto pace = parse_pace(from.pace);
    if (!pace) return plan_.spec.wrong(from.pace_line, "step.pace", pace.error().message);
    step.pace = *pace;
    IOTAPE_TRY(set_thinking(from, step));
    if (from.workload.empty()) {
      IOTAPE_ASSIGN(step.trace, find_trace(from));
    } else {
      auto workload = SyntheticWorkload::parse(from.workload);
      if (!workload) return plan_.spec.wrong(from.line, "step.workload", workload.error().message);
      step.workload = std::move(*workload);
    }
    IOTAPE_TRY(add_phases(from, step));
    plan_.steps.push_back(std::move(step));
    return {};
  }

  Result<void> set_thinking(const ExperimentStep& from, PlannedStep& step) const {
    if (from.thinking.empty()) return {};
    const auto thinking = parse_duration(from.thinking);
    if (!thinking) return plan_.spec.wrong(from.thinking_line, "step.thinking", thinking.error().message);
    step.thinking = *thinking;
    if (step.pace.kind != PaceKind::kAsap) return {};
    return plan_.spec.wrong(from.thinking_line, "step.thinking", "needs pace: \"think\"; asap leaves all thinking out");
  }

  Result<std::string> find_trace(const ExperimentStep& from) const {
    std::error_code ignored;
    if (std::filesystem::path(from.trace).is_absolute() || directories_.empty()) {
      if (std::filesystem::exists(from.trace, ignored)) return from.trace;
    } else {
      for (const std::string& directory : directories_) {
        const std::filesystem::path path = std::filesystem::path(directory) / from.trace;
        if (std::filesystem::exists(path, ignored)) return path.string();
      }
    }
    return plan_.spec.wrong(from.line, "step.trace", missing(from.trace));
  }
  [[nodiscard]] std::string missing(const std::string& trace) const {
    if (std::filesystem::path(trace).is_absolute() || directories_.empty())
      return fmt::format("{} does not exist", trace);
    return fmt::format("there is no {} in {}", trace, fmt::join(directories_, " or "));
  }

  Result<void> add_phases(const ExperimentStep& from, PlannedStep& step) {
    const std::size_t index = plan_.steps.size();
    for (const ExperimentPhase& phase : from.phases) {
      PlannedPhase planned{phase.label, {}, phase.shown};
      for (const std::string& name : phase.until) {
        const auto number = syscall_number(name);
        if (!number) return plan_.spec.wrong(phase.line, "phase.until", unknown_call(name));
        planned.until.push_back(*number);
      }
      if (phase.shown) plan_.rows.push_back({index, step.phases.size(), phase.label});
      step.phases.push_back(std::move(planned));
    }
    if (!step.phases.empty()) return {};
    plan_.rows.push_back({index, 0, from.label});
    step.phases.push_back({from.label, {}, true});
    return {};
  }
  static std::string unknown_call(const std::string& name) {
    std::vector<std::string> names;
    for (std::uint32_t number = 0; number < kSyscallNumberLimit; ++number)
      if (!syscall_description(number).name.empty()) names.emplace_back(syscall_description(number).name);
    const std::string nearest = nearest_word(name, names);
    return fmt::format("no system call is called '{}'{}", name,
                       nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
  }

  const std::vector<std::string>& directories_;
  ExperimentPlan plan_;
};

}  // namespace

std::size_t ExperimentPlan::row_of(const std::string& label) const {
  const auto found = std::ranges::find(rows, label, &ExperimentRow::label);
  return static_cast<std::size_t>(found - rows.begin());
}

std::size_t ExperimentPlan::target_of(const std::string& label) const {
  const auto found = std::ranges::find(targets, label, &PlannedTarget::label);
  return static_cast<std::size_t>(found - targets.begin());
}

Result<ExperimentPlan> plan_experiment(ExperimentSpec spec, const std::vector<std::string>& directories) {
  return Planner(std::move(spec), directories).plan();
}

}  // namespace iotape
