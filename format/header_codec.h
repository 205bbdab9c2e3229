// TraceHeader and TraceTotals to and from the bodies of the first and the last block. Private to the codec.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "format/base/result.h"
#include "format/trace_header.h"

namespace iotape {

[[nodiscard]] std::vector<std::uint8_t> encode_header_body(const TraceHeader& header);
[[nodiscard]] std::vector<std::uint8_t> encode_totals_body(const TraceTotals& totals);
Result<TraceHeader> decode_header_body(std::span<const std::uint8_t> body);
Result<TraceTotals> decode_totals_body(std::span<const std::uint8_t> body);

}  // namespace iotape
