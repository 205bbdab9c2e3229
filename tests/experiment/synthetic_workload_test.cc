// Workloads made from parameters: deterministic, replayable on a real filesystem without a single call that differs.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "format/syscall_table.h"
#include "tests/experiment/experiment_fixtures.h"

namespace iotape::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

SyntheticWorkload workload(const std::string& text) {
  auto made = SyntheticWorkload::parse(text);
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

std::vector<Syscall> calls_of(const SyntheticWorkload& made, std::vector<std::string> listing = {}) {
  std::vector<Syscall> calls;
  const auto source = made.open(std::move(listing))();
  EXPECT_TRUE(source);
  while (true) {
    const auto event = (*source)->next();
    EXPECT_TRUE(event);
    if (!event || *event == nullptr) return calls;
    if (const auto* call = std::get_if<Syscall>(&(*event)->body)) calls.push_back(*call);
  }
}

std::vector<std::string> unlinked(const std::vector<Syscall>& calls) {
  std::vector<std::string> names;
  for (const Syscall& call : calls)
    if (const auto* unlink = std::get_if<Unlink>(&call.operation)) names.push_back(unlink->path.bytes);
  return names;
}

TEST(SyntheticWorkload, ManyFilesAreNamedAsPublished) {
  const auto calls = calls_of(workload("manyfiles count=300"));
  const auto removed = unlinked(calls);
  ASSERT_EQ(removed.size(), 300U);
  EXPECT_EQ(removed.front(), "00000000");
  EXPECT_EQ(removed.back(), "0000012B");
  EXPECT_EQ(calls.size(), 900U) << "open, close and unlink of each";
}

TEST(SyntheticWorkload, ARandomOrderIsOneOfAllAndTheSameEveryTime) {
  const auto once = unlinked(calls_of(workload("manyfiles count=500 order=random")));
  EXPECT_EQ(once, unlinked(calls_of(workload("manyfiles count=500 order=random"))));
  EXPECT_NE(once, unlinked(calls_of(workload("manyfiles count=500 order=random seed=1"))));
  EXPECT_EQ(std::set<std::string>(once.begin(), once.end()).size(), 500U);
}

TEST(SyntheticWorkload, TheListedOrderIsTheTargets) {
  const auto made = workload("manyfiles count=3 do=delete order=readdir");
  EXPECT_EQ(made.listed_directory(), "/");
  EXPECT_EQ(unlinked(calls_of(made, {"00000002", "00000000", "00000001"})),
            (std::vector<std::string>{"00000002", "00000000", "00000001"}));
  EXPECT_FALSE(workload("manyfiles do=delete").listed_directory());
  EXPECT_FALSE(SyntheticWorkload::parse("manyfiles order=readdir")) << "nothing is there to be listed yet";
}

TEST(SyntheticWorkload, TreeSizesAddUpToAboutWhatWasAsked) {
  std::int64_t written = 0;
  for (const Syscall& call : calls_of(workload("tree files=1000 bytes=10M")))
    if (const auto* write = std::get_if<Write>(&call.operation)) written += write->length;
  EXPECT_NEAR(static_cast<double>(written), 10.0 * 1048576, 2000);
}

TEST(SyntheticWorkload, MistakesNameWhatThereIs) {
  const auto error = [](const char* text) {
    const auto made = SyntheticWorkload::parse(text);
    return made ? std::string("no error") : made.error().message;
  };
  EXPECT_THAT(error(""), HasSubstr("manyfiles"));
  EXPECT_THAT(error("manyfile"), HasSubstr("did you mean manyfiles?"));
  EXPECT_THAT(error("dd byte=3M"), HasSubstr("did you mean bytes?"));
  EXPECT_THAT(error("manyfiles order=backwards"), HasSubstr("creation|readdir|random"));
  EXPECT_THAT(error("dd bytes=0"), HasSubstr("bytes="));
  EXPECT_THAT(error("manyfiles count=12x"), HasSubstr("12x"));
}

// Each does on the built-in ext3 what it says, and what one leaves the next finds.
TEST(SyntheticWorkload, EveryWorkloadReplaysOnExt3WithoutADifference) {
  const std::vector<std::vector<std::string>> sequences = {
      {"manyfiles count=400 do=create", "manyfiles count=400 do=delete order=readdir"},
      {"manyfiles count=400 create=random rename=on order=random"},
      {"manyfiles count=300 bytes=5K do=create", "manyfiles count=300 bytes=5K do=read order=readdir",
       "manyfiles count=300 do=delete"},
      {"inodetest top=3 directories=7 files=5 delete=2"},
      {"dd bytes=3M block=1M", "dd bytes=3M do=read", "dd do=remove"},
      {"tree files=70 bytes=1M sync=on", "tree files=70 bytes=1M do=read", "tree files=70 do=list",
       "tree files=70 bytes=1M do=archive", "tree files=70 do=remove"},
  };
  for (const auto& sequence : sequences) {
    std::string text = "target { label: \"x\" spec: \"ext3:,size=64M\" }\nruns: 1\n";
    for (std::size_t i = 0; i < sequence.size(); ++i)
      text += fmt::format("step {{ label: \"s{}\" workload: \"{}\" cache: \"{}\" }}\n", i, sequence[i],
                          i % 2 == 0 ? "cold" : "hot");
    const StopRequests stop;
    const auto result = run_experiment(plan_of(text), {}, stop);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_THAT(result->warnings(), IsEmpty()) << sequence.front();
    std::uint64_t writes = 0;
    for (std::size_t row = 0; row < result->plan.rows.size(); ++row) {
      EXPECT_GT(result->figures(0, row, 0).calls, 0U) << sequence[row];
      writes += result->figures(0, row, 0).writes;
    }
    EXPECT_GT(writes, 0U);
  }
}

TEST(SyntheticWorkload, TheOrderIsAskedOfTheTargetAndDiffersFromThatOfCreation) {
  // With hashed directories the removal in the listed order must not be that of creation: its inodes jump.
  const std::string text =
      "target { label: \"x\" spec: \"ext3:,size=64M\" }\nruns: 1\n"
      "step { label: \"create\" workload: \"manyfiles count=1000 do=create\" }\n"
      "step { label: \"delete\" workload: \"manyfiles count=1000 do=delete order=readdir\" }\n";
  ScratchDirectory scratch;
  RunnerOptions options;
  options.keep = scratch / "kept";
  const StopRequests stop;
  const auto result = run_experiment(plan_of(text), options, stop);
  ASSERT_TRUE(result) << result.error().message;
  const auto reader = TraceReader::open(options.keep + "/x-delete-1.iotape");
  ASSERT_TRUE(reader);
  std::vector<std::string> names;
  while (true) {
    const auto event = (*reader)->next();
    ASSERT_TRUE(event);
    if (*event == nullptr) break;
    const auto* call = std::get_if<Syscall>(&(*event)->body);
    const auto* unlink = call == nullptr ? nullptr : std::get_if<Unlink>(&call->operation);
    if (unlink != nullptr) names.push_back(unlink->path.bytes);
  }
  EXPECT_EQ(names.size(), 1000U);
  EXPECT_FALSE(std::ranges::is_sorted(names));
}

TEST(Ageing, ChangesWhereTheStepsFilesLieAndIsTheSameEveryTime) {
  const std::string text =
      "target { label: \"x\" spec: \"ext3:,size=64M,seed=1\" }\nruns: 1\n"
      "step { label: \"make\" workload: \"tree files=100 bytes=4M\" }\n";
  const std::string aged = text + "age { fill_percent: 60 seed: 3 }\n";
  const StopRequests stop;
  const auto fresh = run_experiment(plan_of(text), {}, stop);
  const auto once = run_experiment(plan_of(aged), {}, stop);
  const auto twice = run_experiment(plan_of(aged), {}, stop);
  ASSERT_TRUE(fresh && once && twice);
  EXPECT_THAT(once->warnings(), IsEmpty()) << "the steps find room";
  EXPECT_NE(once->figures(0, 0, 0).histogram, fresh->figures(0, 0, 0).histogram);
  EXPECT_EQ(once->figures(0, 0, 0).histogram, twice->figures(0, 0, 0).histogram);
}

TEST(Ageing, ATargetWithoutASizeCannotBeAged) {
  const StopRequests stop;
  const auto result = run_experiment(plan_of("target { label: \"x\" spec: \"null:\" }\nruns: 1\n"
                                             "step { workload: \"manyfiles count=3\" }\nage { fill_percent: 10 }\n"),
                                     {}, stop);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace iotape::test
