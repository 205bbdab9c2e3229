// What a serialised wire::Body takes in memory once parsed, told before it is parsed. A few thousand compressed bytes
// can hold millions of empty messages, each of which becomes an object; the limit keeps a reader's memory bounded
// whatever it is given. Private to the codec.
#pragma once

#include <cstdint>
#include <span>

#include "format/base/result.h"

namespace iotape {

inline constexpr std::size_t kMaximumParsedBytes = 128U << 20U;

// kCorrupt when the parsed message could take more than kMaximumParsedBytes. Bytes that are no message pass: the parser
// says so itself.
Result<void> check_parsed_size(std::span<const std::uint8_t> body);

}  // namespace iotape
