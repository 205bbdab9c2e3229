#include "replayer/ext3/device/overlay_device.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace iotape::ext3 {

Answer<void> OverlayDevice::read(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) {
  EXT3_TRY(below_.read(offset, parts, reason));
  const std::shared_lock held(mutex_);
  if (pieces_.empty()) return {};
  for (const IoPart& part : parts) {
    for (std::uint64_t done = 0; done < part.bytes;) {
      const std::uint64_t at = offset + done;
      const std::uint64_t length = std::min(part.bytes - done, kPiece - at % kPiece);
      if (const auto found = pieces_.find(at / kPiece); found != pieces_.end())
        std::memcpy(part.data + done, found->second->data() + at % kPiece, length);
      done += length;
    }
    offset += part.bytes;
  }
  return {};
}

// The piece with its old bytes, unless all of them are about to be replaced.
Answer<OverlayDevice::Piece*> OverlayDevice::piece_to_write(std::uint64_t number, bool whole) {
  if (const auto found = pieces_.find(number); found != pieces_.end()) return found->second.get();
  if (pieces_.size() >= most_pieces_) return refuse(ENOSPC);
  auto piece = std::make_unique<Piece>();
  if (!whole) {
    const std::uint64_t offset = number * kPiece;
    const auto length = static_cast<std::uint32_t>(std::min(kPiece, below_.size() - offset));
    const std::array<IoPart, 1> part{{{piece->data(), length, {}}}};
    EXT3_TRY(below_.read(offset, part, IoReason::kDemand));
  }
  return pieces_.emplace(number, std::move(piece)).first->second.get();
}

Answer<void> OverlayDevice::write(std::uint64_t offset, std::span<const IoPart> parts, IoReason /*reason*/) {
  const std::unique_lock held(mutex_);
  for (const IoPart& part : parts) {
    if (offset > size() || part.bytes > size() - offset) return refuse(EIO);
    for (std::uint64_t done = 0; done < part.bytes;) {
      const std::uint64_t at = offset + done;
      const std::uint64_t length = std::min(part.bytes - done, kPiece - at % kPiece);
      EXT3_ASSIGN(Piece* const piece, piece_to_write(at / kPiece, length == kPiece));
      std::memcpy(piece->data() + at % kPiece, part.data + done, length);
      done += length;
    }
    offset += part.bytes;
  }
  return {};
}

}  // namespace iotape::ext3
