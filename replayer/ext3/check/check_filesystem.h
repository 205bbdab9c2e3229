// Judges whether a volume is a sound ext3: every rule that the mounted code relies on and keeps, and that e2fsck knows.
//
// Reads only, with a reader of its own: it shares nothing with the mounted code but the names of the disk's fields, so
// that a misunderstanding there does not acquit itself here. The volume must not be mounted for writing meanwhile.
// Any image whatever ends in a list: each block is read a bounded number of times. Memory: a bit for each block, five
// bytes for each inode in use, 20 bytes for each directory, and 16 for each name of the largest one.
#pragma once

#include <cstdint>
#include <vector>

#include "replayer/ext3/check/problem.h"
#include "replayer/ext3/device/block_device.h"

namespace iotape::ext3 {

struct CheckOptions {
  std::uint32_t most_problems = 1000;  // kept; the others are only counted
  bool totals_are_old = false;         // the superblock's free counts were not written since a crash: not judged
};

struct CheckReport {
  std::vector<Problem> problems;  // in the order of the passes: volume, inodes, directories, links, bitmaps
  std::uint64_t problem_count = 0;
  bool complete = false;  // false: so damaged, or so foreign, that not all could be looked at
  std::uint32_t block_count = 0;
  std::uint32_t used_blocks = 0;
  std::uint32_t inode_count = 0;
  std::uint32_t used_inodes = 0;
  std::uint32_t directories = 0;
  std::uint64_t names = 0;  // entries of directories, "." and ".." among them
  [[nodiscard]] bool sound() const { return problem_count == 0; }
};

CheckReport check_filesystem(BlockDevice& device, const CheckOptions& options = {});

}  // namespace iotape::ext3
