#include "replayer/machine/forgetful_device.h"

#include <cstring>

namespace iotape::machine {
namespace {

bool is_kept(const ext3::IoPart& part) { return part.tag.cause != BlockCause::kData || part.tag.read_back; }

}  // namespace

// Calls transfer(offset, parts) for each run of parts that are kept.
template <typename Transfer>
ext3::Answer<void> ForgetfulDevice::each_kept(std::uint64_t offset, std::span<const ext3::IoPart> parts,
                                              Transfer transfer) {
  while (!parts.empty()) {
    const bool kept = is_kept(parts.front());
    std::size_t count = 0;
    std::uint64_t bytes = 0;
    while (count < parts.size() && is_kept(parts[count]) == kept) bytes += parts[count++].bytes;
    if (kept) EXT3_TRY(transfer(offset, parts.first(count)));
    parts = parts.subspan(count);
    offset += bytes;
  }
  return {};
}

ext3::Answer<void> ForgetfulDevice::read(std::uint64_t offset, std::span<const ext3::IoPart> parts,
                                         ext3::IoReason reason) {
  for (const ext3::IoPart& part : parts)
    if (!is_kept(part)) std::memset(part.data, 0, part.bytes);
  return each_kept(offset, parts, [&](std::uint64_t at, std::span<const ext3::IoPart> kept) {
    return below_->read(at, kept, reason);
  });
}

ext3::Answer<void> ForgetfulDevice::write(std::uint64_t offset, std::span<const ext3::IoPart> parts,
                                          ext3::IoReason reason) {
  return each_kept(offset, parts, [&](std::uint64_t at, std::span<const ext3::IoPart> kept) {
    return below_->write(at, kept, reason);
  });
}

}  // namespace iotape::machine
