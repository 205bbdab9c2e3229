// A disk in memory that keeps every write and flush in order, so that a crash can be played at any point of the stream.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "replayer/ext3/device/memory_device.h"

namespace iotape::ext3::test {

class RecordingDevice final : public BlockDevice {
 public:
  struct Write {
    std::uint64_t offset = 0;
    std::vector<std::byte> bytes;  // empty: a flush
    BlockCause cause = BlockCause::kUnknown;
    [[nodiscard]] bool is_flush() const { return bytes.empty(); }
  };

  explicit RecordingDevice(MemoryDevice& disk) : before_(disk.copy()), disk_(disk) {}

  [[nodiscard]] std::uint64_t size() const override { return disk_.size(); }
  Answer<void> read(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override {
    return disk_.read(offset, parts, reason);
  }
  Answer<void> write(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override;
  Answer<void> flush() override;

  [[nodiscard]] const std::vector<Write>& stream() const { return stream_; }
  // The disk as it was after the first `count` entries of the stream.
  [[nodiscard]] std::unique_ptr<MemoryDevice> after(std::size_t count) const;
  // As it might have been had power failed then: of what was written since the last flush, any part.
  [[nodiscard]] std::unique_ptr<MemoryDevice> torn_after(std::size_t count, std::mt19937_64& random) const;

 private:
  static void apply(MemoryDevice& disk, const Write& write);
  std::unique_ptr<MemoryDevice> before_;
  MemoryDevice& disk_;
  std::vector<Write> stream_;
};

}  // namespace iotape::ext3::test
