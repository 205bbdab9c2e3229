// The fixed-width header in front of every block of a trace file. See Block in trace.proto and FORMAT.md.
//
// It is a prefix of a protobuf Trace message, laid out so that it can be recognised, checked and skipped without
// parsing protobuf: kBlockHeaderBytes bytes, then payload_bytes of payload.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "format/base/strong_id.h"

namespace iotape {

enum class BlockKind : std::uint32_t { kHeader = 1, kEvents = 2, kEnd = 3 };

struct BlockFrame {
  std::uint64_t sequence = 0;
  std::uint32_t payload_bytes = 0;  // compressed
  std::uint32_t body_bytes = 0;     // uncompressed
  Nanoseconds first_time;
  Nanoseconds last_time;
  std::uint64_t seen = 0;  // cumulative
  std::uint64_t lost = 0;
  std::uint64_t first_event = 0;
  std::uint32_t events = 0;
  BlockKind kind = BlockKind::kEvents;
  std::uint64_t payload_checksum = 0;
  bool operator==(const BlockFrame&) const = default;
};

inline constexpr std::uint32_t kBlockMagic = 0x31544F49;  // "IOT1"
inline constexpr std::size_t kBlockHeaderBytes = 107;
// No writer makes larger ones; a reader refuses them before allocating.
inline constexpr std::uint32_t kMaximumBodyBytes = 64U << 20U;
inline constexpr std::uint32_t kMaximumPayloadBytes = kMaximumBodyBytes + (1U << 20U);

using BlockHeaderBytes = std::array<std::uint8_t, kBlockHeaderBytes>;

[[nodiscard]] BlockHeaderBytes encode_block_frame(const BlockFrame& frame);
// nullopt unless the bytes are exactly what encode_block_frame makes, its checksum and every bound included.
[[nodiscard]] std::optional<BlockFrame> decode_block_frame(std::span<const std::uint8_t> bytes);

[[nodiscard]] std::uint64_t block_checksum(std::span<const std::uint8_t> bytes);  // XXH3-64

// Whether the bytes (at least 6) look like the start of a block, for finding the next one after damage.
[[nodiscard]] bool looks_like_block(std::span<const std::uint8_t> bytes);

}  // namespace iotape
