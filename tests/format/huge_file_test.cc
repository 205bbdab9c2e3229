// A trace beyond 4 GiB: offsets are 64 bits wide everywhere, and a damaged stretch of any length is passed over.
#include <fcntl.h>
#include <gtest/gtest.h>

#include "format/trace_reader.h"
#include "format/trace_writer.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

TEST(HugeTraceLong, BlocksBeyondFourGibibytesAreRead) {
  const test::ScratchDirectory scratch;
  const std::string path = scratch / "huge";
  constexpr off_t kHole = (off_t{4} << 30) + 12'345;
  constexpr int kEvents = 100;
  FileDescriptor file(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  const int fd = file.get();
  auto writer = TraceWriter::create(std::move(file), {}, {.block_events = 10, .resolution = Nanoseconds(1)});
  ASSERT_TRUE(writer.has_value());
  for (int i = 0; i < kEvents; ++i) {
    if (i == kEvents / 2) {  // a sparse hole in the middle
      ASSERT_GT(::lseek(fd, kHole, SEEK_CUR), kHole);
    }
    ASSERT_TRUE((*writer)->append(Marker{Nanoseconds(i), std::to_string(i)}).has_value());
  }
  ASSERT_TRUE((*writer)->finish({}).has_value());
  auto reader = TraceReader::open(path);
  ASSERT_TRUE(reader.has_value());
  int events = 0;
  for (auto event = (*reader)->next(); event && *event != nullptr; event = (*reader)->next())
    EXPECT_EQ(std::get<Marker>((*event)->body).text, std::to_string(events++));
  EXPECT_EQ(events, kEvents);
  const ReadReport& report = (*reader)->report();
  EXPECT_FALSE(report.interrupted);
  ASSERT_EQ(report.damage_count, 1U);
  EXPECT_EQ(report.damage[0].bytes, static_cast<std::uint64_t>(kHole));
  EXPECT_GT(report.bytes, std::uint64_t{1} << 32U);
}

}  // namespace
}  // namespace iotape
