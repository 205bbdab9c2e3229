#include "replayer/ext3/device/block_device.h"

#include <algorithm>
#include <array>
#include <vector>

namespace iotape::ext3 {

void BlockDevice::submit(std::unique_ptr<IoRequest> request) {
  request->ended(request->write ? write(request->offset, request->parts, request->reason)
                                : read(request->offset, request->parts, request->reason));
}

Answer<void> BlockDevice::write_zeros(std::uint64_t offset, std::uint64_t bytes, const BlockTag& tag) {
  constexpr std::uint64_t kPiece = 1 << 20;
  std::vector<std::byte> zeros(std::min(bytes, kPiece));
  while (bytes != 0) {
    const auto length = static_cast<std::uint32_t>(std::min(bytes, kPiece));
    const std::array<IoPart, 1> parts{{{zeros.data(), length, tag}}};
    EXT3_TRY(write(offset, parts, IoReason::kDemand));
    offset += length;
    bytes -= length;
  }
  return {};
}

}  // namespace iotape::ext3
