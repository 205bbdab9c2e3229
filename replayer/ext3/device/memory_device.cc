#include "replayer/ext3/device/memory_device.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace iotape::ext3 {

MemoryDevice::MemoryDevice(std::uint64_t size) : size_(size / 512 * 512), chunks_((size_ + kChunk - 1) / kChunk) {}

std::unique_ptr<MemoryDevice> MemoryDevice::copy() const {
  auto twin = std::make_unique<MemoryDevice>(size_);
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    if (!chunks_[i]) continue;
    twin->chunks_[i] = std::make_unique_for_overwrite<std::byte[]>(kChunk);
    std::memcpy(twin->chunks_[i].get(), chunks_[i].get(), kChunk);
  }
  return twin;
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
  return each_piece(offset, parts, [](const auto& chunk, std::uint64_t at, std::byte* data, std::uint32_t length) {
    if (chunk)
      std::memcpy(data, chunk.get() + at, length);
    else
      std::memset(data, 0, length);
  });
}

Answer<void> MemoryDevice::write(std::uint64_t offset, std::span<const IoPart> parts, IoReason) {
  const std::unique_lock held(mutex_);
  return each_piece(offset, parts, [](auto& chunk, std::uint64_t at, const std::byte* data, std::uint32_t length) {
    if (!chunk) chunk = std::make_unique<std::byte[]>(kChunk);
    std::memcpy(chunk.get() + at, data, length);
  });
}

Answer<void> MemoryDevice::write_zeros(std::uint64_t offset, std::uint64_t bytes, const BlockTag&) {
  if (offset > size_ || bytes > size_ - offset) return refuse(EIO);
  const std::unique_lock held(mutex_);
  const std::uint64_t end = offset + bytes;
  while (offset < end) {
    const std::uint64_t within = offset % kChunk;
    const std::uint64_t length = std::min(end - offset, kChunk - within);
    auto& chunk = chunks_[offset / kChunk];
    if (length == kChunk)
      chunk.reset();
    else if (chunk)
      std::memset(chunk.get() + within, 0, length);
    offset += length;
  }
  return {};
}

}  // namespace iotape::ext3
