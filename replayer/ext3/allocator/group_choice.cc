#include "replayer/ext3/allocator/group_choice.h"

#include "replayer/ext3/volume.h"

namespace iotape::ext3 {

std::optional<GroupNumber> find_group_other(const Volume& volume, InodeNumber parent) {
  const std::uint32_t groups = volume.geometry.group_count;
  const GroupNumber home = volume.geometry.group_of(parent);
  const auto roomy = [&](GroupNumber group) {
    return volume.groups[group].free_inodes_count != 0 && volume.groups[group].free_blocks_count != 0;
  };
  if (const auto found = probe_groups(groups, home, parent, roomy)) return found;
  const GroupNumber next = volume.groups.with_free_inodes().next(GroupNumber((home.value + 1) % groups));
  return next.value < groups ? std::optional(next) : std::nullopt;
}

}  // namespace iotape::ext3
