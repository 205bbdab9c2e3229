// Buffers for what one request reads, kept for the next: a fresh MiB for each would cost more in page faults than the
// copy into it.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace iotape::fuse_mount {

class BufferPool {
 public:
  class Lease {
   public:
    Lease(BufferPool& pool, std::unique_ptr<std::byte[]> memory, std::size_t size)
        : pool_(pool), memory_(std::move(memory)), size_(size) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { pool_.give_back(std::move(memory_)); }
    [[nodiscard]] std::span<std::byte> bytes() const { return {memory_.get(), size_}; }

   private:
    BufferPool& pool_;
    std::unique_ptr<std::byte[]> memory_;
    std::size_t size_;
  };

  // largest: no lease is longer, in bytes.
  explicit BufferPool(std::size_t largest) : largest_(largest) {}
  // A longer one is cut to the largest.
  Lease lease(std::size_t size) {
    std::unique_ptr<std::byte[]> memory;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        memory = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (memory == nullptr) memory = std::make_unique_for_overwrite<std::byte[]>(largest_);
    return {*this, std::move(memory), std::min(size, largest_)};
  }

 private:
  void give_back(std::unique_ptr<std::byte[]> memory) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(memory));
  }

  std::size_t largest_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<std::byte[]>> free_;
};

}  // namespace iotape::fuse_mount
