#include "replayer/ext3/directory/name_hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace iotape::ext3 {
namespace {

using Words = std::array<std::uint32_t, 4>;
constexpr Words kMd4Start{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476};

std::uint32_t character(char c, bool is_unsigned) {
  return is_unsigned ? static_cast<std::uint32_t>(static_cast<unsigned char>(c))
                     : static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<signed char>(c)));
}

// Four characters, the first highest. Below 0x80, or unsigned, that is a big-endian word; a negative one borrows from
// those before it.
std::uint32_t four_characters(const char* from, bool is_unsigned) {
  std::uint32_t word = 0;
  std::memcpy(&word, from, sizeof(word));
  if (is_unsigned || (word & 0x80808080U) == 0) [[likely]] {
    return std::endian::native == std::endian::little ? __builtin_bswap32(word) : word;
  }
  word = 0;
  for (std::size_t i = 0; i < 4; ++i) word = (word << 8U) + character(from[i], is_unsigned);
  return word;
}

// Fills a piece with what is left of the name, and where that ends with its length, repeated.
template <std::size_t Count>
void fill_piece(std::string_view rest, bool is_unsigned, std::array<std::uint32_t, Count>& piece) {
  const std::uint32_t padding = static_cast<std::uint32_t>(rest.size()) * 0x01010101U;
  const std::size_t taken = std::min(rest.size(), Count * 4);
  std::size_t word = 0;
  for (; word < taken / 4; ++word) piece[word] = four_characters(&rest[word * 4], is_unsigned);
  if (taken % 4 != 0) {
    std::uint32_t last = padding;
    for (std::size_t i = word * 4; i < taken; ++i) last = (last << 8U) + character(rest[i], is_unsigned);
    piece[word++] = last;
  }
  for (; word < Count; ++word) piece[word] = padding;
}

// Objects rather than functions, so that each is called by its type and inlined.
using Word = std::uint32_t;
constexpr auto kChoose = [](Word x, Word y, Word z) { return z ^ (x & (y ^ z)); };
constexpr auto kMajority = [](Word x, Word y, Word z) { return (x & y) + ((x ^ y) & z); };
constexpr auto kParity = [](Word x, Word y, Word z) { return x ^ y ^ z; };

using WordOrder = std::array<std::uint8_t, 8>;
using Rotations = std::array<std::uint8_t, 4>;

// One of MD4's rounds over half of its input: eight words in the given order. The order is part of the type so that no
// table is read on the way; this is a good part of what a name's creation costs.
template <WordOrder Order, Rotations Left, std::uint32_t Constant, typename Mix>
[[gnu::always_inline]] inline void md4_round(Words& state, const std::array<std::uint32_t, 8>& piece, const Mix& mix) {
  // Not a structured binding: clang 14 cannot capture one.
  Word& a = state[0];
  Word& b = state[1];
  Word& c = state[2];
  Word& d = state[3];
  const auto four_steps = [&]<std::size_t First>(std::integral_constant<std::size_t, First>) {
    a = std::rotl(a + mix(b, c, d) + piece[Order[First]] + Constant, Left[0]);
    d = std::rotl(d + mix(a, b, c) + piece[Order[First + 1]] + Constant, Left[1]);
    c = std::rotl(c + mix(d, a, b) + piece[Order[First + 2]] + Constant, Left[2]);
    b = std::rotl(b + mix(c, d, a) + piece[Order[First + 3]] + Constant, Left[3]);
  };
  four_steps(std::integral_constant<std::size_t, 0>{});
  four_steps(std::integral_constant<std::size_t, 4>{});
}

void half_md4(Words& sum, const std::array<std::uint32_t, 8>& piece) {
  Words state = sum;
  md4_round<WordOrder{0, 1, 2, 3, 4, 5, 6, 7}, Rotations{3, 7, 11, 19}, 0>(state, piece, kChoose);
  md4_round<WordOrder{1, 3, 5, 7, 0, 2, 4, 6}, Rotations{3, 5, 9, 13}, 0x5A827999>(state, piece, kMajority);
  md4_round<WordOrder{3, 7, 2, 6, 1, 5, 0, 4}, Rotations{3, 9, 11, 15}, 0x6ED9EBA1>(state, piece, kParity);
  for (std::size_t i = 0; i < 4; ++i) sum[i] += state[i];
}

// The name's piece is the key, the running sum the text.
void tea(Words& sum, const std::array<std::uint32_t, 4>& key) {
  std::uint32_t left = sum[0];
  std::uint32_t right = sum[1];
  std::uint32_t schedule = 0;
  for (int round = 0; round < 16; ++round) {
    schedule += 0x9E3779B9;
    left += ((right << 4U) + key[0]) ^ (right + schedule) ^ ((right >> 5U) + key[1]);
    right += ((left << 4U) + key[2]) ^ (left + schedule) ^ ((left >> 5U) + key[3]);
  }
  sum[0] += left;
  sum[1] += right;
}

template <std::size_t Count>
Words digest(std::span<const std::uint32_t, 4> seed, std::string_view name, bool is_unsigned,
             void (*add)(Words&, const std::array<std::uint32_t, Count>&)) {
  Words sum = kMd4Start;
  if ((seed[0] | seed[1] | seed[2] | seed[3]) != 0) std::copy(seed.begin(), seed.end(), sum.begin());
  std::array<std::uint32_t, Count> piece;
  while (!name.empty()) {
    fill_piece(name, is_unsigned, piece);
    add(sum, piece);
    name.remove_prefix(std::min(name.size(), Count * 4));
  }
  return sum;
}

std::uint32_t legacy(std::string_view name, bool is_unsigned) {
  std::uint32_t last = 0x12A3FE2D;
  std::uint32_t before = 0x37ABE8F9;
  for (const char c : name) {
    std::uint32_t next = before + (last ^ (character(c, is_unsigned) * 7152373U));
    if ((next & 0x80000000U) != 0) next -= 0x7FFFFFFFU;
    before = last;
    last = next;
  }
  return last << 1U;
}

NameHash finished(std::uint32_t major, std::uint32_t minor) {
  major &= ~1U;
  return {major == kHtreeEndOfFileHash ? major - 2 : major, minor};
}

}  // namespace

NameHash hash_name(HashVersion version, bool unsigned_characters, std::span<const std::uint32_t, 4> seed,
                   std::string_view name) {
  if (version == kHashHalfMd4) {
    const Words sum = digest<8>(seed, name, unsigned_characters, half_md4);
    return finished(sum[1], sum[2]);
  }
  if (version == kHashTea) {
    const Words sum = digest<4>(seed, name, unsigned_characters, tea);
    return finished(sum[0], sum[1]);
  }
  return finished(legacy(name, unsigned_characters), 0);
}

}  // namespace iotape::ext3
