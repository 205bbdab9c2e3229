// MemoryDevice: a disk in memory. What was never written reads as zeros and takes no room.
#pragma once

#include <memory>
#include <shared_mutex>
#include <span>
#include <vector>

#include "replayer/ext3/device/block_device.h"
#include "replayer/ext3/huge_memory.h"

namespace iotape::ext3 {

class MemoryDevice final : public BlockDevice {
 public:
  // size: bytes, rounded down to whole sectors.
  explicit MemoryDevice(std::uint64_t size);

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  Answer<void> read(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override;
  Answer<void> write(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override;
  Answer<void> write_zeros(std::uint64_t offset, std::uint64_t bytes, const BlockTag& tag) override;
  // Another disk with the same bytes.
  [[nodiscard]] std::unique_ptr<MemoryDevice> copy() const;
  Answer<void> flush() override { return {}; }

  // Calls use(offset, bytes) for each stretch that holds something, ascending: to save a disk as a sparse file.
  template <typename Use>
  void for_each_written(const Use& use) {
    const std::shared_lock held(mutex_);
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      const std::uint64_t offset = i * kChunk;
      if (chunks_[i] != nullptr)
        use(offset, std::span<const std::byte>(chunks_[i], size_ - offset < kChunk ? size_ - offset : kChunk));
    }
  }

 private:
  static constexpr std::uint64_t kChunk = 64 << 10;
  template <typename Copy>
  Answer<void> each_piece(std::uint64_t offset, std::span<const IoPart> parts, const Copy& copy);

  std::uint64_t size_;
  std::shared_mutex mutex_;  // calls come from outside the monitor
  std::byte* take_chunk();   // zeros
  HugeMemory memory_;
  std::vector<std::byte*> chunks_;       // nullptr: zeros
  std::vector<std::byte*> free_chunks_;  // what they held is still in them
  std::span<std::byte> untouched_;       // of the newest piece: zeros
};

}  // namespace iotape::ext3
