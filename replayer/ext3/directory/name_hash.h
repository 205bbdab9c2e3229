// The hashes by which an htree directory orders its names.
//
// Three functions, each in two ways of reading a name's bytes (as signed or as unsigned numbers: a mistake of the first
// implementation that the disk format now remembers), and a seed of the filesystem's own that keeps its order from
// being guessed. The legacy hash has no seed and no minor part.
// Sources: RFC 1320 (MD4, cut to half its rounds), Wheeler and Needham, "TEA, a Tiny Encryption Algorithm"; how they
// are fed and what is taken of them, as Linux and e2fsprogs do it.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string_view>

#include "replayer/ext3/disk_format/htree_record.h"

namespace iotape::ext3 {

struct NameHash {
  std::uint32_t major = 0;  // what the index sorts by; bit 0 is clear, and never kHtreeEndOfFileHash
  std::uint32_t minor = 0;  // orders names of equal major for readers
  constexpr auto operator<=>(const NameHash&) const = default;
};

// A seed of four zeros stands for the initial values of MD4, also for TEA. REQUIRES: version is one of HashVersion's.
NameHash hash_name(HashVersion version, bool unsigned_characters, std::span<const std::uint32_t, 4> seed,
                   std::string_view name);

}  // namespace iotape::ext3
