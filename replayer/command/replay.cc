#include "replayer/command/replay.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <stop_token>
#include <thread>

#include "format/base/units.h"
#include "format/command/trace_health.h"
#include "format/quoting.h"
#include "format/trace_files.h"
#include "replayer/command/replay_options.h"
#include "replayer/command/replay_summary.h"
#include "replayer/engine/result_trace.h"
#include "replayer/engine/target_requests.h"
#include "replayer/target/channel.h"

namespace iotape {
namespace {

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

// SIGINT and SIGTERM end a replay with its report, also while a call blocks or the tree is made. A thread of its own
// takes them, so that no state is shared with a handler; after the first one it lets the next end the program at once.
class StopRequests {
 public:
  StopRequests() {
    ::sigemptyset(&signals_);
    ::sigaddset(&signals_, SIGINT);
    ::sigaddset(&signals_, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    watcher_ = std::jthread([this](const std::stop_token& end) { watch(end); });
  }
  ~StopRequests() {
    watcher_ = {};
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  StopRequests(const StopRequests&) = delete;
  StopRequests& operator=(const StopRequests&) = delete;

  [[nodiscard]] bool seen() const { return seen_.load(std::memory_order_relaxed); }
  // For a target, which looks at it while it waits.
  [[nodiscard]] const std::atomic<bool>& flag() const { return seen_; }

 private:
  void watch(const std::stop_token& end) {
    constexpr timespec kTick{0, 50'000'000};
    while (!end.stop_requested()) {
      if (::sigtimedwait(&signals_, nullptr, &kTick) <= 0) continue;
      seen_ = true;
      ::pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
      return wait_for(end);
    }
  }
  // The thread must live for the next signal to find somebody who does not block it.
  static void wait_for(const std::stop_token& end) {
    constexpr auto kTick = std::chrono::milliseconds(50);
    while (!end.stop_requested()) std::this_thread::sleep_for(kTick);
  }

  sigset_t signals_{};
  sigset_t before_{};
  std::atomic<bool> seen_ = false;
  std::jthread watcher_;
};

void sleep_for(Nanoseconds duration) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const timespec time{duration.value / kSecond, duration.value % kSecond};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

class ReplayRun {
 public:
  ReplayRun(const Terminal& terminal, ReplayOptions options, const SelfRecorderFactory& make_recorder)
      : terminal_(terminal),
        options_(std::move(options)),
        make_recorder_(make_recorder),
        open_(select_events(open_trace_file(options_.trace), options_.selection)) {}

  // A result that was begun is kept: it can be read as far as it got.
  Result<int> run() {
    auto status = run_passes();
    if (!status && result_begun_ && options_.result != "-")
      status.error().message += fmt::format(" ({} holds the replay up to there)", options_.result);
    return status;
  }

 private:
  Result<int> run_passes() {
    IOTAPE_TRY(survey());
    if (options_.dry_run) return rehearse();
    for (std::uint32_t pass = 0; pass < options_.loops; ++pass) {
      IOTAPE_TRY(run_pass(pass));
      if (report_.stopped) break;
    }
    return conclude();
  }

  [[nodiscard]] ReplaySummary summary() const {
    return {options_,           survey_,           roots_,       tree_.summary, &report_,
            facts_.description, facts_.filesystem, facts_.notes, walls_,        options_.result};
  }

  Result<void> survey() {
    IOTAPE_ASSIGN(auto source, open_());
    IOTAPE_ASSIGN(survey_, survey_trace(*source, options_.pace.longest_gap));
    report_unmatched(terminal_, "replay", options_.trace, source->unmatched());
    if (survey_.calls == 0 && survey_.unselected > 0)
      return failure(ErrorCode::kUsage, fmt::format("the selection leaves none of the {} calls of {} to replay",
                                                    format_count(survey_.unselected), options_.trace));
    if (survey_.calls == 0)
      return failure(ErrorCode::kUnsupported, fmt::format("{} holds no system calls to replay", options_.trace));
    if (options_.strict) IOTAPE_TRY(refuse_damage());
    print_plan(terminal_, summary());  // damage first: it may explain what follows
    IOTAPE_ASSIGN(roots_, choose_roots(survey_, {options_.mappings, options_.external}));
    if (roots_.all().empty())
      return failure(ErrorCode::kUsage, "no directory of the trace is changed or listed; name one with --map FROM=TO");
    tree_ = build_initial_tree(survey_, roots_);
    if (!options_.json) print_unplaced(terminal_, summary());
    return check_threads();
  }

  // Found out before anything is made rather than in the middle of the run.
  Result<void> check_threads() const {
    if (options_.target.kind == "null" || survey_.most_threads < kThreadSlots) return {};
    return failure(ErrorCode::kLimit,
                   fmt::format("{} threads of the trace live at once, a target carries fewer than {}; replay a part "
                               "with --process or --from and --to",
                               format_count(survey_.most_threads), format_count(kThreadSlots)));
  }

  Result<void> refuse_damage() const {
    const ReadReport& read = survey_.read_report;
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
    IOTAPE_ASSIGN(auto source, open_());
    IOTAPE_ASSIGN(report_, run_replay_pass(*source, survey_.model->names().rewound(), roots_, *target, {}, nullptr));
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

  // A directory that was empty before the first pass is emptied for the next.
  Result<void> empty_directory() const {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(options_.target.place, error)) {
      std::filesystem::remove_all(entry.path(), error);
      if (error) break;
    }
    if (error) return system_failure("emptying " + options_.target.place + " for the next pass", error.value());
    return {};
  }

  Result<void> run_pass(std::uint32_t pass) {
    if (pass > 0 && options_.target.kind == "dir") IOTAPE_TRY(empty_directory());
    options_.target_options.stop = &stop_.flag();
    IOTAPE_ASSIGN(auto target, make_target(options_.target, options_.target_options));
    if (options_.target_options.tree == TreePolicy::kPrepare) IOTAPE_TRY(target->prepare(tree_.nodes, progress()));
    if (options_.cold) IOTAPE_TRY(target->make_cold());
    const bool last = pass + 1 == options_.loops;
    std::unique_ptr<ResultTrace> result;
    if (last && !options_.result.empty()) {
      IOTAPE_ASSIGN(result, create_result(*target));
    }
    IOTAPE_ASSIGN(auto source, open_());
    auto report = run_replay_pass(*source, survey_.model->names().rewound(), roots_, *target,
                                  engine_options(target->facts().clock), result.get());
    if (!report && result) static_cast<void>(result->break_off());  // the first failure is the one to tell
    if (!report) return tl::make_unexpected(std::move(report).error());
    report_ = std::move(*report);
    IOTAPE_TRY(target->finish(options_.final_sync && !report_.stopped));
    walls_.push_back({report_.end - report_.anchor, target->now() - report_.anchor});
    facts_ = target->facts();
    if (result) IOTAPE_TRY(report_.stopped ? result->break_off() : result->finish(report_, survey_.losses));
    return {};
  }

  [[nodiscard]] PrepareProgress progress() const {
    if (!terminal_.err_is_terminal || terminal_.quiet) return {};
    return [this](std::uint64_t done) {
      fmt::print(terminal_.err, "\rpreparing {} of {} ", format_count(done), format_count(tree_.nodes.size()));
      if (done >= tree_.nodes.size()) fmt::print(terminal_.err, "\r\x1b[K");
      std::fflush(terminal_.err);
    };
  }

  EngineOptions engine_options(ClockKind clock) {
    EngineOptions engine;
    engine.pace = options_.pace;
    engine.stop_requested = [this] { return stop_.seen(); };
    if (clock != ClockKind::kVirtual)
      engine.wait = [this](Nanoseconds step) {
        if (!stop_.seen()) sleep_for(step);
      };
    return engine;
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
    result.command = fmt::format("replay {} {} --pace {} --order strict{}", file_name(options_.trace),
                                 options_.target.kind, options_.pace_text, options_.cold ? " --cold" : "");
    result.cold = options_.cold;
    result.notes = notes();
    auto trace = ResultTrace::create(std::move(file), survey_.header, target, result, std::move(recorder));
    result_begun_ = trace.has_value();
    if (!result_begun_ && std::filesystem::is_regular_file(options_.result)) ::unlink(options_.result.c_str());
    return trace;
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    for (const ReplayRoot& root : roots_.all())
      notes.push_back(fmt::format("map {}={}", root.from, root.to.empty() ? "/" : root.to));
    if (survey_.threads_with_calls > 1)
      notes.push_back(fmt::format("latencies are serialised: calls of {} threads were issued one after the other",
                                  survey_.threads_with_calls));
    if (!survey_.read_report.whole()) notes.emplace_back("the recording is damaged or interrupted");
    return notes;
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
  EventSourceOpener open_;
  StopRequests stop_;
  SurveyResult survey_;
  ReplayRoots roots_;
  BuiltTree tree_;
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
