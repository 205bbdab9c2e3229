// An Operation as bytes and back, for the shared memory between the engine and the process that issues the calls.
// Not a file format: both ends are the same program. Identities are left out, the issuing side has no use for them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "format/operations.h"

namespace iotape {

// The number of bytes used, or nullopt when the buffer is too small.
std::optional<std::size_t> encode_operation(const Operation& operation, std::span<std::byte> buffer);
// nullopt when the bytes are not what encode_operation makes.
std::optional<Operation> decode_operation(std::span<const std::byte> bytes);

}  // namespace iotape
