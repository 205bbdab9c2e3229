// What the arguments of a call mean to a replay: which paths it takes and whether the last component is followed,
// whether it changes files, what it needs. Derived from the field tables of format/operations.h, so that a new
// operation is covered by the fields it lists.
#pragma once

#include <array>
#include <cstdint>

#include "format/event.h"

namespace iotape {

inline constexpr std::size_t kMaximumPaths = 2;

struct CallPaths {
  std::array<const PathArgument*, kMaximumPaths> path{};
  std::array<bool, kMaximumPaths> follow{};
  std::size_t count = 0;
};
// In wire order: Rename::from before Rename::to.
[[nodiscard]] CallPaths call_paths(const Syscall& call);

struct CallDescriptors {
  std::array<const Descriptor*, kMaximumPaths> descriptor{};
  std::size_t count = 0;
};
[[nodiscard]] CallDescriptors call_descriptors(const Operation& operation);

// Whether a successful call of this kind changes what a filesystem holds (its names, attributes or data).
[[nodiscard]] bool is_changing(const Syscall& call);
// Whether it changes names, so that the directory that holds the name is what changes.
[[nodiscard]] bool changes_names(const Syscall& call);

}  // namespace iotape
