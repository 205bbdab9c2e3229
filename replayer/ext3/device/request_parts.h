// The parts of a block request as a trace tells them: one for each stretch that a kernel would have built a bio of.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "format/event.h"
#include "replayer/ext3/device/block_device.h"

namespace iotape::ext3 {

// What a device cannot know of itself.
struct RequestContext {
  std::function<Nanoseconds()> now;
  // Who submits: the traced thread whose call is under way, and when that call began; nullopt for a daemon's.
  std::function<std::pair<ThreadKey, std::optional<Nanoseconds>>()> submitter;
  std::function<std::uint32_t(InodeNumber)> generation;  // 0 when it is not known
  // Whose Host::thread() number that is; left out, the number itself.
  std::function<ThreadKey(std::uint32_t)> dirtier{};
};

// A Host::thread() number that is nobody's in particular, as a key.
[[nodiscard]] inline ThreadKey key_of(std::uint32_t thread) {
  const auto number = static_cast<std::int32_t>(thread);
  return {ProcessId(number), ThreadId(number)};
}

// Where a stretch of parts came from.
struct PartOrigin {
  DeviceId volume;  // what its files lie on
  Nanoseconds queue;
  std::uint32_t flags = 0;
  ThreadKey submitter;
  std::optional<Nanoseconds> call_start;
};

[[nodiscard]] std::uint32_t request_flags(bool write, std::span<const IoPart> parts, IoReason reason);

// Appends to request.parts; sector is where the first of them begins. request.bytes is the caller's to set.
void append_parts(BlockRequest& request, std::span<const IoPart> parts, Sectors sector, const PartOrigin& origin,
                  const RequestContext& context);

}  // namespace iotape::ext3
