// The names in what getdents or getdents64 left in memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace iotape {

// In the order of the buffer, "." and ".." included. old_layout: getdents. Stops at the first entry that does not fit.
std::vector<std::string> directory_names(std::span<const std::byte> entries, bool old_layout);

}  // namespace iotape
