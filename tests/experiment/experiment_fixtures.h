// Small traces, specifications and targets for experiments that run in no time.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "format/trace_files.h"
#include "replayer/experiment/experiment_runner.h"
#include "tests/replayer/fake_target.h"
#include "tests/support/test_support.h"

namespace iotape::test {

inline std::string save_trace(const TraceBuilder& trace, const std::string& path) {
  TraceHeader header = trace.header;
  header.has_syscalls = true;
  auto writer = TraceWriter::create(create_output(path, false).value(), header, {.resolution = Nanoseconds(1)}).value();
  std::uint64_t calls = 0;
  for (const EventBody& event : trace.events) {
    calls += std::holds_alternative<Syscall>(event) ? 1 : 0;
    EXPECT_TRUE(writer->append(event));
  }
  TraceTotals totals;
  totals.seen = calls;
  EXPECT_TRUE(writer->finish(totals));
  return path;
}

// Directories made, then removed.
inline TraceBuilder directories_made_and_removed(int count) {
  TraceBuilder trace;
  for (int i = 0; i < count; ++i) trace.mkdir(trace.here("directory" + std::to_string(i)));
  for (int i = 0; i < count; ++i) trace.unlink(trace.here("directory" + std::to_string(i)), AT_REMOVEDIR);
  return trace;
}

// What happened to the targets of a run, in order: "make A", "cold A", "call A", "finish A".
using Diary = std::vector<std::string>;

// A FakeTarget that keeps a diary.
class DiaryTarget final : public Target {
 public:
  DiaryTarget(std::string name, Diary& diary, Nanoseconds cost, ClockKind clock)
      : name_(std::move(name)), diary_(diary), clock_(clock) {
    fake_.cost = cost;
    diary_.push_back("make " + name_);
  }
  ~DiaryTarget() override { diary_.push_back("drop " + name_); }
  TargetFacts facts() const override {
    TargetFacts facts = fake_.facts();
    facts.description = name_;
    facts.clock = clock_;
    return facts;
  }
  Nanoseconds now() const override { return fake_.now(); }
  Result<void> prepare(const InitialTree&, const PrepareProgress&) override { return {}; }
  Result<void> make_cold() override {
    diary_.push_back("cold " + name_);
    fake_.clock += Nanoseconds(500);
    return {};
  }
  Result<void> start_thread(const ThreadStart& start) override { return fake_.start_thread(start); }
  Result<void> end_thread(TargetThread thread) override { return fake_.end_thread(thread); }
  Result<void> submit(TargetCall call) override {
    if (diary_.back() != "call " + name_) diary_.push_back("call " + name_);
    return fake_.submit(std::move(call));
  }
  Result<Completion> next_completion() override { return fake_.next_completion(); }
  Result<void> finish(bool) override {
    diary_.push_back("finish " + name_);
    fake_.clock += Nanoseconds(700);
    return {};
  }

 private:
  FakeTarget fake_;
  std::string name_;
  Diary& diary_;
  ClockKind clock_;
};

inline ExperimentPlan plan_of(const std::string& text, const std::string& directory = ".") {
  auto spec = parse_experiment(text, "test.experiment");
  EXPECT_TRUE(spec) << spec.error().message;
  auto plan = plan_experiment(spec.value_or(ExperimentSpec{}), {directory});
  EXPECT_TRUE(plan) << plan.error().message;
  return plan.value_or(ExperimentPlan{});
}

}  // namespace iotape::test
