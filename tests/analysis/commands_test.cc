// seeks, compare and plot as a user runs them, on real trace files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "format/blktrace_importer.h"
#include "format/trace_writer.h"
#include "tests/analysis/seek_fixtures.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class AnalysisCommands : public testing::Test {
 protected:
  std::string trace(const std::string& name, const std::vector<EventBody>& events, bool finish = true) {
    const std::string path = scratch_ / name;
    TraceHeader header;
    header.has_block = true;
    auto writer =
        TraceWriter::create(FileDescriptor(::open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600)), header, {});
    EXPECT_TRUE(writer);
    for (const EventBody& event : events) EXPECT_TRUE((*writer)->append(event));
    EXPECT_TRUE(finish ? (*writer)->finish({}) : (*writer)->flush());
    return path;
  }
  // The shipped capture, converted.
  std::string rm_trace() {
    const std::string packed = std::string(IOTAPE_SOURCE_DIR) + "/tests/data/rm_ext3_head.blktrace.gz";
    EXPECT_EQ(test::run_shell("gunzip -c '" + packed + "' > '" + (scratch_ / "rm.blktrace") + "'").status, 0);
    test::CollectingSink sink;
    EXPECT_TRUE(import_blktrace(scratch_ / "rm.blktrace", sink));
    return trace("rm.iotape", sink.events);
  }
  static test::CommandOutput iotape(std::vector<std::string> words) {
    words.insert(words.begin(), IOTAPE_BINARY);
    return test::run_program(words);
  }
  static void expect_narrow(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 72U) << line;
  }
  test::ScratchDirectory scratch_;
};

TEST_F(AnalysisCommands, SeeksPrintsTheKnownAnswers) {
  const auto result = iotape({"seeks", rm_trace(), "--ascii"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("2,098"));
  EXPECT_THAT(result.out, HasSubstr("1,325"));
  EXPECT_THAT(result.out, HasSubstr("376,513,496"));
  EXPECT_THAT(result.out, HasSubstr("524,232"));
  EXPECT_THAT(result.out, HasSubstr("128 sectors (64.0 KiB)"));
  EXPECT_THAT(result.out, HasSubstr(": complete"));
  EXPECT_THAT(result.err, HasSubstr("iotape plot"));
  expect_narrow(result.out);
}

TEST_F(AnalysisCommands, SeeksEstimatesADisksTimeUnderItsName) {
  const std::string rm = rm_trace();
  const auto text = iotape({"seeks", rm, "--disk", "laptop-2002", "--ascii"});
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("\non laptop-2002"));
  EXPECT_THAT(text.out, HasSubstr("rotation"));
  EXPECT_THAT(text.out, HasSubstr("estimates of disk model 1"));
  expect_narrow(text.out);
  const auto result = iotape({"seeks", "--json", rm, "--disk", "laptop-2002"});
  const json estimate = json::parse(result.out)["traces"][0]["devices"][0]["estimate"]["all"];
  EXPECT_EQ(estimate["disk"], "laptop-2002");
  EXPECT_EQ(estimate["requests"], 2098);
  EXPECT_GT(estimate["seek_ns"], 0);
  EXPECT_GT(estimate["rotation_ns"], estimate["seek_ns"]);
  EXPECT_EQ(estimate["total_ns"].get<std::uint64_t>(),
            estimate["seek_ns"].get<std::uint64_t>() + estimate["rotation_ns"].get<std::uint64_t>() +
                estimate["transfer_ns"].get<std::uint64_t>() + estimate["overhead_ns"].get<std::uint64_t>());
  const json flash = json::parse(iotape({"seeks", "--json", rm, "--disk", "ssd"}).out);
  EXPECT_EQ(flash["traces"][0]["devices"][0]["estimate"]["all"]["seek_ns"], 0);
  EXPECT_EQ(flash["disk"]["profile"], "ssd");
  EXPECT_FALSE(json::parse(iotape({"seeks", "--json", rm}).out).contains("disk"));
  const auto typo = iotape({"seeks", rm, "--disk", "laptop-2003"});
  EXPECT_EQ(typo.status, 2);
  EXPECT_THAT(typo.err, HasSubstr("did you mean laptop-2002?"));
}

TEST_F(AnalysisCommands, SeeksSaysWhenAccessesLieBeyondTheDisk) {
  const std::string path = trace("far.iotape", {test::issued(0, 1LL << 40U, 8)});
  const auto result = iotape({"seeks", path, "--disk", "scsi-10k", "--width", "200"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("1 accesses lie beyond the end of scsi-10k"));
}

TEST_F(AnalysisCommands, SeeksJsonHoldsNumbersAndZeros) {
  const auto result = iotape({"seeks", "--json", "--event", "queue", rm_trace()});
  ASSERT_EQ(result.status, 0) << result.err;
  const json document = json::parse(result.out);
  EXPECT_EQ(document["schema"], "iotape.seeks/1");
  EXPECT_EQ(document["event"], "queue");
  const json& total = document["traces"][0]["total"];
  EXPECT_EQ(total["requests"], 2851);
  EXPECT_EQ(total["seeks"], 1326);
  EXPECT_EQ(total["total_distance"], 376'513'688);
  EXPECT_EQ(document["traces"][0]["lost"], 0);
  EXPECT_EQ(document["traces"][0]["devices"][0]["operations"]["discard"]["requests"], 0) << "zeros are present";
  for (const auto& [key, value] : total.items())
    EXPECT_TRUE(value.is_number() || value.is_boolean() || value.is_array()) << key;
}

TEST_F(AnalysisCommands, SeeksOfAnEmptyTraceSaysSo) {
  const auto result = iotape({"seeks", trace("empty.iotape", {})});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("no block requests"));
}

TEST_F(AnalysisCommands, SeeksShowsLossesAndInterruption) {
  const Loss loss{LossCause::kRingFull, Nanoseconds(5), Nanoseconds(9), 1, 30, {}};
  const auto result = iotape({"seeks", trace("cut.iotape", {test::issued(1, 0, 8), loss}, false)});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("INCOMPLETE: 30 events lost"));
  EXPECT_THAT(result.out, HasSubstr("interrupted"));
}

TEST_F(AnalysisCommands, SelectionNarrowsSeeks) {
  std::vector<EventBody> events;
  for (std::int64_t i = 0; i < 100; ++i)
    events.push_back(test::issued(i * 1'000'000, i * 10'000, 8, DeviceId::of(8, static_cast<std::uint32_t>(i % 2)),
                                  i < 50 ? BlockOperation::kRead : BlockOperation::kWrite));
  const std::string path = trace("t.iotape", events);
  const auto requests = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"seeks", "--json", path});
    const auto result = iotape(options);
    EXPECT_EQ(result.status, 0) << result.err;
    return json::parse(result.out)["traces"][0]["total"]["requests"].get<int>();
  };
  EXPECT_EQ(requests({}), 100);
  EXPECT_EQ(requests({"--device", "8:1"}), 50);
  EXPECT_EQ(requests({"--op", "write"}), 50);
  EXPECT_EQ(requests({"--from", "10ms", "--to", "20ms"}), 10);
}

TEST_F(AnalysisCommands, CompareHoldsTracesAndDocumentsAgainstEachOther) {
  const std::string a = trace("a.iotape", {test::issued(0, 0, 8), test::issued(1, 8, 8), test::issued(2, 5000, 8)});
  const std::string b = trace("b.iotape", {test::issued(0, 0, 8), test::issued(1, 3000, 8), test::issued(2, 9000, 8)});
  const auto plain = iotape({"compare", a, b});
  EXPECT_EQ(plain.status, 0) << plain.err;
  EXPECT_THAT(plain.out, HasSubstr("+100.0 % n=1"));
  EXPECT_THAT(plain.out, HasSubstr("nothing can be concluded"));
  expect_narrow(plain.out);
  EXPECT_EQ(iotape({"compare", a, b, "--fail-if", "seeks>+2%"}).status, 5);
  EXPECT_EQ(iotape({"compare", b, a, "--fail-if", "seeks>+2%"}).status, 0);
  EXPECT_EQ(iotape({"compare", a, b, "--fail-if", "nonsense>1"}).status, 2);
  test::write_file(scratch_ / "old.json", iotape({"seeks", "--json", a}).out);
  EXPECT_EQ(iotape({"compare", scratch_ / "old.json", b, "--fail-if", "seeks>+99%"}).status, 5);
  const auto document = iotape({"compare", "--json", "old:", a, a, "new:", b, b});
  ASSERT_EQ(document.status, 0) << document.err;
  const json parsed = json::parse(document.out);
  EXPECT_EQ(parsed["schema"], "iotape.compare/1");
  EXPECT_EQ(parsed["groups"][1]["label"], "new");
  EXPECT_EQ(parsed["groups"][1]["n"], 2);
  EXPECT_EQ(parsed["groups"][1]["figures"]["seeks"]["median"], 2);
  test::write_file(scratch_ / "all.json", document.out);
  EXPECT_EQ(iotape({"compare", scratch_ / "all.json"}).status, 0);
  test::write_file(scratch_ / "bad.json", "{\"schema\": 3}");
  EXPECT_EQ(iotape({"compare", scratch_ / "bad.json"}).status, 4);
}

TEST_F(AnalysisCommands, PlotsAreBoundedWhateverTheNumberOfEvents) {
  std::vector<EventBody> events;
  std::uint64_t state = 1;
  for (std::int64_t i = 0; i < 300'000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    events.push_back(test::issued(i * 1000, static_cast<std::int64_t>(state >> 34U), 8));
  }
  events.push_back(Loss{LossCause::kRingFull, Nanoseconds(100'000'000), Nanoseconds(150'000'000), 0, 9, {}});
  const std::string path = trace("random.iotape", events);
  for (const std::string form : {"heads.svg", "heads.png"}) {
    ASSERT_EQ(iotape({"plot", path, "-o", scratch_ / form}).status, 0);
    EXPECT_LT(test::read_file(scratch_ / form).size(), 2'000'000U) << form;
  }
  const std::string svg = test::read_file(scratch_ / "heads.svg");
  EXPECT_THAT(svg, HasSubstr("data:image/png;base64,"));
  EXPECT_THAT(svg, HasSubstr("events lost"));
  EXPECT_EQ(test::read_file(scratch_ / "heads.png").substr(1, 3), "PNG");
}

TEST_F(AnalysisCommands, PlotSurvivesAnAbsurdTimeAndManyDevices) {
  std::vector<EventBody> events;
  for (std::uint32_t d = 0; d < 65; ++d) events.push_back(test::issued(d, d, 8, DeviceId::of(8, d)));
  events.push_back(test::issued(5'000'000'000'000'000, std::int64_t{1} << 34, 8));
  const std::string path = trace("odd.iotape", events);
  for (const std::string what : {"heads", "histogram", "latency", "cause"}) {
    const auto result = iotape({"plot", path, "-o", scratch_ / (what + ".svg"), "--what", what});
    EXPECT_EQ(result.status, 0) << what << result.err;
  }
  EXPECT_THAT(test::read_file(scratch_ / "heads.svg"), HasSubstr("61 more devices are not drawn"));
}

TEST_F(AnalysisCommands, PlotAsTextFitsAndOverwritesNothing) {
  const std::string path = rm_trace();
  const auto text = iotape({"plot", path, "-o", "-", "--ascii"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("r"));
  expect_narrow(text.out);
  test::write_file(scratch_ / "taken.svg", "mine");
  EXPECT_EQ(iotape({"plot", path, "-o", scratch_ / "taken.svg"}).status, 2);
  EXPECT_EQ(test::read_file(scratch_ / "taken.svg"), "mine");
  EXPECT_EQ(iotape({"plot", path, "-o", scratch_ / "x.gif"}).status, 2);
}

// ---- recordings beside their replays ----

TEST_F(AnalysisCommands, ARecordingIsHeldAgainstItsReplayByTheCallsBothMade) {
  const std::string recording = IOTAPE_SOURCE_DIR "/traces/dd.iotape";
  const std::string replay = scratch_ / "replay.iotape";
  ASSERT_EQ(iotape({"replay", "-q", recording, "null:", "-o", replay}).status, 0);
  const auto compared = iotape({"compare", "--json", recording, replay});
  ASSERT_EQ(compared.status, 0) << compared.err;
  const json document = json::parse(compared.out);
  const json& first = document["runs"][0]["figures"];
  const json& second = document["runs"][1]["figures"];
  EXPECT_EQ(first["calls"], second["calls"]);
  EXPECT_GT(second["skipped"], 0);
  EXPECT_FALSE(first.contains("synced_time")) << "only a replay tells when all was synced";
  EXPECT_GE(second["synced_time"], second["wall_time"]);
  EXPECT_FALSE(second.contains("space_after")) << "null: has no space";
  EXPECT_THAT(document["notes"].dump(), HasSubstr("those its replays repeat (left out: 511 not_a_file, 51 external"));
  EXPECT_GT(json::parse(iotape({"compare", "--json", recording}).out)["runs"][0]["figures"]["calls"], first["calls"])
      << "alone it is whole";
}

TEST_F(AnalysisCommands, ATraceIsHeldAgainstAReplayOfAnotherByAllItsCalls) {
  const std::string replay = scratch_ / "replay.iotape";
  ASSERT_EQ(iotape({"replay", "-q", IOTAPE_SOURCE_DIR "/traces/dd.iotape", "null:", "-o", replay}).status, 0);
  const auto compared = iotape({"compare", "--json", IOTAPE_SOURCE_DIR "/traces/rm.iotape", replay});
  ASSERT_EQ(compared.status, 0) << compared.err;
  EXPECT_THAT(compared.out, Not(HasSubstr("those its replays repeat")));
}

TEST_F(AnalysisCommands, SeeksShowsEachDeviceAndNamesTheDiskUnderALoopDevice) {
  const DeviceId loop = DeviceId::of(7, 3);
  std::vector<EventBody> events{DeviceInfo{loop, loop, "loop3", {}, {}, false, test::kDisk}};
  for (std::int64_t i = 0; i < 20; ++i) {
    events.push_back(test::issued(2 * i, i * 5000, 8, loop));
    events.push_back(test::issued(2 * i + 1, i * 9000, 8));
  }
  const auto result = iotape({"seeks", "--ascii", trace("two.iotape", events)});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("device loop3\n"));
  EXPECT_THAT(result.out, HasSubstr("device 8:0 (holds the image of loop3)\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("sum of")));
  expect_narrow(result.out);
  EXPECT_THAT(iotape({"seeks", "--device", "loop3", scratch_ / "two.iotape"}).out, Not(HasSubstr("8:0")));
}

}  // namespace
}  // namespace iotape
