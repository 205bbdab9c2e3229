// Arrays over every block or every inode of a volume, of which most stay zero: room is taken where something is set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace iotape::ext3 {

template <typename T>
class PagedArray {
 public:
  PagedArray() = default;
  explicit PagedArray(std::uint64_t size) : pages_((size + kPage - 1) / kPage) {}

  [[nodiscard]] T get(std::uint32_t index) const {
    const auto& page = pages_[index / kPage];
    return page ? (*page)[index % kPage] : T{};
  }
  T& at(std::uint32_t index) {
    auto& page = pages_[index / kPage];
    if (!page) page = std::make_unique<Page>();
    return (*page)[index % kPage];
  }

 private:
  static constexpr std::size_t kPage = 4096;
  using Page = std::array<T, kPage>;
  std::vector<std::unique_ptr<Page>> pages_;
};

class PagedBits {
 public:
  PagedBits() = default;
  explicit PagedBits(std::uint64_t bits) : bytes_((bits + 7) / 8) {}
  [[nodiscard]] bool has(std::uint32_t bit) const { return (bytes_.get(bit / 8) >> (bit % 8) & 1) != 0; }
  // False when it was set already.
  bool set(std::uint32_t bit) {
    std::uint8_t& byte = bytes_.at(bit / 8);
    const auto mask = static_cast<std::uint8_t>(1U << (bit % 8));
    if ((byte & mask) != 0) return false;
    byte = static_cast<std::uint8_t>(byte | mask);
    return true;
  }
  [[nodiscard]] std::uint8_t byte(std::uint32_t index) const { return bytes_.get(index); }

 private:
  PagedArray<std::uint8_t> bytes_;
};

}  // namespace iotape::ext3
