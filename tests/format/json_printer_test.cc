// JSON: one shape for reading and writing, and nothing lost on the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "format/event_printer.h"
#include "format/json_fields.h"
#include "format/quoting.h"
#include "tests/support/sample_events.h"

namespace iotape {
namespace {

std::string json_of(const Event& event) {
  std::string out;
  append_json(out, event);
  return out;
}

Result<Event> event_of(std::string_view line) {
  auto parsed = parse_json_line(line);
  if (!parsed) return tl::make_unexpected(parsed.error());
  return std::get<Event>(parsed->content);
}

TEST(JsonFields, EveryEventSurvivesWritingAndReading) {
  std::uint64_t id = 0;
  for (const EventBody& body : test::sample_events()) {
    const Event event{EventId(id++), 3, body};
    const std::string line = json_of(event);
    ASSERT_TRUE(nlohmann::json::accept(line)) << line;
    const auto back = event_of(line);
    ASSERT_TRUE(back) << back.error().message << "\n" << line;
    EXPECT_EQ(json_of(*back), line);
    EXPECT_TRUE(test::same_event(back->body, body)) << line;
    EXPECT_EQ(back->id, event.id);
    EXPECT_EQ(back->recorder, 3U);
  }
}

TEST(JsonFields, EveryArgumentOfEveryOperationSurvives) {
  for (const Operation& operation : test::operations_with_one_argument_changed()) {
    Syscall call;
    call.operation = operation;
    const Event event{EventId(0), 0, call};
    const auto back = event_of(json_of(event));
    ASSERT_TRUE(back) << back.error().message << json_of(event);
    EXPECT_TRUE(test::same_event(back->body, event.body)) << json_of(event);
  }
}

TEST(JsonFields, BytesThatAreNoUtf8AreHexadecimalAndComeBack) {
  for (const std::string& name : test::difficult_names()) {
    std::string out;
    append_json_bytes(out, name);
    ASSERT_TRUE(nlohmann::json::accept(out)) << out;
    Event event{EventId(0), 0, Marker{Nanoseconds(0), name}};
    const auto back = event_of(json_of(event));
    ASSERT_TRUE(back);
    EXPECT_EQ(std::get<Marker>(back->body).text, name);
  }
  std::string out;
  append_json_bytes(out, "a\xff");
  EXPECT_EQ(out, R"({"hex":"61ff"})");
}

TEST(JsonFields, Utf8IsCheckedStrictly) {
  EXPECT_TRUE(is_utf8("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"));
  EXPECT_FALSE(is_utf8("\xc0\xaf")) << "overlong";
  EXPECT_FALSE(is_utf8("\xed\xa0\x80")) << "surrogate";
  EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80")) << "beyond U+10FFFF";
  EXPECT_FALSE(is_utf8("\xe2\x82")) << "cut";
}

TEST(JsonFields, NumbersAreNumbersAndZeroIsThere) {
  BlockRequest request;
  request.issue = Nanoseconds(0);
  const std::string line = json_of({EventId(0), 0, request});
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["sector"], 0);
  EXPECT_EQ(json["issue_ns"], 0);
  EXPECT_EQ(json["id"], 0);
  EXPECT_FALSE(json.contains("complete_ns")) << "absent is not zero";
  EXPECT_EQ(json["rwbs"], "R");
  EXPECT_EQ(json["event"], "block_request");
}

TEST(JsonFields, HeaderAndTotalsSurvive) {
  const TraceHeader header = test::sample_header();
  std::string line = "{\"header\":";
  append_json(line, header);
  line += '}';
  const auto parsed = parse_json_line(line);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(std::get<TraceHeader>(parsed->content), header);

  const TraceTotals totals = test::sample_totals();
  line = "{\"totals\":";
  append_json(line, totals);
  line += '}';
  const auto parsed_totals = parse_json_line(line);
  ASSERT_TRUE(parsed_totals);
  EXPECT_EQ(std::get<TraceTotals>(parsed_totals->content), totals);
}

TEST(JsonFields, WrongInputIsRefusedAndNamed) {
  const auto message = [](std::string_view line) {
    const auto parsed = parse_json_line(line);
    return parsed ? "accepted" : parsed.error().message;
  };
  EXPECT_THAT(message("nonsense"), testing::HasSubstr("not a JSON object"));
  EXPECT_THAT(message("{}"), testing::HasSubstr("neither"));
  EXPECT_THAT(message(R"({"event":"party"})"), testing::HasSubstr("event"));
  EXPECT_THAT(message(R"({"event":"marker","time_ns":"late"})"), testing::HasSubstr("time_ns"));
  EXPECT_THAT(message(R"({"event":"marker","time_ns":99999999999999999999})"), testing::HasSubstr("time_ns"));
  EXPECT_THAT(message(R"({"event":"block_request","device":"7:9999999"})"), testing::HasSubstr("device"));
  EXPECT_THAT(message(R"({"event":"loss","cause":"gremlins"})"), testing::HasSubstr("cause"));
  EXPECT_THAT(message(R"({"event":"syscall","pid":1})"), testing::HasSubstr("operation"));
  EXPECT_THAT(message(R"({"event":"block_request","flags":["shiny"]})"), testing::HasSubstr("flag"));
  // A number that stands for no word would make a block that no reader takes.
  EXPECT_THAT(message(R"({"event":"block_request","operation":200})"), testing::HasSubstr("operation"));
  EXPECT_TRUE(event_of(R"({"event":"block_request","operation":1})"));
}

TEST(CsvPrinter, RowsHaveTheColumnsOfTheHeaderWhateverTheNames) {
  const auto printer = make_csv_printer();
  std::string out;
  printer->begin(out, {});
  const std::size_t columns = std::count(out.begin(), out.end(), ',');
  for (const EventBody& body : test::sample_events()) {
    const Event event{EventId(1), 0, body};
    std::string row;
    printer->observe(event);
    printer->print(row, event);
    std::size_t commas = 0;
    bool quoted = false;
    for (const char c : row) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted) ++commas;
    }
    EXPECT_EQ(commas, columns) << row;
    EXPECT_FALSE(quoted) << row;
    EXPECT_EQ(std::count(row.begin(), row.end(), '\n'), 1) << row;
  }
}

// Times of a damaged trace may be any: differences wrap, as the format's own do.
TEST(CsvPrinter, TimesOfAnySizeHaveADifference) {
  BlockRequest request;
  request.issue = Nanoseconds(std::numeric_limits<std::int64_t>::max());
  request.complete = Nanoseconds(std::numeric_limits<std::int64_t>::min());
  std::string row;
  make_csv_printer()->print(row, {EventId(1), 0, request});
  EXPECT_THAT(row, testing::HasSubstr("9223372036854775807,1,"));
}

}  // namespace
}  // namespace iotape
