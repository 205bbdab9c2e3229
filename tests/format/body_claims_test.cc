// A block whose checksums hold may still claim anything: what no writer makes is refused before it costs memory or
// time.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/block_frame.h"
#include "format/name_tracker.h"
#include "format/trace_limits.h"
#include "format/trace_reader.h"
#include "format/trace_writer.h"
#include "tests/fuzz/fuzz_inputs.h"
#include "tests/support/test_support.h"
#include "trace.pb.h"

namespace iotape {
namespace {

using testing::HasSubstr;

// Reads a trace of one block with this body; the words of its damage, empty when it was read as sound.
std::string damage_of(const wire::Body& body) {
  const test::ScratchDirectory scratch;
  std::vector<std::uint8_t> bytes(body.ByteSizeLong());
  body.SerializeWithCachedSizesToArray(bytes.data());
  const std::string trace = fuzz::trace_of_body(bytes, 1);
  EXPECT_LT(trace.size(), 1U << 20U) << "a claim is cheap to make";
  test::write_file(scratch / "t", trace);
  const auto reader = TraceReader::open(scratch / "t");
  EXPECT_TRUE(reader);
  while (reader) {
    const auto event = (*reader)->next();
    if (!event || *event == nullptr) break;
  }
  const auto& damage = (*reader)->report().damage;
  return damage.empty() ? "" : damage.front().what;
}

wire::Body sound_body() {
  wire::Body body;
  body.mutable_events()->set_resolution(1);
  return body;
}

TEST(BodyClaims, ABodyThatClaimsNothingIsSound) { EXPECT_EQ(damage_of(sound_body()), ""); }

TEST(BodyClaims, MillionsOfEmptyMessagesAreNotUnpacked) {
  wire::Body groups = sound_body();
  for (int i = 0; i < 800'000; ++i) groups.mutable_events()->add_call();
  EXPECT_THAT(damage_of(groups), HasSubstr("unpacks to more than"));
  wire::Body frames = sound_body();
  auto* stack = frames.mutable_events()->add_rare()->mutable_stack();
  for (int i = 0; i < 3'000'000; ++i) stack->add_frame();
  EXPECT_THAT(damage_of(frames), HasSubstr("unpacks to more than"));
}

TEST(BodyClaims, MillionsOfNumbersAreNotUnpacked) {
  wire::Body body = sound_body();
  auto* column = body.mutable_events()->add_call()->mutable_thread()->mutable_plain();
  for (int i = 0; i < 9'000'000; ++i) column->Add(1);
  EXPECT_THAT(damage_of(body), HasSubstr("unpacks to more than"));
}

TEST(BodyClaims, MoreEventsThanABlockHoldsAreRefused) {
  wire::Body body = sound_body();
  for (std::size_t i = 0; i <= kMaximumBlockEvents; ++i) body.mutable_events()->add_row(1);
  EXPECT_THAT(damage_of(body), HasSubstr("more events"));
}

TEST(BodyClaims, AFewNamesDoNotUnpackToManyBytes) {
  wire::Body body = sound_body();
  auto* names = body.mutable_events()->mutable_leaf();
  names->set_suffixes(std::string(4096, 'a'));
  names->add_shared(0), names->add_suffix_length(4096);
  for (int i = 0; i < 100'000; ++i) names->add_shared(4096), names->add_suffix_length(0);
  EXPECT_THAT(damage_of(body), HasSubstr("name table holds more"));
}

TEST(BodyClaims, ARequestOfMillionsOfPartsIsRefused) {
  wire::Body body = sound_body();
  body.mutable_events()->add_row(1);
  body.mutable_events()->mutable_request()->mutable_parts()->add_plain(4'000'000);
  EXPECT_THAT(damage_of(body), HasSubstr("more parts"));
  body.mutable_events()->mutable_request()->mutable_parts()->set_plain(0, kMaximumRequestParts + 1);
  EXPECT_NE(damage_of(body), "");
}

TEST(BodyClaims, AWriterRefusesWhatNoReaderTakes) {
  const test::ScratchDirectory scratch;
  auto writer = TraceWriter::create(FileDescriptor(::open((scratch / "t").c_str(), O_CREAT | O_WRONLY, 0600)), {}, {});
  ASSERT_TRUE(writer);
  BlockRequest request;
  request.parts.resize(kMaximumRequestParts + 1);
  const auto parts = (*writer)->append(request);
  ASSERT_FALSE(parts);
  EXPECT_EQ(parts.error().code, ErrorCode::kLimit);
  Syscall call;
  Read read;
  read.segments.resize(kMaximumCallSegments + 1);
  call.operation = read;
  const auto segments = (*writer)->append(call);
  ASSERT_FALSE(segments);
  EXPECT_EQ(segments.error().code, ErrorCode::kLimit);
}

TEST(BodyClaims, ADirectoryThatIsItsOwnParentGetsNoEndlessName) {
  NameTracker names;
  FileState state;
  state.file = state.parent = {{DeviceId(1), 0, InodeNumber(2), 0}, FileKind::kDirectory};
  state.path = "/";
  names.observe(EventBody(state));
  state.path.clear();
  state.name = std::string(250, 'd');
  for (int i = 0; i < 10'000; ++i) names.observe(EventBody(state));
  EXPECT_LE(names.path(state.file).size(), 64U << 10U);
}

}  // namespace
}  // namespace iotape
