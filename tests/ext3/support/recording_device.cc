#include "tests/ext3/support/recording_device.h"

#include <algorithm>

namespace iotape::ext3::test {

// A block at a time: a disk promises no more than whole sectors, and a request of many blocks may be cut anywhere.
Answer<void> RecordingDevice::write(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) {
  std::uint64_t at = offset;
  for (const IoPart& part : parts) {
    stream_.push_back({at, {part.data, part.data + part.bytes}, part.tag.cause});
    at += part.bytes;
  }
  return disk_.write(offset, parts, reason);
}

Answer<void> RecordingDevice::flush() {
  stream_.emplace_back();
  return disk_.flush();
}

void RecordingDevice::apply(MemoryDevice& disk, const Write& write) {
  if (write.is_flush()) return;
  std::vector<std::byte> bytes = write.bytes;
  const IoPart part{bytes.data(), static_cast<std::uint32_t>(bytes.size()), {}};
  (void)disk.write(write.offset, {&part, 1}, IoReason::kDemand);
}

std::unique_ptr<MemoryDevice> RecordingDevice::after(std::size_t count) const {
  auto disk = before_->copy();
  for (std::size_t i = 0; i < count; ++i) apply(*disk, stream_[i]);
  return disk;
}

std::unique_ptr<MemoryDevice> RecordingDevice::torn_after(std::size_t count, std::mt19937_64& random) const {
  std::size_t flushed = count;
  while (flushed > 0 && !stream_[flushed - 1].is_flush()) --flushed;
  auto disk = after(flushed);
  // Any part, in any order: only the last of several writes to one place could win in order, so shuffle whole writes.
  std::vector<std::size_t> loose;
  for (std::size_t i = flushed; i < count; ++i)
    if (random() % 2 == 0) loose.push_back(i);
  for (std::size_t i = loose.size(); i > 1; --i) std::swap(loose[i - 1], loose[random() % i]);
  for (const std::size_t i : loose) apply(*disk, stream_[i]);
  return disk;
}

}  // namespace iotape::ext3::test
