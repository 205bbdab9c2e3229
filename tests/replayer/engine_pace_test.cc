#include <gmock/gmock.h>

#include "replayer/engine/duration_histogram.h"
#include "tests/replayer/fake_target.h"

namespace iotape::test {
namespace {

constexpr std::int64_t kMicrosecond = 1000;

TraceBuilder regular_calls(int count, std::int64_t gap_ns) {
  TraceBuilder trace;
  trace.open(trace.here("f"), O_CREAT | O_EXCL | O_RDWR, 3, regular_of(1));
  for (int i = 0; i < count; ++i) {
    trace.write(fd(3, regular_of(1)), i * 4096, 4096).duration = Nanoseconds(0);
    trace.time += Nanoseconds(gap_ns - 1000);
  }
  return trace;
}

EngineOptions paced(std::string_view text, std::optional<Nanoseconds> gap = std::nullopt) {
  EngineOptions options;
  options.pace = *parse_pace(text);
  options.pace.longest_gap = gap;
  return options;
}

double took(const Replayed& run) { return static_cast<double>((run.report.end - run.report.anchor).value); }

TEST(Pace, ManyShortGapsDoNotAddUp) {
  constexpr int kCalls = 100'000;
  const Replayed run(regular_calls(kCalls, 20 * kMicrosecond), RootOptions{}, paced("recorded"));
  EXPECT_NEAR(took(run), 2e9, 2e7);
  EXPECT_LE(run.report.lateness->percentile(0.99).value, 0);
}

TEST(Pace, SpeedsScaleBothWays) {
  const TraceBuilder trace = regular_calls(1000, 20 * kMicrosecond);
  EXPECT_NEAR(took(Replayed(trace, RootOptions{}, paced("2x"))), 1e7, 1e5);
  EXPECT_NEAR(took(Replayed(trace, RootOptions{}, paced("0.5x"))), 4e7, 1e5);
}

TEST(Pace, AsapLeavesNoGaps) {
  const Replayed run(regular_calls(1000, 20 * kMicrosecond));
  EXPECT_NEAR(took(run), 1001 * 1000, 1000);
}

TEST(Pace, LatenessIsMeasuredFromTheAnchorAndNotCarriedOn) {
  // A target that needs 50 us for every tenth call: late once, then on time again.
  int asked = 0;
  const Replayed run(
      regular_calls(100, 20 * kMicrosecond),
      [&asked](FakeTarget& target) {
        target.answer = [&](const TargetCall& call) {
          target.cost = Nanoseconds(++asked % 10 == 0 ? 50'000 : 1000);
          return target.success(call);
        };
      },
      paced("recorded"));
  EXPECT_NEAR(took(run), 2e6, 5e4);
  EXPECT_GT(run.report.lateness->maximum().value, 20'000);
  EXPECT_EQ(run.report.lateness->percentile(0.5).value, 0);
}

TEST(Pace, BackwardTimestampsAddNothing) {
  Timeline timeline;
  std::vector<std::int64_t> offsets;
  for (const std::int64_t ms : {0, 10, 5, 6, 20}) offsets.push_back(timeline.offset(Nanoseconds(ms)).value);
  EXPECT_THAT(offsets, testing::ElementsAre(0, 10, 5, 6, 20));
}

TEST(Pace, OneWildTimestampNeitherHangsNorShifts) {
  for (const std::size_t where : {std::size_t{4}, std::size_t{50}, std::size_t{104}}) {
    TraceBuilder trace = regular_calls(100, 20 * kMicrosecond);
    std::get<Syscall>(trace.events[where == 4 ? 3 : where - 1]).start = Nanoseconds(std::int64_t{1} << 62);
    const Replayed run(trace, RootOptions{}, paced("recorded"));
    EXPECT_NEAR(took(run), 2e6, 5e4) << where;
    EXPECT_EQ(run.report.implausible_times, 1U);
  }
}

TEST(Pace, LongGapsAreCut) {
  TraceBuilder trace = regular_calls(10, 20 * kMicrosecond);
  trace.time += Nanoseconds(3'600'000'000'000);
  trace.write(fd(3, regular_of(1)), 0, 1);
  EXPECT_NEAR(took(Replayed(trace, RootOptions{}, paced("recorded", Nanoseconds(1'000'000)))), 1.2e6, 5e4);
  EXPECT_GT(took(Replayed(trace, RootOptions{}, paced("recorded"))), 3.5e12);
}

TEST(Pace, ThinkingIsKeptAndTheTargetsOwnTimeAdded) {
  // 20 us apart, of which the recorded call took 5: 15 us of thinking. The target takes 1 us.
  TraceBuilder trace;
  trace.open(trace.here("f"), O_CREAT | O_EXCL | O_RDWR, 3, regular_of(1)).duration = Nanoseconds(0);
  for (int i = 0; i < 1000; ++i) {
    trace.write(fd(3, regular_of(1)), 0, 1).duration = Nanoseconds(5 * kMicrosecond);
    trace.time += Nanoseconds(19 * kMicrosecond);
  }
  const Replayed run(trace, RootOptions{}, paced("think"));
  EXPECT_NEAR(took(run), 16e6, 1e5);
}

TEST(Pace, ACallThatIsSkippedCountsAsThinking) {
  TraceBuilder trace;
  trace.open(trace.here("f"), O_CREAT | O_EXCL | O_RDWR, 3, regular_of(1));
  Read from_pipe;
  from_pipe.descriptor = fd(0, file_of(600, FileKind::kFifo));
  trace.call(0, from_pipe, {10, 0}).duration = Nanoseconds(500 * kMicrosecond);
  trace.time += Nanoseconds(500 * kMicrosecond);
  trace.write(fd(3, regular_of(1)), 0, 1);
  const Replayed run(trace, RootOptions{}, paced("think"));
  EXPECT_GT(took(run), 500'000);
}

TEST(Pace, ExpectationsNameTheDirection) {
  const Nanoseconds ten_minutes(600'000'000'000);
  EXPECT_EQ(describe_expectation(*parse_pace("2x"), ten_minutes, ten_minutes),
            "trace 600 s -> about 300 s (2x = twice as fast)");
  EXPECT_EQ(describe_expectation(*parse_pace("0.5x"), ten_minutes, ten_minutes),
            "trace 600 s -> about 1.2e+03 s (0.5x = half as fast)");
  EXPECT_FALSE(parse_pace("fast"));
}

TEST(DurationHistogram, PercentilesAreWithinTwoPercent) {
  DurationHistogram histogram;
  for (std::int64_t value = 1; value <= 100'000; ++value) histogram.add(Nanoseconds(value * 37));
  EXPECT_NEAR(static_cast<double>(histogram.percentile(0.5).value), 50'000 * 37.0, 50'000 * 37.0 * 0.016);
  EXPECT_NEAR(static_cast<double>(histogram.percentile(0.99).value), 99'000 * 37.0, 99'000 * 37.0 * 0.016);
  EXPECT_EQ(histogram.percentile(1).value, 3'700'000);
  histogram.add(Nanoseconds(INT64_MAX));
  EXPECT_EQ(histogram.maximum().value, INT64_MAX);
}

}  // namespace
}  // namespace iotape::test
