// dump, info, recover, convert, cut and merge, run as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "format/block_frame.h"
#include "format/json_fields.h"
#include "format/trace_files.h"
#include "tests/support/sample_events.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

using nlohmann::json;
using test::CommandOutput;
using testing::HasSubstr;
using testing::Not;

CommandOutput iotape(std::vector<std::string> words) {
  words.insert(words.begin(), IOTAPE_BINARY);
  return test::run_program(words);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class TraceCommands : public testing::Test {
 protected:
  // A trace of everything, then `closes` plain calls in blocks of ten events.
  std::string make_trace(const std::string& name, int closes = 100, std::uint64_t lost = 0) {
    std::string path = scratch_ / name;
    WriterOptions options;
    options.block_events = 10;
    auto writer = TraceWriter::create(create_output(path, false).value(), test::sample_header(), options).value();
    std::uint64_t seen = 0;
    const auto append = [&](EventBody body) {
      if (std::holds_alternative<Syscall>(body) || std::holds_alternative<BlockRequest>(body)) ++seen;
      EXPECT_TRUE(writer->append(std::move(body)));
    };
    for (const EventBody& body : test::sample_events())
      if (!std::holds_alternative<Loss>(body)) append(body);
    for (int i = 0; i < closes; ++i) {
      Syscall close;
      close.thread = {ProcessId(200), ThreadId(200)};
      close.number = 3;
      close.start = Nanoseconds(2'000'000'000 + 1000 * i);
      close.operation = Close{{i, {}}};
      append(close);
      writer->set_counts(seen, 0);
    }
    TraceTotals totals;
    totals.seen = seen + lost;
    totals.losses[0] = lost;
    totals.recorder_cpu = Nanoseconds(5'000'000);
    totals.workload_status = 0;
    EXPECT_TRUE(writer->finish(totals));
    return path;
  }

  std::string make_cut_trace(const std::string& name) {
    const std::string whole = make_trace("whole_" + name);
    const std::string bytes = test::read_file(whole);
    const std::string path = scratch_ / name;
    test::write_file(path, bytes.substr(0, bytes.size() / 2));
    return path;
  }

  json info(const std::string& path) {
    const CommandOutput output = iotape({"info", "--json", path});
    EXPECT_EQ(output.status, 0) << output.err;
    return json::parse(output.out);
  }

  test::ScratchDirectory scratch_;
};

TEST_F(TraceCommands, JsonDumpHasALinePerEventBetweenHeaderAndTotals) {
  const std::string trace = make_trace("a.iotape");
  const CommandOutput output = iotape({"dump", "--format", "json", trace});
  EXPECT_EQ(output.status, 0) << output.err;
  const auto lines = lines_of(output.out);
  ASSERT_EQ(lines.size(), test::sample_events().size() - 2 + 100 + 2);
  for (const std::string& line : lines) ASSERT_TRUE(json::accept(line)) << line;
  EXPECT_EQ(json::parse(lines.front())["schema"], "iotape.dump/1");
  EXPECT_EQ(json::parse(lines.back())["totals"]["losses"]["ring_full"], 0);
  EXPECT_EQ(json::parse(lines.back())["interrupted"], false);
}

TEST_F(TraceCommands, ConvertingToJsonAndBackGivesTheSameEvents) {
  const std::string trace = make_trace("a.iotape");
  ASSERT_EQ(iotape({"convert", trace, scratch_ / "a.json"}).status, 0);
  const CommandOutput back = iotape({"convert", scratch_ / "a.json", scratch_ / "b.iotape"});
  ASSERT_EQ(back.status, 0) << back.err;
  const auto first = lines_of(iotape({"dump", "--format", "json", trace}).out);
  const auto second = lines_of(iotape({"dump", "--format", "json", scratch_ / "b.iotape"}).out);
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 1; i < first.size(); ++i) EXPECT_EQ(first[i], second[i]);
  const auto history = json::parse(second[0])["header"]["history"];
  EXPECT_EQ(history.size(), 2U);
  EXPECT_EQ(history[1]["command"], "convert a.json") << "the history keeps no directories";
}

TEST_F(TraceCommands, LayersAndSelectionsLimitWhatIsPrinted) {
  const std::string trace = make_trace("a.iotape");
  EXPECT_EQ(lines_of(iotape({"dump", "--layer", "syscalls", "--format", "csv", trace}).out).size(), 1 + 3 + 100U);
  EXPECT_EQ(lines_of(iotape({"dump", "--layer", "block", "--format", "csv", trace}).out).size(), 1 + 2U);
  const auto closes = lines_of(iotape({"dump", "--syscall", "close", trace}).out);
  EXPECT_GE(closes.size(), 100U);
  EXPECT_THAT(closes.back(), HasSubstr("close(99) = 0"));
}

TEST_F(TraceCommands, InfoTellsWhatIsInTheTrace) {
  const std::string trace = make_trace("a.iotape", 100, 7);
  const json document = info(trace);
  EXPECT_EQ(document["schema"], "iotape.info/1");
  EXPECT_EQ(document["whole"], true);
  EXPECT_EQ(document["syscalls"], 103);
  EXPECT_EQ(document["requests"], 2);
  EXPECT_EQ(document["lost"], 7);
  EXPECT_EQ(document["losses"]["ring_full"], 7);
  EXPECT_EQ(document["losses"]["disk_full"], 0);
  EXPECT_EQ(document["seen"], 112);
  EXPECT_NEAR(document["bytes_per_event"].get<double>(), static_cast<double>(test::read_file(trace).size()) / 105.0,
              0.01);
  EXPECT_EQ(document["calls"][0]["call"], "close");
  EXPECT_EQ(document["calls"][0]["count"], 100);
  EXPECT_EQ(document["totals"]["recorder_cpu_ns"], 5'000'000);

  const CommandOutput text = iotape({"info", "--history", trace});
  EXPECT_THAT(text.out, HasSubstr("bytes per event"));
  EXPECT_THAT(text.out, HasSubstr("7  ring_full"));
  EXPECT_THAT(text.out, HasSubstr("block_rq_requeue: no such tracepoint"));
  EXPECT_THAT(text.out, HasSubstr("record -- tar xf a.tar (9.9)"));
  EXPECT_THAT(text.out, HasSubstr("210 ns to the recorded thread"));
  EXPECT_EQ(iotape({"info", trace}).status, 0);
  EXPECT_EQ(iotape({"info", "--strict", trace}).status, 4) << "lossy under --strict";
  EXPECT_EQ(iotape({"info", "--strict", make_trace("b.iotape")}).status, 0);
}

TEST_F(TraceCommands, InterruptedTraceIsNamedSoAndReadAsFarAsItGoes) {
  const std::string trace = make_cut_trace("cut.iotape");
  const json document = info(trace);
  EXPECT_EQ(document["interrupted"], true);
  EXPECT_EQ(document["whole"], false);
  EXPECT_GT(document["syscalls"], 10);
  const CommandOutput dump = iotape({"dump", trace});
  EXPECT_EQ(dump.status, 0);
  EXPECT_THAT(dump.err, HasSubstr("interrupted"));
  EXPECT_EQ(iotape({"dump", "--strict", trace}).status, 4);
}

TEST_F(TraceCommands, RecoverMakesAWholeTraceThatOwnsUpToItsLosses) {
  std::string bytes = test::read_file(make_trace("good.iotape"));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  const std::string trace = scratch_ / "bad.iotape";
  test::write_file(trace, bytes);
  EXPECT_EQ(info(trace)["damage_count"], 1);

  const CommandOutput recovered = iotape({"recover", trace});
  ASSERT_EQ(recovered.status, 0) << recovered.err;
  const std::string output = scratch_ / "bad.recovered.iotape";
  const json document = info(output);
  EXPECT_EQ(document["whole"], true);
  EXPECT_LT(document["syscalls"], 103);
  EXPECT_GT(document["losses"]["damaged_block"], 0);
  const json totals = document["totals"];
  EXPECT_EQ(totals["seen"].get<std::uint64_t>(),
            totals["written"].get<std::uint64_t>() + document["lost"].get<std::uint64_t>());
  EXPECT_EQ(totals["written"].get<std::uint64_t>(),
            document["syscalls"].get<std::uint64_t>() + document["requests"].get<std::uint64_t>());
  EXPECT_EQ(document["header"]["history"].back()["command"], "recover bad.iotape");
  EXPECT_THAT(iotape({"dump", output}).out, HasSubstr("--- loss cause=damaged_block"));
  EXPECT_NE(iotape({"recover", trace}).status, 0) << "nothing is overwritten";
  EXPECT_EQ(iotape({"recover", "--force", trace}).status, 0);
  EXPECT_EQ(iotape({"recover", "--force", trace, "-o", trace}).status, 2) << "the input is not the output";
}

TEST_F(TraceCommands, ATraceRecoveredFromAnInterruptedOneIsNeverLossless) {
  const std::string bytes = test::read_file(make_trace("good.iotape"));
  const std::string trace = scratch_ / "cut.iotape";
  test::write_file(trace, bytes.substr(0, bytes.size() - 20));  // inside the closing block: no event is missing
  const CommandOutput recovered = iotape({"recover", trace});
  ASSERT_EQ(recovered.status, 0) << recovered.err;
  const std::string output = scratch_ / "cut.recovered.iotape";
  const json document = info(output);
  EXPECT_GE(document["losses"]["truncated_file"], 1);
  EXPECT_GE(document["lost"], 1);
  EXPECT_EQ(iotape({"info", "--strict", output}).status, 4);
}

TEST_F(TraceCommands, RecoverOfAnInterruptedTraceKeepsTheIdentity) {
  const std::string trace = make_cut_trace("cut.iotape");
  ASSERT_EQ(iotape({"recover", trace, "-o", scratch_ / "r.iotape"}).status, 0);
  const json document = info(scratch_ / "r.iotape");
  EXPECT_EQ(document["whole"], true);
  EXPECT_EQ(document["totals"]["seen"].get<std::uint64_t>(),
            document["totals"]["written"].get<std::uint64_t>() + document["lost"].get<std::uint64_t>());
  EXPECT_THAT(iotape({"dump", scratch_ / "r.iotape"}).out, HasSubstr("cause=truncated_file"));
}

TEST_F(TraceCommands, CutKeepsThePartAndWhatItNeeds) {
  const std::string trace = make_trace("a.iotape");
  const CommandOutput cut = iotape({"cut", "--syscall", "close", trace, "-o", scratch_ / "c.iotape"});
  ASSERT_EQ(cut.status, 0) << cut.err;
  const json document = info(scratch_ / "c.iotape");
  EXPECT_EQ(document["whole"], true);
  EXPECT_EQ(document["syscalls"], 100);
  EXPECT_EQ(document["requests"], 0);
  EXPECT_FALSE(document["mounts"].empty()) << "context stays";
  EXPECT_EQ(document["totals"]["seen"], 100);
}

TEST_F(TraceCommands, MergeKeepsTimeOrderAndTellsRecordersApart) {
  const std::string a = make_trace("a.iotape", 20);
  const std::string b = make_trace("b.iotape", 30);
  const CommandOutput merged = iotape({"merge", a, b, "-o", scratch_ / "m.iotape"});
  ASSERT_EQ(merged.status, 0) << merged.err;
  const json document = info(scratch_ / "m.iotape");
  EXPECT_EQ(document["syscalls"], 56);
  EXPECT_EQ(document["recorders"], 2);
  std::int64_t last = 0;
  for (const std::string& line : lines_of(iotape({"dump", "--format", "json", scratch_ / "m.iotape"}).out)) {
    const json event = json::parse(line);
    if (!event.contains("start_ns") || event["start_ns"] < 2'000'000'000) continue;
    EXPECT_GE(event["start_ns"], last);
    last = event["start_ns"];
  }
}

TEST_F(TraceCommands, MergeTakesTwoTracesOrMore) {
  const std::string trace = make_trace("a.iotape");
  EXPECT_EQ(iotape({"merge", trace, "-o", scratch_ / "m.iotape"}).status, 2);
  EXPECT_THAT(iotape({"merge", "--help"}).out, HasSubstr("TRACE..."));
  EXPECT_EQ(iotape({"merge", trace, trace, trace, "-o", scratch_ / "m.iotape"}).status, 0);
}

TEST_F(TraceCommands, ADeviceThatNeverEndsIsNoTrace) {
  for (const std::string& command : std::vector<std::string>{"info", "dump", "recover -o " + (scratch_ / "out")}) {
    const auto run = test::run_shell("timeout 20 " IOTAPE_BINARY " " + command + " /dev/zero");
    EXPECT_EQ(run.status, 1) << command;
    EXPECT_THAT(run.err, testing::HasSubstr("/dev/zero is a device, no file with events in it")) << run.err;
  }
  EXPECT_EQ(test::run_shell("timeout 20 " IOTAPE_BINARY " info - < /dev/zero").status, 1);
}

TEST_F(TraceCommands, ATraceCanComeFromAPipeAndLeaveByOne) {
  const std::string trace = make_trace("a.iotape");
  const std::string binary = IOTAPE_BINARY;
  const CommandOutput piped =
      test::run_shell("cat " + trace + " | " + binary + " cut -o - - | " + binary + " info --json -");
  ASSERT_EQ(piped.status, 0) << piped.err;
  EXPECT_EQ(json::parse(piped.out)["syscalls"], 103);
}

TEST_F(TraceCommands, OutputIsPrivateToItsOwner) {
  const std::string trace = make_trace("a.iotape");
  ASSERT_EQ(iotape({"cut", trace, "-o", scratch_ / "c.iotape"}).status, 0);
  struct stat status {};
  ASSERT_EQ(::stat((scratch_ / "c.iotape").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(TraceCommands, AFileOfAnotherFormatIsNamedWithTheCommandThatHelps) {
  const auto complaint = [&](const std::string& name, const std::string& bytes) {
    test::write_file(scratch_ / name, bytes);
    const CommandOutput output = iotape({"info", scratch_ / name});
    EXPECT_EQ(output.status, 1) << name;
    EXPECT_EQ(output.out, "");
    return output.err;
  };
  EXPECT_THAT(complaint("x.blktrace.0", std::string("\x07\x74\x61\x65", 4) + std::string(60, '\0')),
              AllOf(HasSubstr("a blktrace file"), HasSubstr("iotape convert")));
  EXPECT_THAT(complaint("x.iotape.gz", "\x1f\x8b\x08"), AllOf(HasSubstr("gzip"), HasSubstr("zcat")));
  EXPECT_THAT(complaint("x.zst", "\x28\xb5\x2f\xfd"), HasSubstr("zstd"));
  EXPECT_THAT(complaint("x.scap", "\x0a\x0d\x0d\x0a"), HasSubstr("scap"));
  EXPECT_THAT(complaint("perf.data", "PERFILE2xxxx"), HasSubstr("perf.data"));
  EXPECT_THAT(complaint("s.txt", "1234 1700000000.123456 openat(AT_FDCWD, \"x\", O_RDONLY) = 3 <0.000010>\n"),
              HasSubstr("strace"));
  EXPECT_THAT(complaint("b.txt", "  8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]\n"),
              HasSubstr("blkparse"));
  EXPECT_THAT(complaint("j.json", "{\"schema\":\"x\"}\n"), HasSubstr("iotape convert"));
  EXPECT_THAT(complaint("empty", ""), HasSubstr("is empty"));
  EXPECT_THAT(complaint("notes", "just text\n"), HasSubstr("a text file"));
  EXPECT_THAT(iotape({"info", scratch_ / "nowhere"}).err, HasSubstr("No such file"));
}

TEST_F(TraceCommands, BlktraceIsFoundOutAndConverted) {
  // One queue record of format version 7: a write of 8 sectors at sector 2048 of 8,0.
  const auto le = [](std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xFFU);
    return text;
  };
  const auto record = [&](std::uint32_t sequence, std::uint64_t time, std::uint32_t action) {
    constexpr std::uint32_t kWriteIssue = 1U << 17U;
    return le(0x65617407, 4) + le(sequence, 4) + le(time, 8) + le(2048, 8) + le(4096, 4) + le(kWriteIssue | action, 4) +
           le(77, 4) + le(8U << 20U, 4) + le(0, 4) + le(0, 2) + le(0, 2);
  };
  test::write_file(scratch_ / "x.blktrace.0", record(1, 1000, 1) + record(2, 2000, 7) + record(3, 3000, 8));
  const CommandOutput converted = iotape({"convert", scratch_ / "x.blktrace.0", scratch_ / "x.iotape"});
  ASSERT_EQ(converted.status, 0) << converted.err;
  const json document = info(scratch_ / "x.iotape");
  EXPECT_EQ(document["requests"], 1);
  EXPECT_EQ(document["parts"], 1);
  EXPECT_EQ(document["devices"][0]["written_bytes"], 4096);
  EXPECT_EQ(document["whole"], true);
}

TEST_F(TraceCommands, BrokenJsonIsAnErrorWithItsLine) {
  const std::string trace = make_trace("a.iotape");
  std::string lines = iotape({"dump", "--format", "json", trace}).out;
  test::write_file(scratch_ / "bad.json",
                   lines.insert(lines.find('\n') + 1, "{\"event\":\"marker\",\"time_ns\":\"x\"}\n"));
  const CommandOutput output = iotape({"convert", scratch_ / "bad.json", scratch_ / "b.iotape"});
  EXPECT_EQ(output.status, 4);
  EXPECT_THAT(output.err, AllOf(HasSubstr("line 2"), HasSubstr("time_ns")));
}

TEST_F(TraceCommands, UsageIsUniform) {
  for (const char* command : {"dump", "info", "recover", "convert", "cut", "merge"}) {
    const CommandOutput help = iotape({command, "-h"});
    EXPECT_EQ(help.status, 0) << command;
    EXPECT_THAT(help.out, HasSubstr("--quiet")) << command;
    EXPECT_EQ(help.err, "") << command;
    const CommandOutput none = iotape({command});
    EXPECT_EQ(none.status, 2) << command;
    EXPECT_EQ(none.out, "") << command;
    EXPECT_THAT(iotape({command, "--quite", "x"}).err, HasSubstr("did you mean --quiet")) << command;
  }
  EXPECT_THAT(iotape({"dmp"}).err, HasSubstr("did you mean dump"));
  EXPECT_EQ(iotape({"dump", "--format", "xml", "x"}).status, 2);
}

}  // namespace
}  // namespace iotape
