// Which files have been met already, so that each file's state from before the run is written once and a file the run
// made itself never. Memory is bounded: when kMaximumEntries are known, further files count as new every time, which
// costs space in the trace and nothing else.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "format/event.h"

namespace iotape {

class FirstTouch {
 public:
  static constexpr std::size_t kMaximumEntries = 4U << 20U;

  // Whether this state should be written; from then on its file is known. A stat by path has no generation and is also
  // matched without one.
  bool take(const FileState& state);
  // The run made this file: nothing found of it later is from before.
  void made(const FileReference& file);
  // The run made an entry of this name (mkdir, symlink, mknod, link, rename) and the file behind it was not seen.
  void made_name(const PathArgument& path);

 private:
  bool insert(std::uint64_t key);
  [[nodiscard]] bool contains(std::uint64_t key) const;
  void grow();

  std::vector<std::uint64_t> slots_;  // open addressing, 0 is empty
  std::size_t used_ = 0;
};

}  // namespace iotape
