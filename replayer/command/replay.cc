#include "replayer/command/replay.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "format/base/units.h"
#include "format/command/trace_health.h"
#include "format/quoting.h"
#include "format/trace_files.h"
#include "replayer/command/replay_options.h"
#include "replayer/command/replay_summary.h"
#include "replayer/engine/replay_session.h"
#include "replayer/engine/result_trace.h"
#include "replayer/engine/target_requests.h"
#include "replayer/target/fresh_place.h"

namespace iotape {
namespace {

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

class ReplayRun {
 public:
  ReplayRun(const Terminal& terminal, ReplayOptions options, const SelfRecorderFactory& make_recorder)
      : terminal_(terminal),
        options_(std::move(options)),
        make_recorder_(make_recorder),
        session_(select_events(open_trace_file(options_.trace), options_.selection), options_.trace) {}

  // A result that was begun is kept: it can be read as far as it got.
  Result<int> run() {
    auto status = run_passes();
    if (!status && result_begun_ && options_.result != "-")
      status.error().message += fmt::format(" ({} holds the replay up to there)", options_.result);
    return status;
  }

 private:
  Result<int> run_passes() {
    IOTAPE_TRY(check_output(options_.result, {options_.trace, options_.target.place}));
    IOTAPE_TRY(survey());
    if (options_.dry_run) return rehearse();
    for (std::uint32_t pass = 0; pass < options_.loops; ++pass) {
      IOTAPE_TRY(run_pass(pass));
      if (report_.stopped) break;
    }
    return conclude();
  }

  [[nodiscard]] ReplaySummary summary() const {
    return {options_, session_.surveyed(), session_.roots(),  session_.tree().summary,
            &report_, facts_.description,  facts_.filesystem, facts_.notes,
            walls_,   options_.result};
  }

  Result<void> survey() {
    auto surveyed = session_.survey(options_.pace.longest_gap);
    report_unmatched(terminal_, "replay", options_.trace, session_.unmatched());
    if (!surveyed) return surveyed;
    if (options_.strict) IOTAPE_TRY(refuse_damage());
    print_plan(terminal_, summary());  // damage first: it may explain what follows
    IOTAPE_TRY(session_.choose({options_.mappings, options_.external}));
    if (!options_.json) print_unplaced(terminal_, summary());
    return options_.target.kind == "null" ? Result<void>{} : session_.check_threads();
  }

  Result<void> refuse_damage() const {
    const ReadReport& read = session_.surveyed().read_report;
    std::uint64_t lost = 0;
    for (std::size_t cause = 0; cause < read.losses.size(); ++cause)
      if (counts_as_lost(static_cast<LossCause>(cause))) lost += read.losses[cause];
    if (read.whole() && lost == 0) return {};
    return failure(ErrorCode::kCorrupt,
                   fmt::format("{} is {}; without --strict it is replayed as far as it goes", options_.trace,
                               !read.whole() ? "damaged or interrupted" : "lossy"));
  }

  // Every decision of a replay, against a target that answers at once and touches nothing.
  Result<int> rehearse() {
    TargetSpec nothing;
    nothing.kind = "null";
    IOTAPE_ASSIGN(auto target, make_target(nothing, {}));
    IOTAPE_ASSIGN(report_, session_.replay(*target, {}, nullptr));
    facts_.description = options_.target.text();
    if (options_.json)
      fmt::print(terminal_.out, "{}\n", summary_json(summary()));
    else
      print_dry_run(terminal_, summary());
    if (!terminal_.quiet)
      fmt::print(terminal_.err, "next: iotape replay {} {} -o RESULT\n", shell_word(options_.trace),
                 shell_word(options_.target_text));
    return kExitOk;
  }

  Result<void> run_pass(std::uint32_t pass) {
    // A directory that was empty before the first pass is emptied for the next.
    if (pass > 0 && options_.target.kind == "dir") IOTAPE_TRY(empty_directory(options_.target.place));
    options_.target_options.stop = &stop_.flag();
    IOTAPE_ASSIGN(auto target, make_target(options_.target, options_.target_options));
    if (options_.target_options.tree == TreePolicy::kPrepare)
      IOTAPE_TRY(target->prepare(session_.tree().nodes, progress()));
    if (options_.cold) IOTAPE_TRY(target->make_cold());
    const bool last = pass + 1 == options_.loops;
    std::unique_ptr<ResultTrace> result;
    if (last && !options_.result.empty()) {
      IOTAPE_ASSIGN(result, create_result(*target));
    }
    EngineOptions engine = engine_options(options_.pace, target->facts().clock, stop_);
    engine.order = options_.order;
    auto report = session_.replay(*target, engine, result.get());
    if (!report && result) static_cast<void>(result->break_off());  // the first failure is the one to tell
    if (!report) return tl::make_unexpected(std::move(report).error());
    report_ = std::move(*report);
    IOTAPE_TRY(target->finish(options_.final_sync && !report_.stopped));
    walls_.push_back({report_.end - report_.anchor, target->now() - report_.anchor});
    facts_ = target->facts();
    if (result) IOTAPE_TRY(report_.stopped ? result->break_off() : result->finish(report_, session_.surveyed().losses));
    return {};
  }

  [[nodiscard]] PrepareProgress progress() const {
    if (!terminal_.err_is_terminal || terminal_.quiet) return {};
    return [this](std::uint64_t done) {
      fmt::print(terminal_.err, "\rpreparing {} of {} ", format_count(done),
                 format_count(session_.tree().nodes.size()));
      if (done >= session_.tree().nodes.size()) fmt::print(terminal_.err, "\r\x1b[K");
      std::fflush(terminal_.err);
    };
  }

  Result<std::unique_ptr<ResultTrace>> create_result(Target& target) {
    IOTAPE_ASSIGN(auto file, create_output(options_.result, options_.force));
    std::unique_ptr<SelfRecorder> recorder;
    if (target.facts().makes_requests) {
      recorder = std::make_unique<TargetRequests>(target);
    } else if (make_recorder_ && target.facts().device) {
      auto made = make_recorder_();
      if (made)
        recorder = std::move(*made);
      else if (!terminal_.quiet)
        fmt::print(terminal_.err, "the result will hold calls only: {}\n", made.error().message);
    }
    ResultOptions result;
    result.file_name = options_.result;
    result.command = fmt::format("replay {} {} --pace {} --order {}{}", file_name(options_.trace), options_.target.kind,
                                 options_.pace_text, options_.order_text, options_.cold ? " --cold" : "");
    result.cold = options_.cold;
    result.calls_overlap = options_.order != ReplayOrder::kStrict;
    result.notes = session_.notes(options_.order);
    auto trace = ResultTrace::create(std::move(file), session_.surveyed().header, target, result, std::move(recorder));
    result_begun_ = trace.has_value();
    if (!result_begun_) remove_output(options_.result);
    return trace;
  }

  Result<int> conclude() {
    if (options_.json)
      fmt::print(terminal_.out, "{}\n", summary_json(summary()));
    else
      print_summary(terminal_, summary());
    if (!terminal_.quiet) {
      if (options_.result.empty())
        fmt::print(terminal_.err, "next: iotape replay {} {} -o RESULT keeps the replay as a trace\n",
                   shell_word(options_.trace), shell_word(options_.target_text));
      else
        fmt::print(terminal_.err, "next: iotape compare {} {}\n", shell_word(options_.trace),
                   shell_word(options_.result));
    }
    if (report_.stopped) return kExitInterrupted;
    return report_.diverged(options_.strict) ? kExitDiverged : kExitOk;
  }

  const Terminal& terminal_;
  ReplayOptions options_;
  const SelfRecorderFactory& make_recorder_;
  ReplaySession session_;
  StopRequests stop_;
  ReplayReport report_;
  TargetFacts facts_;
  std::vector<PassTimes> walls_;
  bool result_begun_ = false;
};

}  // namespace

int run_replay(CommandCall& call, const SelfRecorderFactory& make_recorder) {
  int status = kExitOk;
  auto options = parse_replay_options(call, status);
  if (!options) return status;
  const auto done = ReplayRun(*call.terminal, std::move(*options), make_recorder).run();
  return done ? *done : report_error(*call.terminal, "replay", done.error());
}

}  // namespace iotape
