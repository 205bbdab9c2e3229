// Specifications: what is read, and that every mistake is told with file, line and key.
#include <gmock/gmock.h>

#include "format/experiment_spec.h"
#include "replayer/experiment/experiment_plan.h"
#include "replayer/experiment/shipped_experiments.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string error_of(const std::string& text) {
  const auto spec = parse_experiment(text, "mine.experiment");
  if (spec) return "no error";
  EXPECT_EQ(spec.error().code, ErrorCode::kUsage);
  return spec.error().message;
}

// Of what only the plan can judge.
std::string plan_error_of(const std::string& text, const std::vector<std::string>& directories = {"."}) {
  auto spec = parse_experiment(text, "mine.experiment");
  EXPECT_TRUE(spec) << spec.error().message;
  if (!spec) return {};
  const auto plan = plan_experiment(std::move(*spec), directories);
  if (plan) return "no error";
  EXPECT_EQ(plan.error().code, ErrorCode::kUsage);
  return plan.error().message;
}

constexpr const char* kWhole = R"(
title: "A title"
source: "somebody, 2002"
note: "said below"
target { label: "a" spec: "null:" }
target { label: "b" spec: "ext3:,alloc=classic" }
step {
  label: "both"
  workload: "manyfiles count=10"
  phase { label: "create" until: "unlink, unlinkat" }
  phase { label: "delete" }
}
step { label: "again" workload: "manyfiles count=10 do=create" cache: "cold" pace: "think" thinking: "3s" }
runs: 4
age { fill_percent: 30 seed: 7 }
claim { step: "delete" over_step: "create" target: "a" published: 2.2 low: 1.5 high: 2.9 says: "slower" }
)";

TEST(ExperimentSpec, KeepsWhatTheTextSays) {
  const auto spec = parse_experiment(kWhole, "mine.experiment");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->title, "A title");
  EXPECT_EQ(spec->targets[1].spec, "ext3:,alloc=classic");
  EXPECT_EQ(spec->targets[1].line, 6);
  EXPECT_EQ(spec->steps[0].cache, StepCache::kCold) << "a first step is cold unless it says otherwise";
  EXPECT_EQ(spec->steps[0].phases[0].until, (std::vector<std::string>{"unlink", "unlinkat"}));
  EXPECT_EQ(spec->steps[1].pace, "think");
  EXPECT_EQ(spec->runs, 4U);
  EXPECT_EQ(spec->age->fill_percent, 30U);
  EXPECT_TRUE(spec->claims[0].is_ratio());
  EXPECT_DOUBLE_EQ(*spec->claims[0].published, 2.2);
}

TEST(ExperimentSpec, ItsTextReadsBackAsTheSame) {
  const auto spec = parse_experiment(kWhole, "mine.experiment");
  ASSERT_TRUE(spec);
  const std::string once = experiment_text(*spec);
  const auto again = parse_experiment(once, "mine.experiment");
  ASSERT_TRUE(again) << again.error().message << "\n" << once;
  EXPECT_EQ(experiment_text(*again), once);
  EXPECT_THAT(once, AllOf(HasSubstr("unlink,unlinkat"), HasSubstr("thinking: \"3s\""), HasSubstr("published: 2.2")));
}

struct Mistake {
  const char* text;
  const char* place;  // "file:line: key"
  const char* says;
};

TEST(ExperimentSpec, AMistakeIsToldWithFileLineAndKey) {
  const std::string target = "target { label: \"a\" spec: \"null:\" }\n";
  const std::string step = "step { label: \"s\" workload: \"manyfiles\" }\n";
  const std::vector<Mistake> mistakes = {
      {"title: \"x\"\ntitl: \"y\"\n", "mine.experiment:2: unknown key 'titl'", "did you mean title?"},
      {"target {\n  label: \"a\"\n  sepc: \"null:\"\n}\n", "mine.experiment:3: unknown key 'sepc'", "spec"},
      {"runs: five\n", "mine.experiment:1: ", "five"},
      {"title: \"open\n", "mine.experiment:1: ", ""},
      {"", "mine.experiment: target", "there is none"},
      {"target { label: \"a\" }\n", "mine.experiment:1: target.spec", "missing"},
      {"@target\n", "mine.experiment: step", "there is none"},
      {"@target@target@step", "mine.experiment:2: target.label", "'a' is there twice"},
      {"@target@step\n\nruns: 0\n", "mine.experiment:5: runs", "1 to"},
      {"@target@step@step", "mine.experiment:3: step.label", "'s' is there twice"},
      {"@target\nstep { label: \"s\" }\n", "mine.experiment:3: step", "exactly one"},
      {"@target\nstep {\n workload: \"manyfiles\"\n cache: \"warm\"\n}\n", "mine.experiment:5: step.cache", "'warm'"},
      {"@target\nstep { workload: \"dd\"\n phase { label: \"x\" }\n phase { label: \"y\" } }",
       "mine.experiment:4: phase.until", "must say where it ends"},
      {"@target\nstep { workload: \"dd\"\n phase { label: \"x\" until: \"read\" } }", "mine.experiment:4: phase.until",
       "last phase"},
      {"@target@step\nposition: \"middle\"\nposition: \"centre\"", "mine.experiment:5: position", "'centre'"},
      {"@target@step\nage {\n fill_percent: 99\n}", "mine.experiment:5: age.fill_percent", "99"},
      {"@target@step\nclaim { step: \"t\" target: \"a\" }", "mine.experiment:4: claim.step", "'t'"},
      {"@target@step\nclaim {\n step: \"s\"\n target: \"b\" }", "mine.experiment:6: claim.target", "'b'"},
      {"@target@step\nclaim {\n step: \"s\" target: \"a\"\n metric: \"speed\" }", "mine.experiment:6: claim.metric",
       "'speed'"},
      {"@target@step\nclaim { step: \"s\" target: \"a\" low: 2 high: 1 }", "mine.experiment:4: claim.low", "above"},
      {"@target@step\nclaim { step: \"s\" target: \"a\" published: nan }", "mine.experiment:4: claim.published",
       "number"},
      {"@target@step\nclaim { step: \"s\" target: \"a\"\n high: inf }", "mine.experiment:5: claim.high", "number"},
  };
  for (const Mistake& mistake : mistakes) {
    std::string text = mistake.text;
    const auto expand = [&](const std::string& word, const std::string& value) {
      for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += value.size())
        text.replace(at, word.size(), value);
    };
    expand("@target", target), expand("@step", step);
    EXPECT_THAT(error_of(text), AllOf(StartsWith(mistake.place), HasSubstr(mistake.says))) << text;
  }
}

TEST(ExperimentSpec, WhatOnlyThePlanCanJudgeIsToldWithItsLineToo) {
  const std::string target = "target { label: \"a\" spec: \"null:\" }\n";
  const std::vector<Mistake> mistakes = {
      {"target { spec: \"ext3:,alloc=classic\" }\ntarget {\n spec: \"ext3:,alocc=leaf\" }\nstep { workload: \"dd\" }",
       "mine.experiment:3: target.spec", "alloc"},
      {"target { spec: \"etx3:\" }\nstep { workload: \"dd\" }", "mine.experiment:1: target.spec", "ext3"},
      {"@target\nstep { trace: \"absent.iotape\" }", "mine.experiment:3: step.trace", "absent.iotape"},
      {"@target\nstep { workload: \"manyfile\" }", "mine.experiment:3: step.workload", "manyfiles"},
      {"@target\nstep { workload: \"manyfiles cuont=3\" }", "mine.experiment:3: step.workload", "count"},
      {"@target\nstep { workload: \"manyfiles count=0\" }", "mine.experiment:3: step.workload", "count="},
      {"@target\nstep { workload: \"dd\"\n pace: \"slow\" }", "mine.experiment:4: step.pace", "slow"},
      {"@target\nstep { workload: \"dd\"\n thinking: \"3s\" }", "mine.experiment:4: step.thinking", "think"},
      {"@target\nstep { workload: \"dd\"\n phase { label: \"x\" until: \"unlinkta\" }\n phase { label: \"y\" } }",
       "mine.experiment:4: phase.until", "did you mean unlink?"},
      {"@target\nstep { workload: \"dd\" }\nmap: \"here\"", "mine.experiment:4: map", "FROM=TO"},
  };
  for (const Mistake& mistake : mistakes) {
    std::string text = mistake.text;
    if (text.starts_with("@target")) text.replace(0, 7, target);
    EXPECT_THAT(plan_error_of(text), AllOf(StartsWith(mistake.place), HasSubstr(mistake.says))) << text;
  }
}

TEST(ExperimentSpec, PositionsMultiplyTheTargets) {
  const auto spec = parse_experiment(
      "target { label: \"a\" spec: \"ext3:\" }\nstep { workload: \"dd\" }\nposition: \"outer\"\nposition: \"inner\"\n",
      "x");
  ASSERT_TRUE(spec) << spec.error().message;
  const auto placed = spec->placed_targets();
  ASSERT_EQ(placed.size(), 2U);
  EXPECT_EQ(placed[1].label, "a inner");
  EXPECT_EQ(placed[1].spec, "ext3:,position=inner");
}

TEST(ExperimentSpec, RandomTextIsRefusedOrReadNeverFatal) {
  std::string text = kWhole;
  for (std::size_t at = 0; at < text.size(); at += 3) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(at % 2 == 0 ? '{' : 0x80);
    static_cast<void>(parse_experiment(damaged, "x"));
    static_cast<void>(parse_experiment(text.substr(0, at), "x"));
  }
}

TEST(ShippedExperiments, ReadAndSayWhatTheyAre) {
  for (const ShippedExperiment& shipped : shipped_experiments()) {
    const auto spec = parse_experiment(shipped.text, std::string(shipped.name));
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_FALSE(spec->summary.empty()) << shipped.name;
    EXPECT_FALSE(spec->source.empty()) << shipped.name;
    EXPECT_FALSE(spec->claims.empty()) << shipped.name;
  }
}

}  // namespace
}  // namespace iotape
