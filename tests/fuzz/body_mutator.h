// Changes a wire::Body field by field instead of byte by byte, so that nearly every mutation still parses and reaches
// the code behind the parser: numbers become neighbours, borders and each other, columns and events are dropped,
// repeated and swapped. Deterministic by seed.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "trace.pb.h"

namespace iotape::fuzz {

void mutate(google::protobuf::Message& message, std::mt19937& random);

// Of a serialised body; bytes that do not parse become an empty one first.
std::vector<std::uint8_t> mutated_body(const std::uint8_t* bytes, std::size_t size, std::uint32_t seed);

}  // namespace iotape::fuzz
