#include "analysis/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/significance.h"
#include "tests/analysis/seek_fixtures.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

using testing::HasSubstr;

RunGroup group(const std::string& label, const std::vector<double>& wall_times, double seeks = 100) {
  RunGroup made{label, {}};
  for (const double time : wall_times) {
    RunFigures run;
    run.trace = label + ".iotape";
    run.values["wall_time"] = time;
    run.values["seeks"] = seeks;
    made.runs.push_back(run);
  }
  return made;
}

RunGroup simulated(RunGroup group) {
  for (RunFigures& run : group.runs) run.condition.simulated = true;
  return group;
}

TEST(Comparison, OneSimulatedRunOfEachIsEnough) {
  Comparison comparison{{simulated(group("orlov", {20e9})), simulated(group("classic", {30e9}))}, {}};
  EXPECT_THAT(comparison.conclusion(), HasSubstr("orlov has the least wall time by median, against classic (+50.0 %)"));
  const auto difference = comparison.difference(1, "wall_time");
  ASSERT_TRUE(difference);
  EXPECT_TRUE(difference->exact);
  EXPECT_TRUE(difference->shown);
  EXPECT_FALSE(comparison.difference(1, "seeks")->shown);
  EXPECT_THAT(comparison_text(comparison, Terminal{}), testing::Not(HasSubstr("n=1 means")));
}

TEST(Comparison, APartOfARunWinsNothing) {
  for (const bool damaged : {false, true}) {
    Comparison comparison{{group("whole", {20e9}), group("part", {1e6})}, {}};
    TraceCondition& condition = comparison.groups[1].runs[0].condition;
    condition.damaged = damaged ? 1 : 0;
    condition.interrupted = !damaged;
    EXPECT_THAT(comparison.conclusion(), HasSubstr("holds only a part of its run, so nothing can be concluded"));
  }
}

TEST(Comparison, ASimulatedRunAgainstARealOneShowsNothingAboutChance) {
  Comparison comparison{{simulated(group("here", {20e9})), group("there", {30e9})}, {}};
  EXPECT_THAT(comparison.conclusion(), HasSubstr("virtual time and some in real time"));
  EXPECT_FALSE(comparison.difference(1, "wall_time")->exact);
}

TEST(Comparison, ADocumentKeepsThatItsRunsAreSimulated) {
  const test::ScratchDirectory scratch;
  const std::string path = scratch / "c.json";
  const Comparison comparison{{simulated(group("orlov", {20e9})), group("real", {30e9})}, {}};
  test::write_file(path, comparison_json(comparison));
  const auto runs = read_figures(path, {}, 128);
  ASSERT_TRUE(runs) << runs.error().message;
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_TRUE(runs->front().condition.simulated);
  EXPECT_FALSE(runs->back().condition.simulated);
}

TEST(RunFigures, ADocumentOfWrongTypesIsReadWithoutThem) {
  const test::ScratchDirectory scratch;
  const std::string path = scratch / "c.json";
  test::write_file(path, R"({"schema":"iotape.compare/1","runs":[{"trace":5,"interrupted":"no","lost":-1,"damaged":{},)"
                         R"("latencies_serialised":[],"figures":{"wall_time":1e300,"seeks":"many"}}]})");
  const auto runs = read_figures(path, {}, 128);
  ASSERT_TRUE(runs) << runs.error().message;
  ASSERT_EQ(runs->size(), 1U);
  EXPECT_EQ(runs->front().trace, "");
  EXPECT_FALSE(runs->front().condition.interrupted);
  EXPECT_EQ(runs->front().condition.lost, 0U);
  EXPECT_FALSE(runs->front().value("seeks"));
  EXPECT_NE(metric_text(*find_metric("wall_time"), *runs->front().value("wall_time")), "");
}

ReplayRecord fate(std::uint64_t source, SkipReason reason) {
  ReplayRecord record;
  record.source = EventId(source);
  record.skipped = reason;
  return record;
}

TEST(RepeatedCalls, AreThoseAnyReplayIssued) {
  RepeatedCalls repeated;
  repeated.add(fate(3, SkipReason::kExternal));
  repeated.add(fate(4, SkipReason::kRefused));
  repeated.add(fate(5, SkipReason::kIssued));
  // Another replay of the same trace.
  repeated.add(fate(3, SkipReason::kExternal));
  repeated.add(fate(4, SkipReason::kIssued));
  repeated.add(fate(5, SkipReason::kRefused));
  repeated.add(fate(~0ULL, SkipReason::kIssued));
  EXPECT_TRUE(repeated.contains(EventId(4)));
  EXPECT_TRUE(repeated.contains(EventId(5)));
  EXPECT_FALSE(repeated.contains(EventId(3)));
  EXPECT_FALSE(repeated.contains(EventId(0)));
  EXPECT_FALSE(repeated.contains(EventId(~0ULL))) << "a claim that would cost all memory";
  EXPECT_EQ(repeated.issued(), 2U);
  EXPECT_EQ(repeated.calls(), 3U);
  EXPECT_EQ(repeated.left_out(), "1 external");
}

TEST(Significance, EqualsTheTablesOfMannAndWhitney) {
  const std::vector<double> low{1, 2, 3, 4};
  const std::vector<double> high{5, 6, 7, 8};
  EXPECT_NEAR(*difference_probability(low, high), 2.0 / 70, 1e-12);
  const std::vector<double> three{1, 2, 3};
  const std::vector<double> other_three{4, 5, 6};
  EXPECT_NEAR(*difference_probability(three, other_three), 2.0 / 20, 1e-12);
  const std::vector<double> mixed{1, 4, 6};
  const std::vector<double> between{2, 3, 5};
  EXPECT_EQ(*difference_probability(mixed, between), 1.0) << "rank sums of 11 and 10 are as near as they can be";
  EXPECT_NEAR(least_probability(3, 3), 0.1, 1e-12);
}

TEST(Significance, EqualValuesDoNotDiffer) {
  const std::vector<double> same{5, 5, 5, 5, 5};
  EXPECT_EQ(difference_probability(same, same), 1.0);
}

TEST(Significance, OneRunSaysNothing) {
  const std::vector<double> one{1};
  const std::vector<double> many{5, 6, 7};
  EXPECT_FALSE(difference_probability(one, many));
}

TEST(Significance, TheApproximationMeetsTheExactValue) {
  std::vector<double> a;
  std::vector<double> b;
  for (int i = 0; i < 30; ++i) a.push_back(i), b.push_back(i + 12);
  const double p = *difference_probability(a, b);
  EXPECT_LT(p, 0.01);
  EXPECT_GT(p, 1e-6);
  EXPECT_EQ(*difference_probability(a, a), 1.0);
}

TEST(Comparison, AClearDifferenceIsShownWithItsProbability) {
  const Comparison comparison{{group("ext3", {100, 101, 99, 102, 98}), group("xfs", {50, 51, 49, 52, 48})}, {}};
  const auto difference = comparison.difference(1, "wall_time");
  ASSERT_TRUE(difference);
  EXPECT_TRUE(difference->shown);
  EXPECT_NEAR(*difference->change, -0.5, 1e-9);
  EXPECT_EQ(difference->n, 5U);
  EXPECT_THAT(comparison.conclusion(), HasSubstr("xfs has the least wall time"));
  EXPECT_THAT(comparison.conclusion(), HasSubstr("difference shown against ext3"));
}

TEST(Comparison, NoiseIsATilde) {
  const Comparison comparison{{group("a", {100, 110, 90, 105, 95}), group("b", {101, 108, 92, 104, 97})}, {}};
  EXPECT_FALSE(comparison.difference(1, "wall_time")->shown);
  EXPECT_THAT(comparison_text(comparison, Terminal{}), HasSubstr("~ p="));
  EXPECT_THAT(comparison.conclusion(), HasSubstr("no difference shown against"));
}

TEST(Comparison, TooFewRunsAreSaidToBeTooFew) {
  const Comparison comparison{{group("a", {100, 101, 102}), group("b", {50, 51, 52})}, {}};
  EXPECT_FALSE(comparison.difference(1, "wall_time")->shown);
  EXPECT_THAT(comparison.conclusion(), HasSubstr("so few runs cannot show one"));
}

TEST(Comparison, OneRunEachConcludesNothing) {
  const Comparison comparison{{group("a", {100}), group("b", {50})}, {}};
  EXPECT_THAT(comparison_text(comparison, Terminal{}), HasSubstr("-50.0 % n=1"));
  EXPECT_THAT(comparison.conclusion(), HasSubstr("nothing can be concluded from one run (n=1)"));
}

TEST(Comparison, LossesAndSerialisedLatenciesOfEveryInputAreRepeated) {
  Comparison comparison{{group("a", {1}), group("b", {1})}, {}};
  comparison.groups[1].runs[0].condition.lost = 7;
  comparison.groups[0].runs[0].condition.serialised = true;
  const std::string text = comparison_text(comparison, Terminal{});
  EXPECT_THAT(text, HasSubstr("b.iotape: INCOMPLETE: 7 events lost"));
  EXPECT_THAT(text, HasSubstr("a.iotape: latencies are serialised"));
}

TEST(Comparison, TablesStayWithinTheirWidth) {
  Comparison comparison{{group("a-rather-long-name-of-a-filesystem", {123'456'789, 2}, 1e12), group("b", {1, 2}, 1e13),
                         group("c", {3, 4})},
                        {}};
  std::istringstream lines(comparison_text(comparison, Terminal{}));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 74U) << line;
}

TEST(FailLimits, BreakOnTheMedian) {
  Comparison comparison{{group("a", {100}, 100), group("b", {103}, 101)}, {}};
  const auto limits = [&](const std::string& text) {
    comparison.broken_limits.clear();
    const auto limit = parse_fail_limit(text);
    EXPECT_TRUE(limit) << text;
    EXPECT_TRUE(check_limits(comparison, {*limit}));
    return comparison.broken_limits.size();
  };
  EXPECT_EQ(limits("wall_time>+2%"), 1U);
  EXPECT_EQ(limits("seeks>+2%"), 0U);
  EXPECT_EQ(limits("seeks>100"), 1U) << "b has 101";
  EXPECT_EQ(limits("seeks<50"), 0U);
  EXPECT_EQ(limits("errors>0"), 1U) << "a limit nobody can check is broken, not passed";
}

TEST(FailLimits, AnUnknownMetricIsAUsageErrorThatListsThem) {
  const auto limit = parse_fail_limit("sekks>+2%");
  ASSERT_FALSE(limit);
  EXPECT_EQ(limit.error().code, ErrorCode::kUsage);
  EXPECT_THAT(limit.error().message, HasSubstr("wall_time"));
  EXPECT_THAT(limit.error().message, HasSubstr("seek_distance"));
  EXPECT_FALSE(parse_fail_limit("seeks"));
  EXPECT_FALSE(parse_fail_limit("seeks>"));
  EXPECT_FALSE(parse_fail_limit("seeks>+x%"));
}

TEST(FailLimits, ARelativeLimitNeedsTwo) {
  Comparison comparison{{group("a", {100})}, {}};
  EXPECT_FALSE(check_limits(comparison, {*parse_fail_limit("seeks>+2%")}));
}

Syscall call(std::uint32_t number, Operation operation, std::int64_t start, std::int64_t duration, OpOutcome outcome) {
  Syscall made;
  made.number = number;
  made.operation = std::move(operation);
  made.start = Nanoseconds(start);
  made.duration = Nanoseconds(duration);
  made.blocked = Nanoseconds(duration / 2);
  made.outcome = outcome;
  return made;
}

TEST(RunFigures, AreMadeOfCallsAndRequests) {
  CallStatistics calls;
  calls.add(call(1, Write{}, 1000, 100, {4096, 0}));
  calls.add(call(1, Write{}, 2000, 300, {-1, 28}));
  Syscall skipped = call(0, Read{}, 5000, 100, {});
  skipped.replay = ReplayRecord{EventId(1), {}, {}, SkipReason::kNotAFile};
  calls.add(skipped);
  Syscall differing = call(0, Read{}, 2500, 500, {10, 0});
  differing.replay = ReplayRecord{EventId(2), {}, {20, 0}, SkipReason::kIssued};
  calls.add(differing);
  SeekReport seeks = test::analyse({test::issued(0, 0, 16, test::kDisk, BlockOperation::kWrite),
                                    test::issued(0, 0, 0, test::kDisk, BlockOperation::kFlush)});
  const RunFigures figures = figures_of(calls, seeks, true, true);
  EXPECT_EQ(figures.value("wall_time"), 2000);
  EXPECT_EQ(figures.value("system_cpu"), 450);
  EXPECT_EQ(figures.value("calls"), 3);
  EXPECT_EQ(figures.value("skipped"), 1);
  EXPECT_EQ(figures.value("errors"), 1);
  EXPECT_EQ(figures.value("mismatches"), 1);
  EXPECT_EQ(figures.value("write_p50"), 100);
  EXPECT_EQ(figures.value("write_p99"), 300);
  EXPECT_EQ(figures.value("flushes"), 1);
  EXPECT_EQ(figures.value("write_amplification"), 2.0);
  EXPECT_EQ(figures.value("seeks"), 0) << "zero is a value";
  EXPECT_FALSE(figures.value("fsync_p50")) << "and absent is none";
}

}  // namespace
}  // namespace iotape
