#include "replayer/engine/replay_session.h"

#include <fmt/format.h>
#include <time.h>

#include "format/base/units.h"
#include "replayer/target/channel.h"

namespace iotape {
namespace {

void sleep_for(Nanoseconds duration) {
  const timespec time{duration.value / kNanosecondsPerSecond, duration.value % kNanosecondsPerSecond};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

class StoppableSource final : public EventSource {
 public:
  StoppableSource(std::unique_ptr<EventSource> from, const StopRequests& stop) : from_(std::move(from)), stop_(stop) {}
  const TraceHeader& header() const override { return from_->header(); }
  Result<Event*> next() override {
    if (stop_.seen()) return failure(ErrorCode::kInterrupted, "interrupted");
    return from_->next();
  }
  bool selected() const override { return from_->selected(); }
  std::vector<std::string> unmatched() const override { return from_->unmatched(); }
  const ReadReport& report() const override { return from_->report(); }

 private:
  std::unique_ptr<EventSource> from_;
  const StopRequests& stop_;
};

// What a damaged trace does not hold it may have lost: that is what its reader must hear first.
tl::unexpected<Error> nothing_left(const ReadReport& report, const std::string& name, ErrorCode code,
                                   std::string message) {
  if (report.whole()) return failure(code, std::move(message));
  return failure(ErrorCode::kCorrupt, fmt::format("{} is damaged or interrupted, and in what could be read of it {}; "
                                                  "`iotape info` tells what is missing",
                                                  name, message));
}

}  // namespace

Result<void> ReplaySession::survey(std::optional<Nanoseconds> longest_gap) {
  IOTAPE_ASSIGN(auto source, open_());
  IOTAPE_ASSIGN(survey_, survey_trace(*source, longest_gap));
  unmatched_ = source->unmatched();
  if (survey_.calls > 0) return {};
  if (survey_.unselected > 0)
    return failure(ErrorCode::kUsage, fmt::format("the selection leaves none of the {} calls of {} to replay",
                                                  format_count(survey_.unselected), name_));
  return nothing_left(survey_.read_report, name_, ErrorCode::kUnsupported,
                      fmt::format("{} holds no system calls to replay", name_));
}

Result<void> ReplaySession::choose(const RootOptions& options) {
  IOTAPE_ASSIGN(roots_, choose_roots(survey_, options));
  if (roots_.all().empty())
    return nothing_left(survey_.read_report, name_, ErrorCode::kUsage,
                        "no directory of the trace is changed or listed; name one with --map FROM=TO");
  tree_ = build_initial_tree(survey_, roots_);
  return {};
}

Result<void> ReplaySession::check_threads() const {
  if (survey_.most_threads < kThreadSlots) return {};
  return failure(ErrorCode::kLimit,
                 fmt::format("{} threads of the trace live at once, a target carries fewer than {}; replay a part "
                             "with --process or --from and --to",
                             format_count(survey_.most_threads), format_count(kThreadSlots)));
}

Result<ReplayReport> ReplaySession::replay(Target& target, const EngineOptions& options,
                                           ReplayObserver* observer) const {
  IOTAPE_ASSIGN(auto source, open_());
  return run_replay_pass(*source, survey_.model->names().rewound(), roots_, target, options, observer);
}

std::vector<std::string> ReplaySession::notes(ReplayOrder order) const {
  std::vector<std::string> notes;
  for (const ReplayRoot& root : roots_.all())
    notes.push_back(fmt::format("map {}={}", root.from, root.to.empty() ? "/" : root.to));
  if (order == ReplayOrder::kThread)
    notes.push_back(fmt::format("order thread: calls of {} threads kept their order within a thread only",
                                survey_.threads_with_calls));
  else if (survey_.threads_with_calls > 1)
    notes.push_back(fmt::format("latencies are serialised: calls of {} threads were issued one after the other",
                                survey_.threads_with_calls));
  if (!survey_.read_report.whole()) notes.emplace_back("the recording is damaged or interrupted");
  return notes;
}

EventSourceOpener stoppable(EventSourceOpener from, const StopRequests& stop) {
  return [from = std::move(from), &stop]() -> Result<std::unique_ptr<EventSource>> {
    IOTAPE_ASSIGN(auto source, from());
    return std::make_unique<StoppableSource>(std::move(source), stop);
  };
}

EngineOptions engine_options(const PaceOptions& pace, ClockKind clock, const StopRequests& stop) {
  EngineOptions engine;
  engine.pace = pace;
  engine.stop_requested = [&stop] { return stop.seen(); };
  if (clock != ClockKind::kVirtual)
    engine.wait = [&stop](Nanoseconds step) {
      if (!stop.seen()) sleep_for(step);
    };
  return engine;
}

}  // namespace iotape
