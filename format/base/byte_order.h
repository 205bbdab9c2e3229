// Integers whose byte order is part of their type: le32 in an ext3 inode, be32 in its journal.
// Storage is bytes, so alignment is 1 and structs need no packing attribute.
// bit_cast plus a conditional swap compiles to one mov (and bswap) with g++ 12; shifting loops do not.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace iotape {

template <typename T, std::endian Order>
class Ordered {
 public:
  constexpr Ordered() = default;
  constexpr Ordered(T v) : bytes_(std::bit_cast<Bytes>(swapped(v))) {}        // NOLINT: assignment from T is the point
  constexpr operator T() const { return swapped(std::bit_cast<T>(bytes_)); }  // NOLINT: so is reading

 private:
  using Bytes = std::array<std::byte, sizeof(T)>;
  static constexpr T swapped(T v) {
    if constexpr (Order == std::endian::native || sizeof(T) == 1) return v;
    if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(v));
    if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(v));
    if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_bswap64(v));
  }
  Bytes bytes_{};
};

using le16 = Ordered<std::uint16_t, std::endian::little>;
using le32 = Ordered<std::uint32_t, std::endian::little>;
using le64 = Ordered<std::uint64_t, std::endian::little>;
using be16 = Ordered<std::uint16_t, std::endian::big>;
using be32 = Ordered<std::uint32_t, std::endian::big>;
using be64 = Ordered<std::uint64_t, std::endian::big>;
static_assert(sizeof(le16) == 2 && sizeof(le32) == 4 && sizeof(le64) == 8 && alignof(be64) == 1);
static_assert(std::is_trivially_copyable_v<be32>);

}  // namespace iotape
