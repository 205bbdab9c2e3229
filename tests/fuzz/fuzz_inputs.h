// What is fuzzed: each function takes hostile bytes and must come back, whatever they are. The libFuzzer programs in
// this directory and tests/format/hostile_input_test.cc call the same functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace iotape::fuzz {

using Bytes = std::span<const std::uint8_t>;

// A trace of one block with this body, its header and checksums valid, that claims so many events.
std::string trace_of_body(Bytes body, std::uint32_t events);

// A trace file: read to its end, every event printed in all three formats.
void read_trace(Bytes bytes);
// A payload with valid header and checksums around it, so that mutations reach the decoder behind them.
// The events that come of it must survive being written and read again.
void read_block_body(Bytes bytes);
// A blktrace file, imported.
void read_blktrace(Bytes bytes);
// One line of JSON; what is accepted must survive being written and read again.
void read_json_line(Bytes bytes);
// Sizes, durations, speeds, file magics.
void read_words(Bytes bytes);

}  // namespace iotape::fuzz
