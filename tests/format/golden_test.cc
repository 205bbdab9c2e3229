// A file of version 1 as version 1 wrote it. If this fails, the change breaks the traces people have.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "format/event_printer.h"
#include "format/trace_files.h"
#include "tests/support/sample_events.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

const std::string kTrace = std::string(IOTAPE_SOURCE_DIR) + "/tests/data/version1.iotape";
const std::string kDump = std::string(IOTAPE_SOURCE_DIR) + "/tests/data/version1.json";

// Written once, by the first release's writer, and never again.
void make_golden() {
  WriterOptions options;
  options.block_events = 16;
  options.resolution = Nanoseconds(1);
  auto writer = TraceWriter::create(create_output(kTrace, true).value(), test::sample_header(), options).value();
  for (const EventBody& body : test::sample_events()) EXPECT_TRUE(writer->append(body));
  // One call of every operation, with the last variant of its last argument.
  const auto operations = test::operations_with_one_argument_changed();
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (i + 1 < operations.size() && operations[i + 1].index() == operations[i].index()) continue;
    Syscall call;
    call.thread = {ProcessId(300), ThreadId(301)};
    call.number = static_cast<std::uint32_t>(operations[i].index());
    call.start = Nanoseconds(3'000'000'000 + static_cast<std::int64_t>(i));
    call.operation = operations[i];
    EXPECT_TRUE(writer->append(std::move(call)));
  }
  EXPECT_TRUE(writer->finish(test::sample_totals()));
}

std::string dump_of(const std::string& path) {
  auto trace = TraceReader::open(path).value();
  const auto printer = make_json_printer();
  std::string out;
  printer->begin(out, trace->header());
  while (Event* event = trace->next().value()) {
    printer->observe(*event);
    printer->print(out, *event);
  }
  printer->end(out, trace->report());
  return out;
}

TEST(Golden, VersionOneReadsAsItWasWritten) {
  if (std::getenv("IOTAPE_MAKE_GOLDEN") != nullptr) {
    make_golden();
    test::write_file(kDump, dump_of(kTrace));
  }
  const std::string expected = test::read_file(kDump);
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(dump_of(kTrace), expected);
}

}  // namespace
}  // namespace iotape
