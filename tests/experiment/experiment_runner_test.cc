// The order of runs, fresh targets, phases, equal runs and what an interruption leaves.
#include <gmock/gmock.h>
#include <signal.h>

#include <filesystem>
#include <thread>

#include "replayer/experiment/experiment_text.h"
#include "tests/experiment/experiment_fixtures.h"

namespace iotape::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ExperimentRunner : public testing::Test {
 protected:
  ExperimentRunner() { trace_ = save_trace(directories_made_and_removed(4), scratch_ / "t.iotape"); }

  std::string targets(const std::string& runs, const std::string& more = "") const {
    return "target { label: \"A\" spec: \"null:\" }\ntarget { label: \"B\" spec: \"null:\" }\nruns: " + runs +
           "\nstep { label: \"s\" trace: \"" + trace_ + "\" " + more + " }\n";
  }
  // Every other target made is B.
  RunnerOptions with_diary(ClockKind clock, Nanoseconds cost = Nanoseconds(1000)) {
    RunnerOptions options;
    options.make = [this, clock, cost](const TargetSpec&, const TargetOptions&) -> Result<std::unique_ptr<Target>> {
      return std::make_unique<DiaryTarget>(made_++ % 2 == 0 ? "A" : "B", diary_, cost, clock);
    };
    return options;
  }
  ExperimentResult run(const std::string& text, const RunnerOptions& options) {
    const StopRequests stop;
    auto result = run_experiment(plan_of(text), options, stop);
    EXPECT_TRUE(result) << result.error().message;
    return result ? std::move(*result) : ExperimentResult{};
  }

  ScratchDirectory scratch_;
  std::string trace_;
  Diary diary_;
  int made_ = 0;
};

TEST_F(ExperimentRunner, TakesTheTargetsInTurnEachRunOnANewOne) {
  const auto result = run(targets("3"), with_diary(ClockKind::kBootTime));
  Diary makes;
  for (const std::string& line : diary_)
    if (line.starts_with("make") || line.starts_with("drop")) makes.push_back(line);
  EXPECT_THAT(makes, ElementsAre("make A", "drop A", "make B", "drop B", "make A", "drop A", "make B", "drop B",
                                 "make A", "drop A", "make B", "drop B"));
  EXPECT_EQ(result.targets[0].runs.size(), 3U);
  EXPECT_FALSE(result.targets[0].identical) << "runs in real time are not expected to be equal";
}

TEST_F(ExperimentRunner, BeginsColdUnlessToldOtherwise) {
  run(targets("1"), with_diary(ClockKind::kBootTime));
  EXPECT_THAT(diary_, ElementsAre("make A", "cold A", "call A", "finish A", "drop A", "make B", "cold B", "call B",
                                  "finish B", "drop B"));
  diary_.clear();
  run(targets("1", "cache: \"hot\""), with_diary(ClockKind::kBootTime));
  EXPECT_EQ(std::ranges::count(diary_, "cold A"), 0);
}

TEST_F(ExperimentRunner, StepsFollowEachOtherOnOneTarget) {
  const std::string hot = "step { label: \"hot\" trace: \"" + trace_ + "\" }\n";
  const std::string cold = "step { label: \"cold\" cache: \"cold\" trace: \"" + trace_ + "\" }\n";
  const auto result = run(targets("1") + hot + cold, with_diary(ClockKind::kBootTime));
  // The hot step finds what the first left; before the cold one everything is written and forgotten, once.
  const Diary of_a(diary_.begin(), std::ranges::find(diary_, "make B"));
  EXPECT_THAT(of_a, ElementsAre("make A", "cold A", "call A", "cold A", "call A", "finish A", "drop A"));
  ASSERT_EQ(result.plan.rows.size(), 3U);
  EXPECT_EQ(result.figures(0, 0, 0).settled, result.figures(0, 0, 0).time) << "nothing was written for the hot step";
  EXPECT_EQ(result.figures(0, 1, 0).settled - result.figures(0, 1, 0).time, Nanoseconds(500));
  EXPECT_EQ(result.figures(0, 2, 0).settled - result.figures(0, 2, 0).time, Nanoseconds(700));
}

TEST_F(ExperimentRunner, OnAVirtualClockTwoRunsAreMadeAndComparedByteForByte) {
  const auto result = run(targets("7"), with_diary(ClockKind::kVirtual));
  EXPECT_EQ(result.targets[0].runs.size(), 2U);
  EXPECT_EQ(result.targets[1].runs.size(), 2U);
  EXPECT_EQ(result.targets[0].identical, true);
  EXPECT_THAT(result.warnings(), IsEmpty());
  EXPECT_THAT(experiment_report_text(result, Terminal{}), HasSubstr("the same byte for byte"));
}

TEST_F(ExperimentRunner, VirtualRunsThatDifferAreABugAndToldAsOne) {
  RunnerOptions options;
  options.make = [this](const TargetSpec&, const TargetOptions&) -> Result<std::unique_ptr<Target>> {
    return std::make_unique<DiaryTarget>("A", diary_, Nanoseconds(1000 + made_++), ClockKind::kVirtual);
  };
  const auto result = run(targets("2"), options);
  EXPECT_EQ(result.targets[0].identical, false);
  EXPECT_THAT(result.warnings(), testing::Contains(HasSubstr("two runs on a virtual clock differ")));
}

TEST_F(ExperimentRunner, APhaseEndsBeforeTheFirstCallThatEndsIt) {
  const auto result = run(targets("1", "phase { label: \"make\" until: \"unlinkat\" } phase { label: \"remove\" }"),
                          with_diary(ClockKind::kVirtual));
  ASSERT_EQ(result.plan.rows.size(), 2U);
  EXPECT_EQ(result.plan.rows[1].label, "remove");
  const PhaseFigures& made = result.figures(0, 0, 0);
  const PhaseFigures& removed = result.figures(0, 1, 0);
  EXPECT_EQ(made.calls, 4U);
  EXPECT_EQ(removed.calls, 4U);
  EXPECT_EQ(made.time, Nanoseconds(4000));
  EXPECT_EQ(removed.time, Nanoseconds(4000));
  EXPECT_EQ(removed.settled, Nanoseconds(4700));
}

TEST_F(ExperimentRunner, APhaseThatIsNotShownStillRuns) {
  const auto result =
      run(targets("1", "phase { label: \"make\" until: \"unlinkat\" } phase { label: \"x\" shown: false }"),
          with_diary(ClockKind::kVirtual));
  ASSERT_EQ(result.plan.rows.size(), 1U);
  EXPECT_EQ(result.figures(0, 0, 0).calls, 4U);
  EXPECT_EQ(result.figures(0, 0, 0).time, Nanoseconds(4000));
  EXPECT_EQ(result.figures(0, 0, 0).settled, Nanoseconds(8700)) << "with the phase that only writes back";
}

TEST_F(ExperimentRunner, APhaseThatIsNeverMetIsEmptyAndSaid) {
  const auto result = run(targets("1", "phase { label: \"make\" until: \"rename\" } phase { label: \"renames\" }"),
                          with_diary(ClockKind::kVirtual));
  EXPECT_EQ(result.figures(0, 0, 0).calls, 8U);
  EXPECT_EQ(result.figures(0, 1, 0).calls, 0U);
  EXPECT_THAT(result.warnings(), testing::Contains("A: renames made no call"));
}

TEST_F(ExperimentRunner, CallsThatEndOtherwiseAreTold) {
  RunnerOptions options;
  options.make = [](const TargetSpec&, const TargetOptions&) -> Result<std::unique_ptr<Target>> {
    auto target = std::make_unique<FakeTarget>();
    target->answer = [](const TargetCall& call) {
      return std::holds_alternative<Unlink>(call.operation) ? OpOutcome{0, ENOENT} : OpOutcome{0, 0};
    };
    return target;
  };
  const auto result = run(targets("1"), options);
  EXPECT_THAT(result.warnings(), testing::Contains("A, s: 4 of 8 calls ended otherwise than recorded"));
}

TEST_F(ExperimentRunner, TracesMadeInDifferentPlacesAskForAMapping) {
  TraceBuilder elsewhere;
  elsewhere.context(kTwo, "/mnt/other", 77);
  for (const char* name : {"a", "b"})
    elsewhere.call(kMkdirat, MakeDirectory{at(name, kAtCurrentDirectory, directory_of(77)), 0755}, {}, kTwo);
  const std::string other = save_trace(elsewhere, scratch_ / "other.iotape");
  const StopRequests stop;
  const auto plan = plan_of(targets("1") + "step { label: \"o\" trace: \"" + other + "\" }");
  const auto result = run_experiment(plan, with_diary(ClockKind::kVirtual), stop);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUsage);
  EXPECT_THAT(result.error().message, HasSubstr("--map"));
  EXPECT_THAT(diary_, IsEmpty()) << "found before a target was made";
}

TEST_F(ExperimentRunner, KeepsEveryStepsTraceUnderItsTargetStepAndRun) {
  RunnerOptions options = with_diary(ClockKind::kVirtual);
  options.keep = scratch_ / "kept";
  run(targets("2"), options);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(options.keep))
    names.push_back(entry.path().filename().string());
  EXPECT_THAT(names, testing::UnorderedElementsAre("A-s-1.iotape", "A-s-2.iotape", "B-s-1.iotape", "B-s-2.iotape"));
  const auto reader = TraceReader::open(options.keep + "/A-s-1.iotape");
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->header().cache, CacheCondition::kCold);

  const StopRequests stop;
  const auto again = run_experiment(plan_of(targets("2")), options, stop);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kUsage);
  EXPECT_THAT(again.error().message, HasSubstr("--force"));
}

TEST_F(ExperimentRunner, InterruptedItLeavesNoTraceOfTheStepUnderWay) {
  RunnerOptions options;
  options.keep = scratch_ / "kept";
  const StopRequests stop;
  options.make = [&](const TargetSpec&, const TargetOptions&) -> Result<std::unique_ptr<Target>> {
    auto target = std::make_unique<FakeTarget>();
    target->answer = [&stop, calls = 0](const TargetCall&) mutable {
      if (++calls == 3) ::kill(::getpid(), SIGINT);
      while (calls == 3 && !stop.seen()) std::this_thread::yield();
      return OpOutcome{0, 0};
    };
    return target;
  };
  const auto result = run_experiment(plan_of(targets("2")), options, stop);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInterrupted);
  EXPECT_TRUE(std::filesystem::is_empty(options.keep));
}

}  // namespace
}  // namespace iotape::test
