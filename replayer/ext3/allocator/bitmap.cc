#include "replayer/ext3/allocator/bitmap.h"

#include <algorithm>
#include <bit>

#include "format/base/byte_order.h"

namespace iotape::ext3 {
namespace {

std::uint64_t word_at(const std::byte* bits, std::uint32_t word) {
  le64 value;
  std::memcpy(&value, bits + std::size_t{word} * 8, sizeof(value));
  return value;
}

}  // namespace

std::optional<std::uint32_t> next_free(const BitmapView& bitmap, std::uint32_t from, std::uint32_t end) {
  if (from >= end) return std::nullopt;
  std::uint64_t mask = ~std::uint64_t{0} << (from % 64);
  for (std::uint32_t word = from / 64; word <= (end - 1) / 64; ++word) {
    std::uint64_t used = word_at(bitmap.current, word);
    if (bitmap.committed != nullptr) used |= word_at(bitmap.committed, word);
    const std::uint64_t free = ~used & mask;
    if (free != 0) {
      const std::uint32_t bit = word * 64 + static_cast<std::uint32_t>(std::countr_zero(free));
      return bit < end ? std::optional(bit) : std::nullopt;
    }
    mask = ~std::uint64_t{0};
  }
  return std::nullopt;
}

std::optional<std::uint32_t> next_free_byte(const std::byte* bits, std::uint32_t from, std::uint32_t end) {
  const std::uint32_t first = (from + 7) / 8;
  const std::uint32_t last = (end + 7) / 8;
  if (first >= last) return std::nullopt;
  const void* const found = std::memchr(bits + first, 0, last - first);
  if (found == nullptr) return std::nullopt;
  const auto bit = static_cast<std::uint32_t>(static_cast<const std::byte*>(found) - bits) * 8;
  return bit < end ? std::optional(bit) : std::nullopt;
}

std::optional<std::uint32_t> find_near(const BitmapView& bitmap, std::uint32_t start, std::uint32_t end) {
  const std::uint32_t boundary = std::min((start + 63) / 64 * 64, end);
  if (const auto near = next_free(bitmap, start, boundary)) return near;
  if (const auto byte = next_free_byte(bitmap.current, start, end); byte && bitmap.free(*byte)) return byte;
  return next_free(bitmap, start, end);
}

}  // namespace iotape::ext3
