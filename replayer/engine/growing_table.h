// GrowingTable: numbered things of which millions may come. It grows by a chunk at a time: nothing is copied, nothing
// that was handed out moves, and there is never twice as much memory in use as things need.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace iotape {

template <typename T>
class GrowingTable {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  // REQUIRES: index < size().
  [[nodiscard]] T& operator[](std::size_t index) { return (*chunks_[index / kChunk])[index % kChunk]; }
  [[nodiscard]] const T& operator[](std::size_t index) const { return (*chunks_[index / kChunk])[index % kChunk]; }
  // A new one at the end.
  T& add() {
    if (size_ == chunks_.size() * kChunk) chunks_.push_back(std::make_unique<Chunk>());
    return (*this)[size_++];
  }

 private:
  static constexpr std::size_t kChunk = 1024;
  using Chunk = std::array<T, kChunk>;

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::size_t size_ = 0;
};

}  // namespace iotape
