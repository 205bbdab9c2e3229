// Keeps a replay from filling the filesystem it runs on.
//
// Free space is asked of the filesystem only when what was last granted may be used up, so that a replay of small
// writes pays one subtraction a call.
#pragma once

#include <cstdint>

#include "format/base/file_descriptor.h"

namespace iotape {

class SpaceGuard {
 public:
  // place: any descriptor on the filesystem to guard. reserve: bytes that must stay free.
  SpaceGuard(FileDescriptor place, std::uint64_t reserve) : place_(std::move(place)), reserve_(reserve) {}
  // For a filesystem that is the replay's own to fill.
  static SpaceGuard unlimited() { return {{}, 0}; }

  // False when the call could leave less than the reserve free.
  [[nodiscard]] bool allows(std::uint64_t growth);
  [[nodiscard]] std::uint64_t available() const;  // bytes above the reserve

 private:
  FileDescriptor place_;
  std::uint64_t reserve_;
  std::uint64_t granted_ = 0;
};

}  // namespace iotape
