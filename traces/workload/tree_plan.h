// A source tree that does not exist, planned: directories and files with names, sizes and an order, from a seed.
//
// Shaped after the kernel tree of November 2002 (13,035 files, about 192 MB): a few large top directories, about
// sixteen files to a directory, log-normal file sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace iotape::workload {

struct TreeShape {
  std::uint64_t files = 13'035;
  std::uint64_t bytes = 192ULL << 20U;  // of all files together, exactly
  std::uint64_t seed = 2002;
};

struct TreeEntry {
  std::string path;  // relative to the tree's top
  bool is_directory = false;
  std::uint64_t size = 0;
};

// Depth first with names sorted, as an archive of a source tree is: every directory comes before what is in it.
// The first entry is the first directory below the top; the top itself is not an entry.
std::vector<TreeEntry> plan_tree(const TreeShape& shape);

}  // namespace iotape::workload
