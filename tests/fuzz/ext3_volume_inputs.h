// What is fuzzed of the built-in ext3: disk images.
#pragma once

#include <cstdint>
#include <span>

namespace iotape::fuzz {

// The bytes are patches of a small sound image that is made anew (see ext3_volume_inputs.cc), or a whole image when
// they begin like one. Mounted (journal replayed, orphans deleted), walked within bounds, changed a little, unmounted,
// and checked: each may fail, none may crash, hang or take more memory than the cache.
void use_ext3_volume(std::span<const std::uint8_t> bytes);

}  // namespace iotape::fuzz
