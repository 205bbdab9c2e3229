// Searching bitmaps as ext3 lays them out: bit n is bit n % 8 of byte n / 8; 1 means in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace iotape::ext3 {

inline bool test_bit(const std::byte* bits, std::uint32_t bit) {
  return (std::to_integer<unsigned>(bits[bit / 8]) >> (bit % 8) & 1U) != 0;
}
inline void set_bit(std::byte* bits, std::uint32_t bit) { bits[bit / 8] |= std::byte{1} << (bit % 8); }
inline void clear_bit(std::byte* bits, std::uint32_t bit) { bits[bit / 8] &= ~(std::byte{1} << (bit % 8)); }

// A bitmap as an allocator sees it: a bit is free when it is clear in both copies.
struct BitmapView {
  const std::byte* current = nullptr;
  const std::byte* committed = nullptr;  // as last committed, or nullptr: nothing differs

  [[nodiscard]] bool free(std::uint32_t bit) const {
    return !test_bit(current, bit) && (committed == nullptr || !test_bit(committed, bit));
  }
};

// The first free bit in [from, end). Cost: a word at a time. REQUIRES: the bitmap's memory reaches a multiple of 8
// bytes beyond end.
std::optional<std::uint32_t> next_free(const BitmapView& bitmap, std::uint32_t from, std::uint32_t end);
// The first multiple of 8 at or after from whose whole byte is clear in `current`, below end.
std::optional<std::uint32_t> next_free_byte(const std::byte* bits, std::uint32_t from, std::uint32_t end);

// ext3's search for a block when the goal itself is taken: up to the next multiple of 64; then the first byte that is
// wholly free; then any free bit.
std::optional<std::uint32_t> find_near(const BitmapView& bitmap, std::uint32_t start, std::uint32_t end);

}  // namespace iotape::ext3
