// Medians, ratios and bands from figures made up for the occasion.
#include <gmock/gmock.h>

#include "replayer/experiment/experiment_html.h"
#include "replayer/experiment/experiment_json.h"
#include "replayer/experiment/experiment_text.h"
#include "tests/experiment/experiment_fixtures.h"

#include <nlohmann/json.hpp>
#include <sstream>

namespace iotape::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

PhaseFigures phase(double seconds, std::uint64_t writes) {
  PhaseFigures figures;
  figures.time = figures.settled = Nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  figures.calls = 10;
  figures.has_requests = true;
  figures.writes = writes;
  figures.written_bytes = writes * 4096;
  figures.seeks = writes;
  figures.distance = writes * 1000;
  for (std::uint64_t i = 0; i < writes; ++i) figures.histogram.add(i % 2 == 0 ? 5000 : -700'000);
  figures.causes = {{"inode_table", writes, writes, writes * 900}, {"journal", 1, 1, writes * 100}};
  return figures;
}

// Two targets, one step of two phases: b makes in 1.5 times and removes in 0.5 times of a's time.
ExperimentResult result_with(const std::string& claims) {
  ExperimentResult result;
  result.plan = plan_of(
      "title: \"Made <up>\"\nsource: \"nobody, 2002\"\n"
      "target { label: \"a\" spec: \"null:\" }\ntarget { label: \"b\" spec: \"null:\" }\n"
      "step { label: \"s\" workload: \"manyfiles\"\n phase { label: \"create\" until: \"unlinkat\" }\n"
      " phase { label: \"delete\" } }\n" +
      claims);
  for (int target = 0; target < 2; ++target) {
    TargetResult& made = result.targets.emplace_back();
    made.description = target == 0 ? "null:a" : "null:b";
    made.clock = ClockKind::kBootTime;
    for (int run = 0; run < 3; ++run) {
      const double slower = target == 0 ? 1 : 1.5;
      RunResult& each = made.runs.emplace_back();
      each.steps.push_back({phase(2 * slower + 0.1 * run, 100), phase(target == 0 ? 4 : 2, 50)});
    }
  }
  return result;
}

const ClaimResult& only(const std::vector<ClaimResult>& claims) { return claims.at(0); }

TEST(ExperimentResults, AClaimOfARatioIsHeldAgainstItsBand) {
  const auto inside = result_with("claim { step: \"delete\" target: \"b\" over_target: \"a\" low: 0.4 high: 0.6 }");
  EXPECT_DOUBLE_EQ(*only(inside.claims()).ours, 0.5);
  EXPECT_EQ(only(inside.claims()).verdict, Verdict::kInside);
  const auto outside = result_with("claim { step: \"delete\" target: \"b\" over_target: \"a\" high: 0.49 }");
  EXPECT_EQ(only(outside.claims()).verdict, Verdict::kOutside);
  const auto below = result_with("claim { step: \"delete\" target: \"b\" over_target: \"a\" low: 0.51 }");
  EXPECT_EQ(only(below.claims()).verdict, Verdict::kOutside);
  const auto open = result_with("claim { step: \"delete\" target: \"b\" over_target: \"a\" published: 0.4 }");
  EXPECT_EQ(only(open.claims()).verdict, Verdict::kNoBand);
}

TEST(ExperimentResults, AStepOverAStepOfTheSameTargetAndAcrossTargets) {
  const auto steps = result_with("claim { step: \"delete\" over_step: \"create\" target: \"a\" }");
  EXPECT_NEAR(*only(steps.claims()).ours, 4 / 2.1, 1e-9) << "of the medians";
  const auto across = result_with("claim { step: \"delete\" over_step: \"create\" target: \"b\" over_target: \"a\" }");
  EXPECT_NEAR(*only(across.claims()).ours, 2 / 2.1, 1e-9);
}

TEST(ExperimentResults, AbsoluteClaimsAreInTheMetricsUnit) {
  const auto seconds = result_with("claim { step: \"delete\" target: \"a\" published: 4.5 low: 3 high: 5 }");
  EXPECT_DOUBLE_EQ(*only(seconds.claims()).ours, 4);
  EXPECT_EQ(claim_number(*only(seconds.claims()).claim, 4.5), "4.50 s");
  const auto writes = result_with("claim { step: \"create\" target: \"a\" metric: \"writes\" published: 120 }");
  EXPECT_DOUBLE_EQ(*only(writes.claims()).ours, 100);
}

TEST(ExperimentResults, WhatWasNotMeasuredIsNotJudged) {
  auto result = result_with("claim { step: \"create\" target: \"a\" metric: \"writes\" low: 1 }");
  for (RunResult& run : result.targets[0].runs) run.steps[0][0].has_requests = false;
  EXPECT_EQ(only(result.claims()).verdict, Verdict::kNotMeasured);
  EXPECT_THAT(experiment_report_text(result, Terminal{}), HasSubstr("not measured"));
}

constexpr const char* kTwoClaims =
    "claim { step: \"delete\" target: \"b\" over_target: \"a\" published: 0.55 low: 0.4 high: 0.6 says: \"faster\" }\n"
    "claim { step: \"create\" target: \"b\" over_target: \"a\" published: 0.9 high: 1 outside: \"Because of <that>.\" "
    "}\n";

TEST(ExperimentResults, TheTextFitsTheWidthAndSaysInOrOut) {
  const auto result = result_with(kTwoClaims);
  for (const int width : {72, 100}) {
    Terminal terminal;
    terminal.width = width;
    terminal.ascii = true;
    const std::string text = experiment_report_text(result, terminal);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), static_cast<std::size_t>(width)) << line;
    for (const unsigned char c : text) ASSERT_LT(c, 0x80) << text;
    EXPECT_THAT(text, HasSubstr(" in\n"));
    EXPECT_THAT(text, HasSubstr(" OUT\n"));
    EXPECT_THAT(text, HasSubstr("Because of <that>."));
    EXPECT_THAT(text, HasSubstr("inode_table 90 %"));
  }
}

TEST(ExperimentResults, ThePageNeedsNothingElse) {
  const std::string page = experiment_html(result_with(kTwoClaims));
  for (const char* outside : {"http:", "https:", "src=", "<script", "@import", "url(", "<link"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr("Made &lt;up&gt;"));
  EXPECT_THAT(page, HasSubstr("Because of &lt;that&gt;."));
  EXPECT_THAT(page, HasSubstr("class=\"out\">outside"));
  // Every element that is opened is closed.
  for (const std::string name : {"table", "svg", "figure", "ul", "tr", "td", "li", "details", "body", "html"}) {
    const auto count = [&](const std::string& what) {
      std::size_t found = 0;
      for (std::size_t at = 0; (at = page.find(what, at)) != std::string::npos; at += what.size()) ++found;
      return found;
    };
    EXPECT_EQ(count("<" + name + ">") + count("<" + name + " "), count("</" + name + ">")) << name;
  }
}

TEST(ExperimentResults, TheDocumentHoldsEveryRun) {
  const json document = json::parse(experiment_json(result_with(kTwoClaims)));
  EXPECT_EQ(document["schema"], "iotape.experiment/1");
  EXPECT_EQ(document["targets"][0]["steps"][1]["step"], "delete");
  EXPECT_EQ(document["targets"][0]["steps"][1]["runs"].size(), 3U);
  EXPECT_EQ(document["targets"][0]["steps"][1]["runs"][0]["time_ns"], 4'000'000'000);
  EXPECT_EQ(document["claims"][0]["inside"], true);
  EXPECT_EQ(document["claims"][1]["inside"], false);
  EXPECT_TRUE(document["claims"][1]["low"].is_null());
}

}  // namespace
}  // namespace iotape::test
