// HeadAccess: one movement of a disk's head, the unit of every seek figure: a request, or in queue order one of its
// parts.
#pragma once

#include <cstdint>
#include <optional>

#include "format/base/strong_id.h"
#include "format/event.h"

namespace iotape {

// Discards move no head and are a class of their own: they are measured against each other only.
enum class AccessClass : std::uint8_t { kRead = 0, kWrite = 1, kDiscard = 2 };
inline constexpr std::size_t kAccessClassCount = 3;

struct HeadAccess {
  Nanoseconds time;  // on the trace's clock, in the chosen order's sense
  Sectors start;
  std::int64_t bytes = 0;
  DeviceId device;
  AccessClass kind = AccessClass::kRead;
  std::uint32_t group = 0;  // who or what is charged, by AccessGroups; 0 when nobody asked
};

// The class of an operation that touches sectors; nullopt for flushes, zone management and driver commands.
constexpr std::optional<AccessClass> access_class(BlockOperation operation) {
  switch (operation) {
    case BlockOperation::kRead:
      return AccessClass::kRead;
    case BlockOperation::kWrite:
    case BlockOperation::kWriteZeroes:
    case BlockOperation::kZoneAppend:
      return AccessClass::kWrite;
    case BlockOperation::kDiscard:
    case BlockOperation::kSecureErase:
      return AccessClass::kDiscard;
    case BlockOperation::kFlush:
    case BlockOperation::kZoneManagement:
    case BlockOperation::kDriver:
    case BlockOperation::kOther:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace iotape
