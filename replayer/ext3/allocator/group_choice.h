// find_group_other: the group for an inode that is not a directory, as ext3 chooses it. Shared by the policies.
#pragma once

#include <cstdint>
#include <optional>

#include "replayer/ext3/types.h"

namespace iotape::ext3 {

struct Volume;

// The groups that ext3 tries before it scans: the parent's, then, from (its number + the parent's inode) on, steps of
// 1, 2, 4 and so on, so that the files of one directory that leave its group stay together and those of different
// directories part. Calls accept(group) until it returns true; nullopt when it never does.
template <typename Accept>
std::optional<GroupNumber> probe_groups(std::uint32_t groups, GroupNumber home, InodeNumber parent,
                                        const Accept& accept) {
  if (accept(home)) return home;
  std::uint32_t at = static_cast<std::uint32_t>((std::uint64_t{home.value} + parent.value) % groups);
  for (std::uint64_t step = 1; step < groups; step *= 2) {
    at = static_cast<std::uint32_t>((at + step) % groups);
    if (accept(GroupNumber(at))) return GroupNumber(at);
  }
  return std::nullopt;
}

// The first of these with a free inode and a free block; else the next group with a free inode.
std::optional<GroupNumber> find_group_other(const Volume& volume, InodeNumber parent);

}  // namespace iotape::ext3
