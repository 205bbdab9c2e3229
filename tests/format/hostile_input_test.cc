// The functions the fuzz programs drive, over good inputs, every truncation class and a bounded number of mutations.
// The same mutations every run: a failure here can be repeated.
#include <gtest/gtest.h>

#include <random>

#include "format/block_frame.h"
#include "format/compression.h"
#include "format/json_fields.h"
#include "format/trace_files.h"
#include "tests/fuzz/fuzz_inputs.h"
#include "tests/support/sample_events.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

std::string small_trace() {
  const test::ScratchDirectory scratch;
  WriterOptions options;
  options.block_events = 8;
  auto writer =
      TraceWriter::create(create_output(scratch / "t", false).value(), test::sample_header(), options).value();
  for (const EventBody& body : test::sample_events()) EXPECT_TRUE(writer->append(body));
  EXPECT_TRUE(writer->finish(test::sample_totals()));
  return test::read_file(scratch / "t");
}

// The uncompressed bodies of a trace's event blocks, each led by its number of events.
std::vector<std::string> event_bodies_of(const std::string& trace) {
  std::vector<std::string> bodies;
  Decompressor decompressor;
  const std::span all(reinterpret_cast<const std::uint8_t*>(trace.data()), trace.size());
  for (std::size_t offset = 0; offset + kBlockHeaderBytes <= all.size();) {
    const auto frame = decode_block_frame(all.subspan(offset, kBlockHeaderBytes));
    if (!frame) break;
    const auto payload = all.subspan(offset + kBlockHeaderBytes, frame->payload_bytes);
    const auto body = decompressor.decompress(payload, frame->body_bytes);
    if (body && frame->kind == BlockKind::kEvents)
      bodies.push_back(std::string(1, static_cast<char>(frame->events)) + std::string(body->begin(), body->end()));
    offset += kBlockHeaderBytes + frame->payload_bytes;
  }
  return bodies;
}

void mutate(std::string& bytes, std::mt19937& random) {
  const auto position = [&] { return bytes.empty() ? 0 : random() % bytes.size(); };
  switch (random() % 5) {
    case 0:
      if (!bytes.empty()) bytes[position()] ^= static_cast<char>(1U << random() % 8);
      break;
    case 1:
      if (!bytes.empty()) bytes[position()] = static_cast<char>(random());
      break;
    case 2:
      bytes.insert(position(), 1 + random() % 8, static_cast<char>(random()));
      break;
    case 3:
      bytes.erase(position(), 1 + random() % 16);
      break;
    default:
      bytes.resize(position());
  }
}

void drive(void (*input)(fuzz::Bytes), const std::vector<std::string>& seeds, int mutations) {
  std::mt19937 random(20020402);
  for (const std::string& seed : seeds) {
    input({reinterpret_cast<const std::uint8_t*>(seed.data()), seed.size()});
    for (int i = 0; i < mutations; ++i) {
      std::string bytes = seed;
      for (unsigned changes = 1 + random() % 4; changes > 0; --changes) mutate(bytes, random);
      input({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    }
  }
}

TEST(HostileInput, TracesOfAnyBytesAreRead) { drive(fuzz::read_trace, {"", "\x0a", small_trace()}, 400); }

TEST(HostileInput, BlockBodiesBehindValidChecksumsAreRead) {
  // Bodies as a writer makes them, taken out of their frames.
  std::vector<std::string> seeds = event_bodies_of(small_trace());
  ASSERT_GE(seeds.size(), 3U);
  drive(fuzz::read_block_body, seeds, 400);
}

// One record of a blktrace file as a little-endian kernel writes it: a read of one sector, by action.
std::string blktrace_record(std::uint32_t sequence, std::uint32_t action, std::uint64_t sector,
                            std::string payload = {}) {
  const auto payload_bytes = static_cast<std::uint16_t>(payload.size());
  std::string bytes;
  const auto put = [&bytes](auto value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
  put(std::uint32_t{0x65617407}), put(sequence), put(std::uint64_t{sequence} * 1000), put(sector);
  put(std::uint32_t{512}), put(action), put(std::uint32_t{77}), put(std::uint32_t{8U << 20U}), put(std::uint32_t{0});
  put(std::uint16_t{0}), put(payload_bytes);
  return bytes + payload;
}

TEST(HostileInput, BlktraceFilesOfAnyBytesAreImported) {
  constexpr std::uint32_t kRead = 1U << 16U;
  constexpr std::uint32_t kNotify = 1U << 26U;
  std::string seed = blktrace_record(0, kNotify, 0, "tar");
  std::uint32_t sequence = 1;
  for (const std::uint32_t action : {1U, 7U, 6U, 7U, 8U}) seed += blktrace_record(sequence++, kRead | action, 4096);
  seed += blktrace_record(sequence, kRead | 7U, 0x7FFFFFFFFFFFFFFF);
  seed += blktrace_record(sequence + 1, kRead | 8U, ~0ULL);
  drive(fuzz::read_blktrace, {seed}, 400);
}

TEST(HostileInput, JsonOfAnyKindIsReadOrRefused) {
  std::vector<std::string> seeds;
  for (const EventBody& body : test::sample_events()) append_json(seeds.emplace_back(), Event{EventId(1), 0, body});
  seeds.emplace_back(std::string(100'000, '['));
  drive(fuzz::read_json_line, seeds, 60);
}

TEST(HostileInput, WordsOfAnyKindAreParsedOrRefused) {
  drive(fuzz::read_words, {"64K", "1.5G", "100ns", "2x", "1e400", std::string(4096, '9')}, 200);
}

}  // namespace
}  // namespace iotape
