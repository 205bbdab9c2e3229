#include "replayer/experiment/experiment_runner.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "format/quoting.h"
#include "replayer/engine/result_trace.h"
#include "replayer/engine/target_requests.h"
#include "replayer/experiment/ageing.h"
#include "replayer/experiment/call_writer.h"
#include "replayer/experiment/direct_calls.h"
#include "replayer/experiment/phase_clock.h"
#include "replayer/experiment/step_trace.h"
#include "replayer/experiment/thinking_source.h"
#include "replayer/target/fresh_place.h"

namespace iotape {
namespace {

constexpr std::size_t kVirtualRuns = 2;  // the second only proves that it is the first again

std::string safe_name(const std::string& label) {
  std::string safe;
  for (const char c : label) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                       c == '_' || c == '-' || c == '=';
    safe += plain ? c : '_';
  }
  return safe;
}

bool is_above(const std::string& directory, const std::string& path) {
  return directory == "/" || path == directory || path.starts_with(directory + "/");
}

class Runner {
 public:
  Runner(ExperimentPlan plan, const RunnerOptions& options, const StopRequests& stop) : options_(options), stop_(stop) {
    result_.plan = std::move(plan);
    result_.targets.resize(result_.plan.targets.size());
    first_traces_.resize(result_.plan.targets.size());
  }

  Result<ExperimentResult> run() {
    IOTAPE_TRY(prepare_sessions());
    IOTAPE_TRY(check_kept_names());
    for (std::size_t run = 0; run < plan().spec.runs; ++run)
      for (std::size_t target = 0; target < plan().targets.size(); ++target)
        if (wanted_runs(target) > run) IOTAPE_TRY(run_target(target, run));
    return std::move(result_);
  }

 private:
  [[nodiscard]] const ExperimentPlan& plan() const { return result_.plan; }

  // Simulated runs are all the same. Before its first run nobody knows what clock a target has.
  [[nodiscard]] std::size_t wanted_runs(std::size_t target) const {
    const std::size_t asked = plan().spec.runs;
    return result_.targets[target].clock == ClockKind::kVirtual ? std::min(asked, kVirtualRuns) : asked;
  }

  // ---- before the first run ----

  Result<void> prepare_sessions() {
    sessions_.resize(plan().steps.size());
    for (std::size_t i = 0; i < plan().steps.size(); ++i) {
      IOTAPE_TRY(check_stop());
      const PlannedStep& step = plan().steps[i];
      if (step.workload && step.workload->listed_directory()) continue;  // only the target can tell what it does
      IOTAPE_ASSIGN(sessions_[i], surveyed(step, step.workload ? step.workload->open() : open_trace_file(step.trace)));
      calls_per_run_ += sessions_[i]->surveyed().calls;
    }
    IOTAPE_ASSIGN(shared_roots_, shared_roots());
    for (std::size_t i = 0; i < sessions_.size(); ++i)
      if (sessions_[i]) IOTAPE_TRY(sessions_[i]->choose(roots_of(plan().steps[i])));
    for (const PlannedTarget& target : plan().targets)
      for (const auto& session : sessions_)
        if (session && target.spec.kind != "null") IOTAPE_TRY(session->check_threads());
    return {};
  }

  Result<ReplaySession> surveyed(const PlannedStep& step, const EventSourceOpener& source) const {
    const std::string& name = step.workload ? step.workload->text() : step.trace;
    const EventSourceOpener open = stoppable(source, stop_);
    ReplaySession session(open, name);
    IOTAPE_TRY(session.survey(step.pace.longest_gap));
    if (step.thinking.value <= 0) return session;
    ReplaySession thinking(add_thinking(open, step.thinking, session.surveyed().bytes_written), name);
    IOTAPE_TRY(thinking.survey(step.pace.longest_gap));
    return thinking;
  }

  [[nodiscard]] RootOptions roots_of(const PlannedStep& step) const {
    return step.workload ? RootOptions{{{std::string(kGeneratedRoot), "/"}}, false} : shared_roots_;
  }

  // The steps share one filesystem, so what one made must lie where the next looks for it: the outermost of their
  // directories becomes the target's top.
  Result<RootOptions> shared_roots() const {
    if (!plan().mappings.empty()) return RootOptions{plan().mappings, false};
    std::vector<std::string> roots;
    std::size_t traces = 0;
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      if (plan().steps[i].workload) continue;
      ++traces;
      for (const ChangingRoots::Root& root : sessions_[i]->surveyed().default_roots()) roots.push_back(root.path);
    }
    if (traces < 2) return RootOptions{};
    const auto above_all = [&](const std::string& directory) {
      return std::ranges::all_of(roots, [&](const std::string& path) { return is_above(directory, path); });
    };
    const auto outermost = std::ranges::find_if(roots, above_all);
    if (outermost != roots.end()) return RootOptions{{{*outermost, "/"}}, false};
    return failure(ErrorCode::kUsage,
                   fmt::format("the traces were made in different places ({}), and the steps share one filesystem; say "
                               "where each belongs with --map FROM=TO, or map: in the specification",
                               fmt::join(roots, ", ")));
  }

  // Found out before hours of work rather than after.
  Result<void> check_kept_names() const {
    if (options_.keep.empty()) return {};
    std::error_code error;
    std::filesystem::create_directories(options_.keep, error);
    if (error) return system_failure("making " + options_.keep, error.value());
    for (std::size_t target = 0; target < plan().targets.size(); ++target)
      for (std::size_t run = 0; run < plan().spec.runs; ++run)
        for (std::size_t step = 0; step < plan().steps.size(); ++step)
          if (const std::string path = kept_path(target, run, step); !options_.force && std::filesystem::exists(path))
            return failure(ErrorCode::kUsage, fmt::format("{} exists already; --force overwrites it", path));
    return {};
  }

  [[nodiscard]] std::string kept_path(std::size_t target, std::size_t run, std::size_t step) const {
    if (options_.keep.empty()) return {};
    return fmt::format("{}/{}-{}-{}.iotape", options_.keep, safe_name(plan().targets[target].label),
                       safe_name(plan().steps[step].label), run + 1);
  }

  // ---- one run of one target ----

  Result<void> run_target(std::size_t index, std::size_t run) {
    target_ = index, run_ = run;
    result_.targets[index].runs.emplace_back();
    for (std::size_t step = 0; step < plan().steps.size();) {
      const std::size_t end = end_of_sequence(step);
      auto done = run_sequence(step, end);
      if (!done) return tl::make_unexpected(std::move(done).error().within(plan().targets[index].label));
      step = end;
    }
    return {};
  }

  // The step after those that share a filesystem with this one.
  [[nodiscard]] std::size_t end_of_sequence(std::size_t step) const {
    do ++step;
    while (step < plan().steps.size() && !plan().steps[step].fresh);
    return step;
  }

  Result<void> run_sequence(std::size_t first, std::size_t end) {
    IOTAPE_TRY(check_stop());
    const TargetSpec& spec = plan().targets[target_].spec;
    IOTAPE_ASSIGN(const FreshPlace place, FreshPlace::claim(spec));
    TargetOptions target_options;
    target_options.allow_writes = options_.allow_writes;
    target_options.stop = &stop_.flag();
    {
      IOTAPE_ASSIGN(const auto target, options_.make(spec, target_options));
      auto done = run_steps(*target, first, end);
      if (!done) {
        static_cast<void>(place.empty());  // the first failure is the one to tell
        return done;
      }
    }
    return place.empty();
  }

  Result<void> run_steps(Target& target, std::size_t first, std::size_t end) {
    TargetResult& result = result_.targets[target_];
    if (plan().spec.age)
      IOTAPE_TRY(age_target(target, plan().targets[target_].spec, *plan().spec.age, [this] { return stop_.seen(); }));
    if (sessions_[first]) IOTAPE_TRY(target.prepare(sessions_[first]->tree().nodes));
    if (plan().steps[first].cold) IOTAPE_TRY(target.make_cold());
    bool identical = true;
    for (std::size_t step = first; step < end; ++step) {
      IOTAPE_TRY(check_stop());
      IOTAPE_ASSIGN(FileDescriptor trace, run_step(target, step));
      if (target.facts().clock == ClockKind::kVirtual) {
        IOTAPE_ASSIGN(const bool same, same_as_first(std::move(trace), step));
        identical = identical && same;
      }
    }
    const TargetFacts facts = target.facts();
    result.description = facts.description;
    result.filesystem = facts.filesystem;
    result.clock = facts.clock;
    result.notes = facts.notes;
    if (run_ > 0 && facts.clock == ClockKind::kVirtual) result.identical = result.identical.value_or(true) && identical;
    return {};
  }

  Result<bool> same_as_first(FileDescriptor trace, std::size_t step) {
    auto& firsts = first_traces_[target_];
    if (run_ > 0) return same_bytes(firsts[step], trace);
    firsts.push_back(std::move(trace));
    return true;
  }

  // Returns the step's result trace, complete.
  Result<FileDescriptor> run_step(Target& target, std::size_t index) {
    const PlannedStep& step = plan().steps[index];
    std::optional<ReplaySession> listed;
    if (!sessions_[index]) {
      IOTAPE_ASSIGN(listed, ask_order(target, step));
    }
    const ReplaySession& session = listed ? *listed : *sessions_[index];
    IOTAPE_ASSIGN(StepTrace trace, StepTrace::create(kept_path(target_, run_, index), options_.force));
    IOTAPE_ASSIGN(auto written, begin_trace(target, index, session, trace));
    PhaseClock phases(step.phases, *written, [&](std::uint64_t calls) { tell(index, calls); });
    tell(index, 0);
    IOTAPE_ASSIGN(const ReplayReport report,
                  session.replay(target, engine_options(step.pace, target.facts().clock, stop_), &phases));
    if (report.stopped) return failure(ErrorCode::kInterrupted, "interrupted");
    IOTAPE_TRY(settle(target, index));
    const StepTimes times{report.anchor, phases.boundaries(), report.end, target.now()};
    IOTAPE_TRY(written->finish(report, session.surveyed().losses));
    IOTAPE_ASSIGN(FileDescriptor file, trace.descriptor());
    std::vector<bool> shown;
    for (const PlannedPhase& phase : step.phases) shown.push_back(phase.shown);
    IOTAPE_ASSIGN(auto figures, read_step_figures(file, trace.name(), times, shown, options_.threshold));
    result_.targets[target_].runs.back().steps.push_back(std::move(figures));
    IOTAPE_TRY(trace.keep());
    return file;
  }

  // A step whose calls depend on the order in which the target lists a directory. Asking warms the cache as the
  // program's own listing would have done.
  Result<ReplaySession> ask_order(Target& target, const PlannedStep& step) const {
    IOTAPE_ASSIGN(DirectCalls calls, DirectCalls::begin(target));
    IOTAPE_ASSIGN(auto names, calls.list(*step.workload->listed_directory()));
    IOTAPE_TRY(calls.end());
    std::erase_if(names, [](const std::string& name) { return "/" + name == kAgedDirectory || name == "lost+found"; });
    if (names.empty())
      return failure(
          ErrorCode::kUsage,
          fmt::format(
              "{}: order=readdir needs a directory with files in it, and this one is empty; a step before has to "
              "make them and leave them (do=create)",
              step.label));
    IOTAPE_ASSIGN(ReplaySession session, surveyed(step, step.workload->open(std::move(names))));
    IOTAPE_TRY(session.choose(roots_of(step)));
    return session;
  }

  // What the step left to be written is written: counted to it, except where the next one finds the caches as they are.
  Result<void> settle(Target& target, std::size_t index) const {
    if (end_of_sequence(index) == index + 1) return target.finish(true);
    return plan().steps[index + 1].cold ? target.make_cold() : Result<void>{};
  }

  Result<std::unique_ptr<ResultTrace>> begin_trace(Target& target, std::size_t index, const ReplaySession& session,
                                                   const StepTrace& trace) {
    const PlannedStep& step = plan().steps[index];
    IOTAPE_ASSIGN(FileDescriptor file, trace.descriptor());
    ResultOptions result;
    result.file_name = trace.name();
    result.command =
        fmt::format("experiment {} on {}{}", step.label, plan().targets[target_].spec.kind, step.cold ? " cold" : "");
    result.cold = step.cold;
    result.notes = session.notes();
    result.notes.push_back(step.fresh ? "on a filesystem made for this step"
                                      : fmt::format("step {} of {}, on the filesystem as the step before left it",
                                                    index + 1, plan().steps.size()));
    return ResultTrace::create(std::move(file), session.surveyed().header, target, result, recorder_for(target));
  }

  std::unique_ptr<SelfRecorder> recorder_for(Target& target) {
    if (target.facts().makes_requests) return std::make_unique<TargetRequests>(target);
    if (!options_.make_recorder || !target.facts().device) return nullptr;
    auto made = options_.make_recorder();
    if (made) return std::move(*made);
    if (!told_missing_ && options_.say)
      options_.say(
          fmt::format("calls only, no requests, of {}: {}", plan().targets[target_].label, made.error().message));
    told_missing_ = true;
    return nullptr;
  }

  // ---- the rest ----

  [[nodiscard]] Result<void> check_stop() const {
    return stop_.seen() ? Result<void>(failure(ErrorCode::kInterrupted, "interrupted")) : Result<void>{};
  }

  void tell(std::size_t step, std::uint64_t calls) {
    calls_done_ += calls;
    if (!options_.progress) return;
    std::size_t runs = 0;
    for (std::size_t target = 0; target < plan().targets.size(); ++target) runs += wanted_runs(target);
    const double all = static_cast<double>(runs) * static_cast<double>(calls_per_run_);
    options_.progress({run_ + 1, wanted_runs(target_), plan().targets[target_].label, plan().steps[step].label,
                       all > 0 ? std::min(1.0, static_cast<double>(calls_done_) / all) : 0});
  }

  const RunnerOptions& options_;
  const StopRequests& stop_;
  ExperimentResult result_;
  std::vector<std::optional<ReplaySession>> sessions_;  // by step; none where the target must be asked first
  RootOptions shared_roots_;
  std::vector<std::vector<FileDescriptor>> first_traces_;  // by target, by step; of targets on a virtual clock
  std::size_t target_ = 0;                                 // under way
  std::size_t run_ = 0;
  std::uint64_t calls_per_run_ = 0;
  std::uint64_t calls_done_ = 0;
  bool told_missing_ = false;
};

}  // namespace

Result<ExperimentResult> run_experiment(ExperimentPlan plan, const RunnerOptions& options, const StopRequests& stop) {
  return Runner(std::move(plan), options, stop).run();
}

}  // namespace iotape
