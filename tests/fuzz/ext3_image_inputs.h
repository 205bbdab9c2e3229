// What is fuzzed of the built-in ext3: an image with something of every kind, changed where its metadata lies.
#pragma once

#include <cstdint>
#include <span>

namespace iotape::fuzz {

// The bytes are changes to an image: each four or more of them name a block in use, a place in it, and what to write.
// The changed image is checked. Whatever they are, the check ends, and reports a bounded number of problems.
void check_changed_image(std::span<const std::uint8_t> bytes);

}  // namespace iotape::fuzz
