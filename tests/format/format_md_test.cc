// FORMAT.md says what the code does: its tables and its example are made here and compared.
// IOTAPE_UPDATE_FORMAT_MD=1 writes them into the page instead.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "format/argument_view.h"
#include "format/block_frame.h"
#include "format/enum_names.h"
#include "format/trace_files.h"
#include "format/trace_writer.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

const std::string kPage = std::string(IOTAPE_SOURCE_DIR) + "/format/FORMAT.md";

struct TypeWord {
  std::string_view operator()(const std::int64_t*) const { return "number"; }
  std::string_view operator()(const bool*) const { return "flag"; }
  std::string_view operator()(const PathArgument*) const { return "path"; }
  std::string_view operator()(const Text*) const { return "text"; }
  std::string_view operator()(const Descriptor*) const { return "descriptor"; }
  std::string_view operator()(const FileReference*) const { return "file"; }
  std::string_view operator()(const FilePosition*) const { return "position"; }
  std::string_view operator()(const TimeArgument*) const { return "time"; }
  std::string_view operator()(const SegmentLengths*) const { return "lengths"; }
};

template <typename Op>
std::string operation_row() {
  const Op op;
  std::string arguments;
  for_each_field(op, [&](const auto& description, const auto& member) {
    arguments += fmt::format("{}{} {} ({})", arguments.empty() ? "" : ", ", description.number, description.name,
                             TypeWord{}(&member));
  });
  return fmt::format("| {} | {} | {} |\n", Op::kWireNumber, type_name<Op>(), arguments);
}

template <std::size_t... Index>
std::string operation_rows(std::index_sequence<Index...>) {
  return (operation_row<std::variant_alternative_t<Index, Operation>>() + ...);
}

std::string argument_table() {
  return "| number | operation | arguments: number name (type) |\n|---:|---|---|\n" +
         operation_rows(std::make_index_sequence<kOperationCount>{});
}

template <typename E>
std::string enumeration(std::string_view title) {
  std::string text = fmt::format("{}:", title);
  const auto names = names_of(E{});
  for (std::size_t i = 0; i < names.size(); ++i) text += fmt::format("{} {} {}", i == 0 ? "" : ",", i, names[i]);
  return text + ".\n\n";
}

std::string enumerations() {
  std::string text = enumeration<FileKind>("File kind") + enumeration<TextState>("Text state") +
                     enumeration<CallInterface>("Interface") + enumeration<SkipReason>("Skip reason") +
                     enumeration<BlockOperation>("Request operation") + enumeration<BlockFlag>("Request flag, by bit") +
                     enumeration<BlockCause>("Cause of a part") + enumeration<StateSource>("Source of a file state") +
                     enumeration<ClockKind>("Clock") + enumeration<CacheCondition>("Cache condition");
  text += "| loss cause | word | meaning | counts as lost |\n|---:|---|---|---|\n";
  for (int i = 0; i < kLossCauseCount; ++i) {
    const auto cause = static_cast<LossCause>(i);
    text += fmt::format("| {} | {} | {} | {} |\n", i, enum_name(cause), loss_meaning(cause),
                        counts_as_lost(cause) ? "yes" : "no");
  }
  return text;
}

std::string example_trace() {
  const test::ScratchDirectory scratch;
  TraceHeader header;
  header.tool_version = "0.1.0";
  header.clock = ClockKind::kBootTime;
  header.has_syscalls = true;
  WriterOptions options;
  options.zstd_level = 1;
  auto file = create_output(scratch / "example.iotape", false);
  auto writer = TraceWriter::create(std::move(file.value()), header, options).value();
  Syscall close;
  close.thread = {ProcessId(100), ThreadId(100)};
  close.number = 3;
  close.start = Nanoseconds(1'000'000);
  close.duration = Nanoseconds(500);
  close.operation = Close{{3, {}}};
  EXPECT_TRUE(writer->append(close));
  TraceTotals totals;
  totals.seen = 1;
  totals.end = Nanoseconds(2'000'000);
  EXPECT_TRUE(writer->finish(totals));
  return test::read_file(scratch / "example.iotape");
}

// Rows of sixteen bytes, a heading before each block.
std::string hex_dump(const std::string& bytes) {
  std::string text = "```\n";
  std::size_t offset = 0;
  while (offset < bytes.size()) {
    const auto frame = decode_block_frame({reinterpret_cast<const std::uint8_t*>(bytes.data()) + offset,
                                           std::min(bytes.size() - offset, kBlockHeaderBytes)});
    if (!frame) return text + "no block";
    const std::size_t end = offset + kBlockHeaderBytes + frame->payload_bytes;
    text += fmt::format("block {}: kind {}, {} events, payload {} bytes at {}\n", frame->sequence,
                        static_cast<std::uint32_t>(frame->kind), frame->events, frame->payload_bytes,
                        offset + kBlockHeaderBytes);
    for (; offset < end; offset += std::min<std::size_t>(16, end - offset)) {
      text += fmt::format("  {:04x} ", offset);
      for (std::size_t i = offset; i < std::min(end, offset + 16); ++i)
        text += fmt::format(" {:02x}", static_cast<unsigned char>(bytes[i]));
      text += '\n';
    }
  }
  return text + "```\n";
}

// Replaces what stands between the markers of a section.
std::string with_section(std::string page, const std::string& name, const std::string& content) {
  const std::string begin = "<!-- begin " + name + " -->\n";
  const std::size_t start = page.find(begin);
  const std::size_t end = page.find("<!-- end " + name + " -->");
  if (start == std::string::npos || end == std::string::npos) return page + "\nno section " + name;
  return page.replace(start + begin.size(), end - start - begin.size(), content);
}

TEST(FormatMd, TablesAndExampleAreWhatTheCodeDoes) {
  const std::string page = test::read_file(kPage);
  std::string expected = with_section(page, "arguments", argument_table());
  expected = with_section(expected, "enumerations", enumerations());
  expected = with_section(expected, "example", hex_dump(example_trace()));
  if (std::getenv("IOTAPE_UPDATE_FORMAT_MD") != nullptr) test::write_file(kPage, expected);
  EXPECT_EQ(test::read_file(kPage), expected) << "run once with IOTAPE_UPDATE_FORMAT_MD=1 and look at the difference";
}

TEST(FormatMd, TheHeaderTableFollowsTheBytes) {
  BlockFrame frame;
  frame.sequence = 0x0102030405060708;
  frame.payload_bytes = 300;
  const BlockHeaderBytes bytes = encode_block_frame(frame);
  const std::string page = test::read_file(kPage);
  // Each row of the table names an offset and the tag that stands there.
  for (const auto& [offset, tag] : {std::pair{5, "0D"},
                                    {10, "11"},
                                    {19, "1D"},
                                    {24, "25"},
                                    {29, "29"},
                                    {38, "31"},
                                    {47, "39"},
                                    {56, "41"},
                                    {65, "49"},
                                    {74, "55"},
                                    {79, "5D"},
                                    {84, "61"},
                                    {93, "69"},
                                    {102, "7A"}}) {
    EXPECT_EQ(fmt::format("{:02X}", bytes[static_cast<std::size_t>(offset)]), tag) << offset;
    const std::size_t row = page.find(fmt::format("\n| {} | 1 + ", offset));
    ASSERT_NE(row, std::string::npos) << offset;
    EXPECT_EQ(page.compare(page.find('`', row) + 1, 2, tag), 0) << offset;
  }
  EXPECT_NE(page.find(fmt::format("\n{} bytes, a valid prefix", kBlockHeaderBytes)), std::string::npos);
}

}  // namespace
}  // namespace iotape
