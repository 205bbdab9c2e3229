#include "format/block_frame.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "format/base/byte_order.h"

namespace iotape {
namespace {

// Protobuf tags: field number << 3 | wire type (1 = 64 bit, 5 = 32 bit, 2 = length-delimited).
constexpr std::uint8_t kFixed64 = 1;
constexpr std::uint8_t kBytes = 2;
constexpr std::uint8_t kFixed32 = 5;
constexpr std::uint8_t tag(std::uint8_t field, std::uint8_t wire_type) {
  return static_cast<std::uint8_t>(field << 3U | wire_type);
}

// A varint of four bytes whatever the value (below 2^28), which protobuf parsers accept.
struct PaddedVarint {
  std::array<std::uint8_t, 4> bytes{};

  PaddedVarint() = default;
  explicit PaddedVarint(std::uint32_t value)
      : bytes{static_cast<std::uint8_t>(value | 0x80U), static_cast<std::uint8_t>(value >> 7U | 0x80U),
              static_cast<std::uint8_t>(value >> 14U | 0x80U), static_cast<std::uint8_t>(value >> 21U & 0x7FU)} {}
};

struct FrameLayout {
  std::uint8_t block_tag = tag(1, kBytes);
  PaddedVarint block_length;
  std::uint8_t magic_tag = tag(1, kFixed32);
  le32 magic{kBlockMagic};
  std::uint8_t sequence_tag = tag(2, kFixed64);
  le64 sequence;
  std::uint8_t payload_bytes_tag = tag(3, kFixed32);
  le32 payload_bytes;
  std::uint8_t body_bytes_tag = tag(4, kFixed32);
  le32 body_bytes;
  std::uint8_t first_time_tag = tag(5, kFixed64);
  le64 first_time;
  std::uint8_t last_time_tag = tag(6, kFixed64);
  le64 last_time;
  std::uint8_t seen_tag = tag(7, kFixed64);
  le64 seen;
  std::uint8_t lost_tag = tag(8, kFixed64);
  le64 lost;
  std::uint8_t first_event_tag = tag(9, kFixed64);
  le64 first_event;
  std::uint8_t events_tag = tag(10, kFixed32);
  le32 events;
  std::uint8_t kind_tag = tag(11, kFixed32);
  le32 kind;
  std::uint8_t payload_checksum_tag = tag(12, kFixed64);
  le64 payload_checksum;
  std::uint8_t header_checksum_tag = tag(13, kFixed64);
  le64 header_checksum;
  std::uint8_t payload_tag = tag(15, kBytes);
  PaddedVarint payload_length;
};
static_assert(sizeof(FrameLayout) == kBlockHeaderBytes && alignof(FrameLayout) == 1);
static_assert(offsetof(FrameLayout, magic_tag) == 5 && offsetof(FrameLayout, payload_tag) == kBlockHeaderBytes - 5);
constexpr std::size_t kBytesBeforeFields = offsetof(FrameLayout, magic_tag);

std::uint64_t header_checksum(const FrameLayout& layout) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&layout);
  return block_checksum({bytes + kBytesBeforeFields, offsetof(FrameLayout, header_checksum_tag) - kBytesBeforeFields});
}

FrameLayout make_layout(const BlockFrame& frame) {
  FrameLayout layout;
  layout.block_length =
      PaddedVarint(static_cast<std::uint32_t>(kBlockHeaderBytes - kBytesBeforeFields) + frame.payload_bytes);
  layout.sequence = frame.sequence;
  layout.payload_bytes = frame.payload_bytes;
  layout.body_bytes = frame.body_bytes;
  layout.first_time = static_cast<std::uint64_t>(frame.first_time.value);
  layout.last_time = static_cast<std::uint64_t>(frame.last_time.value);
  layout.seen = frame.seen;
  layout.lost = frame.lost;
  layout.first_event = frame.first_event;
  layout.events = frame.events;
  layout.kind = static_cast<std::uint32_t>(frame.kind);
  layout.payload_checksum = frame.payload_checksum;
  layout.header_checksum = header_checksum(layout);
  layout.payload_length = PaddedVarint(frame.payload_bytes);
  return layout;
}

bool within_bounds(const BlockFrame& frame) {
  return frame.payload_bytes <= kMaximumPayloadBytes && frame.body_bytes <= kMaximumBodyBytes &&
         frame.kind >= BlockKind::kHeader && frame.kind <= BlockKind::kEnd;
}

}  // namespace

std::uint64_t block_checksum(std::span<const std::uint8_t> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

BlockHeaderBytes encode_block_frame(const BlockFrame& frame) {
  const FrameLayout layout = make_layout(frame);
  BlockHeaderBytes bytes{};
  std::memcpy(bytes.data(), &layout, bytes.size());
  return bytes;
}

std::optional<BlockFrame> decode_block_frame(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kBlockHeaderBytes) return std::nullopt;
  FrameLayout layout;
  std::memcpy(&layout, bytes.data(), sizeof layout);
  BlockFrame frame;
  frame.sequence = layout.sequence;
  frame.payload_bytes = layout.payload_bytes;
  frame.body_bytes = layout.body_bytes;
  frame.first_time = Nanoseconds(static_cast<std::int64_t>(std::uint64_t{layout.first_time}));
  frame.last_time = Nanoseconds(static_cast<std::int64_t>(std::uint64_t{layout.last_time}));
  frame.seen = layout.seen;
  frame.lost = layout.lost;
  frame.first_event = layout.first_event;
  frame.events = layout.events;
  frame.kind = static_cast<BlockKind>(std::uint32_t{layout.kind});
  frame.payload_checksum = layout.payload_checksum;
  if (!within_bounds(frame)) return std::nullopt;
  // Encoding it again also compares every tag, both lengths and the checksum, whatever bytes they were damaged to.
  const BlockHeaderBytes expected = encode_block_frame(frame);
  if (!std::equal(expected.begin(), expected.end(), bytes.begin())) return std::nullopt;
  return frame;
}

bool looks_like_block(std::span<const std::uint8_t> bytes) {
  static constexpr std::array<std::uint8_t, 5> kTagAndMagic{0x0D, 0x49, 0x4F, 0x54, 0x31};
  return bytes.size() > kBytesBeforeFields && bytes[0] == tag(1, kBytes) &&
         std::equal(kTagAndMagic.begin(), kTagAndMagic.begin() + std::min(kTagAndMagic.size(), bytes.size() - 5),
                    bytes.begin() + kBytesBeforeFields);
}

}  // namespace iotape
