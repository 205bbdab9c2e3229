#include "replayer/ext3/device/memory_device.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

namespace iotape::ext3 {

MemoryDevice::MemoryDevice(std::uint64_t size)
    : size_(size / 512 * 512), chunks_((size_ + kChunk - 1) / kChunk, nullptr) {}

std::unique_ptr<MemoryDevice> MemoryDevice::copy() const {
  auto twin = std::make_unique<MemoryDevice>(size_);
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    if (chunks_[i] == nullptr) continue;
    twin->chunks_[i] = twin->take_chunk();
    std::memcpy(twin->chunks_[i], chunks_[i], kChunk);
  }
  return twin;
}

std::byte* MemoryDevice::take_chunk() {
  if (!free_chunks_.empty()) {
    std::byte* const chunk = free_chunks_.back();
    free_chunks_.pop_back();
    std::memset(chunk, 0, kChunk);
    return chunk;
  }
  if (untouched_.empty()) untouched_ = {memory_.add(), HugeMemory::kPiece};
  std::byte* const chunk = untouched_.data();
  untouched_ = untouched_.subspan(kChunk);
  return chunk;
}

template <typename Copy>
Answer<void> MemoryDevice::each_piece(std::uint64_t offset, std::span<const IoPart> parts, const Copy& copy) {
  for (const IoPart& part : parts) {
    if (offset > size_ || part.bytes > size_ - offset) return refuse(EIO);
    for (std::uint32_t done = 0; done < part.bytes;) {
      const std::uint64_t at = offset + done;
      const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(part.bytes - done, kChunk - at % kChunk));
      copy(chunks_[at / kChunk], at % kChunk, part.data + done, length);
      done += length;
    }
    offset += part.bytes;
  }
  return {};
}

Answer<void> MemoryDevice::read(std::uint64_t offset, std::span<const IoPart> parts, IoReason) {
  const std::shared_lock held(mutex_);
  return each_piece(offset, parts, [](const std::byte* chunk, std::uint64_t at, std::byte* data, std::uint32_t length) {
    if (chunk != nullptr)
      std::memcpy(data, chunk + at, length);
    else
      std::memset(data, 0, length);
  });
}

Answer<void> MemoryDevice::write(std::uint64_t offset, std::span<const IoPart> parts, IoReason) {
  const std::unique_lock held(mutex_);
  return each_piece(offset, parts,
                    [this](std::byte*& chunk, std::uint64_t at, const std::byte* data, std::uint32_t length) {
                      if (chunk == nullptr) chunk = take_chunk();
                      std::memcpy(chunk + at, data, length);
                    });
}

Answer<void> MemoryDevice::write_zeros(std::uint64_t offset, std::uint64_t bytes, const BlockTag&) {
  if (offset > size_ || bytes > size_ - offset) return refuse(EIO);
  const std::unique_lock held(mutex_);
  const std::uint64_t end = offset + bytes;
  while (offset < end) {
    const std::uint64_t within = offset % kChunk;
    const std::uint64_t length = std::min(end - offset, kChunk - within);
    std::byte*& chunk = chunks_[offset / kChunk];
    if (chunk != nullptr && length == kChunk)
      free_chunks_.push_back(std::exchange(chunk, nullptr));
    else if (chunk != nullptr)
      std::memset(chunk + within, 0, length);
    offset += length;
  }
  return {};
}

}  // namespace iotape::ext3
