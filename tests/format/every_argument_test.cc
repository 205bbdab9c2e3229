// Every stored argument of every operation survives a trace file when it alone changes, and so does every field of
// every other event.
#include <gtest/gtest.h>

#include "format/json_fields.h"
#include "format/trace_files.h"
#include "tests/support/sample_events.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

std::vector<EventBody> through_a_file(const std::vector<EventBody>& bodies) {
  const test::ScratchDirectory scratch;
  const std::string path = scratch / "t.iotape";
  WriterOptions options;
  options.resolution = Nanoseconds(1);
  auto writer = TraceWriter::create(create_output(path, false).value(), TraceHeader{}, options).value();
  for (const EventBody& body : bodies) EXPECT_TRUE(writer->append(body));
  EXPECT_TRUE(writer->finish({}));
  auto reader = TraceReader::open(path).value();
  std::vector<EventBody> back;
  while (Event* event = reader->next().value()) back.push_back(std::move(event->body));
  EXPECT_TRUE(reader->report().whole());
  return back;
}

std::string shown(const EventBody& body) {
  std::string out;
  append_json(out, Event{EventId(0), 0, body});
  return out;
}

TEST(EveryArgument, SurvivesWhenOnlyItChanges) {
  std::vector<EventBody> calls;
  for (Operation& operation : test::operations_with_one_argument_changed()) {
    Syscall call;
    call.thread = {ProcessId(1), ThreadId(1)};
    call.start = Nanoseconds(static_cast<std::int64_t>(calls.size()));
    call.operation = std::move(operation);
    calls.emplace_back(std::move(call));
  }
  ASSERT_GT(calls.size(), 5 * kOperationCount);
  const auto back = through_a_file(calls);
  ASSERT_EQ(back.size(), calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i)
    EXPECT_TRUE(test::same_event(back[i], calls[i])) << shown(calls[i]) << "\n" << shown(back[i]);
}

TEST(EveryArgument, EachAloneInItsBlockSurvives) {
  // Without neighbours no prediction can help or hide.
  std::size_t index = 0;
  for (const Operation& operation : test::operations_with_one_argument_changed()) {
    if (++index % 7 != 0) continue;  // the first test has them all; this one samples
    Syscall call;
    call.operation = operation;
    const auto back = through_a_file({call});
    ASSERT_EQ(back.size(), 1U);
    EXPECT_TRUE(test::same_event(back[0], call)) << shown(call) << "\n" << shown(back[0]);
  }
}

TEST(EveryArgument, EveryOtherEventSurvivesAlone) {
  for (const EventBody& body : test::sample_events()) {
    const auto back = through_a_file({body});
    ASSERT_EQ(back.size(), 1U);
    EXPECT_TRUE(test::same_event(back[0], body)) << shown(body) << "\n" << shown(back[0]);
  }
}

}  // namespace
}  // namespace iotape
