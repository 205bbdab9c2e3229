#include "tests/fuzz/record_inputs.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "format/json_fields.h"
#include "recorder/block_records.h"
#include "recorder/decode.h"

namespace iotape::fuzz {
namespace {

// Prints what comes, since that looks at every field.
class Printing final : public EventSink {
 public:
  Result<void> append(EventBody body) override {
    out_.clear();
    append_json(out_, Event{EventId(0), 0, std::move(body)});
    return {};
  }

 private:
  std::string out_;
};

template <typename Decoded>
void print(EventSink& sink, const std::optional<Decoded>& event) {
  if (event) (void)sink.append(*event);
}

// The record with the head that the ring would have checked.
std::vector<std::byte> with_head(std::span<const std::byte> record, std::uint16_t kind) {
  std::vector<std::byte> bytes(record.begin(), record.end());
  bytes.resize(std::max(bytes.size(), sizeof(wire_head)));
  const wire_head head{kind, static_cast<__u16>(bytes.size()), 0};
  std::memcpy(bytes.data(), &head, sizeof(head));
  return bytes;
}

void decode_one(std::span<const std::byte> record, EventSink& sink) {
  (void)record_kind(record);
  if (const auto decoded = decode_call(record)) {
    (void)sink.append(decoded->call);
    print(sink, decoded->found);
  }
  print(sink, decode_fork(record));
  print(sink, decode_exec(record));
  print(sink, decode_exit(record));
  print(sink, decode_removal(record));
  if (const auto decoded = decode_context(record)) {
    (void)sink.append(decoded->start);
    (void)sink.append(decoded->context);
  }
  if (const auto decoded = decode_descriptor(record)) {
    (void)sink.append(decoded->descriptor);
    (void)sink.append(decoded->state);
  }
}

}  // namespace

void decode_record(std::span<const std::uint8_t> bytes) {
  Printing sink;
  const auto record = std::as_bytes(bytes);
  decode_one(record, sink);
  // The same bytes cut into block records: bios, requests, moves and refusals of one assembler.
  BlockRecords blocks([] { return std::vector<wire_request>(); });
  constexpr std::size_t kRecordBytes = sizeof(wire_bio);
  for (std::size_t at = 0; at < record.size(); at += kRecordBytes) {
    const auto piece = record.subspan(at, std::min(kRecordBytes, record.size() - at));
    const auto kind = static_cast<std::uint16_t>(WIRE_BIO + (std::to_integer<unsigned>(piece[0]) & 3U));
    (void)blocks.handle(with_head(piece, kind), sink);
  }
  (void)blocks.finish(sink);
}

}  // namespace iotape::fuzz
