// OverlayDevice: a device that can be written without changing the one below: what is written stays in memory.
#pragma once

#include <array>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "replayer/ext3/device/block_device.h"

namespace iotape::ext3 {

class OverlayDevice final : public BlockDevice {
 public:
  // most_bytes: what may be held; beyond it a write is refused with ENOSPC. REQUIRES: below outlives this.
  OverlayDevice(BlockDevice& below, std::uint64_t most_bytes) : below_(below), most_pieces_(most_bytes / kPiece) {}

  [[nodiscard]] std::uint64_t size() const override { return below_.size(); }
  Answer<void> read(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override;
  Answer<void> write(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override;
  Answer<void> flush() override { return {}; }

 private:
  static constexpr std::uint64_t kPiece = 1024;  // the smallest block
  using Piece = std::array<std::byte, kPiece>;
  Answer<Piece*> piece_to_write(std::uint64_t number, bool whole);

  BlockDevice& below_;
  std::uint64_t most_pieces_;
  std::shared_mutex mutex_;  // calls may come from several threads
  std::unordered_map<std::uint64_t, std::unique_ptr<Piece>> pieces_;
};

}  // namespace iotape::ext3
