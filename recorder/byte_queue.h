// The buffer between the thread that empties the ring and the one that makes events: chunks of whole records, bounded
// in bytes. When it is full the ring is left to fill and the kernel side counts what finds no room there.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

namespace iotape {

class ByteQueue {
 public:
  using Chunk = std::vector<std::byte>;
  explicit ByteQueue(std::size_t limit) : limit_(limit) {}

  // Room for at least one more chunk.
  [[nodiscard]] bool has_room() const;
  void push(Chunk chunk);
  // The next chunk; nullopt after `patience`, or at once when closed and empty.
  std::optional<Chunk> pop(std::chrono::milliseconds patience);
  // An emptied chunk whose memory may be used again.
  Chunk reuse();
  void give_back(Chunk chunk);
  void close();
  [[nodiscard]] bool finished() const;  // closed and empty

 private:
  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<Chunk> chunks_;
  std::vector<Chunk> spare_;
  std::size_t bytes_ = 0;
  std::size_t limit_;
  bool closed_ = false;
};

}  // namespace iotape
