// A histogram of signed 64-bit distances with one bin for zero and one for each power of two in either direction, so
// that it fits any disk without knowing its size. Bin k > 0 holds distances whose magnitude has k bits:
// 2^(k-1) <= d < 2^k; bin -k the same distances backwards.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace iotape {

class SignedLog2Histogram {
 public:
  static constexpr int kLargestBin = 64;
  static constexpr int kBinCount = 2 * kLargestBin + 1;

  // The magnitude of any 64-bit distance, the most negative one too.
  static constexpr std::uint64_t magnitude(std::int64_t distance) {
    const auto bits = static_cast<std::uint64_t>(distance);
    return distance < 0 ? 0 - bits : bits;
  }
  static constexpr int bin_of(std::int64_t distance) {
    const auto width = static_cast<int>(std::bit_width(magnitude(distance)));
    return distance < 0 ? -width : width;
  }
  // The least magnitude in a bin: 0, 1, 2, 4, ...
  static constexpr std::uint64_t lower_edge(int bin) {
    const int width = bin < 0 ? -bin : bin;
    return width == 0 ? 0 : std::uint64_t{1} << static_cast<unsigned>(width - 1);
  }

  void add(std::int64_t distance) { ++counts_[index(bin_of(distance))]; }
  void add_to_bin(int bin, std::uint64_t count) { counts_[index(bin)] += count; }
  void merge(const SignedLog2Histogram& other);

  [[nodiscard]] std::uint64_t count(int bin) const { return counts_[index(bin)]; }
  [[nodiscard]] std::uint64_t total() const;
  [[nodiscard]] std::uint64_t largest_count() const;
  // The lowest and highest bin that hold anything; {0, 0} when empty.
  struct Range {
    int lowest = 0;
    int highest = 0;
  };
  [[nodiscard]] Range used() const;
  bool operator==(const SignedLog2Histogram&) const = default;

 private:
  static constexpr std::size_t index(int bin) { return static_cast<std::size_t>(bin + kLargestBin); }
  std::array<std::uint64_t, kBinCount> counts_{};
};

}  // namespace iotape
