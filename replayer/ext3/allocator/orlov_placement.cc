#include "replayer/ext3/allocator/orlov_placement.h"

#include "replayer/ext3/allocator/group_choice.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

struct Averages {  // over all groups
  std::int64_t free_inodes;
  std::int64_t free_blocks;
  std::int64_t directories;
};

Averages averages(const Volume& volume) {
  const auto groups = static_cast<std::int64_t>(volume.geometry.group_count);
  return {static_cast<std::int64_t>(volume.groups.free_inodes()) / groups,
          static_cast<std::int64_t>(volume.groups.free_blocks()) / groups,
          static_cast<std::int64_t>(volume.groups.directories()) / groups};
}

// The first group from start on, once round, that suits.
template <typename Suits>
std::optional<GroupNumber> first_group(const Volume& volume, GroupNumber start, const Suits& suits) {
  const std::uint32_t groups = volume.geometry.group_count;
  for (std::uint32_t i = 0; i < groups; ++i) {
    const GroupNumber group((start.value + i) % groups);
    const GroupDescriptor& descriptor = volume.groups[group];
    if (descriptor.free_inodes_count != 0 && suits(group, descriptor)) return group;
  }
  return std::nullopt;
}

// Among the groups with no less than average room, the one with fewest directories.
std::optional<GroupNumber> spread(const Volume& volume, GroupNumber start, const Averages& average) {
  std::int64_t fewest = volume.geometry.inodes_per_group;
  std::optional<GroupNumber> best;
  (void)first_group(volume, start, [&](GroupNumber group, const GroupDescriptor& descriptor) {
    if (descriptor.used_directories_count < fewest && descriptor.free_inodes_count >= average.free_inodes &&
        descriptor.free_blocks_count >= average.free_blocks) {
      fewest = descriptor.used_directories_count;
      best = group;
    }
    return false;
  });
  return best;
}

// The parent's group or the next that is not crowded.
std::optional<GroupNumber> cluster(const Volume& volume, GroupNumber parent, const Averages& average) {
  const std::int64_t most_directories = average.directories + volume.geometry.inodes_per_group / 16;
  const std::int64_t least_inodes = average.free_inodes - volume.geometry.inodes_per_group / 4;
  const std::int64_t least_blocks = average.free_blocks - volume.geometry.blocks_per_group / 4;
  return first_group(volume, parent, [&](GroupNumber, const GroupDescriptor& descriptor) {
    return descriptor.used_directories_count < most_directories && descriptor.free_inodes_count >= least_inodes &&
           descriptor.free_blocks_count >= least_blocks;
  });
}

std::optional<GroupNumber> fall_back(const Volume& volume, GroupNumber start, const Averages& average) {
  const auto found = first_group(volume, start, [&](GroupNumber, const GroupDescriptor& descriptor) {
    return descriptor.free_inodes_count >= average.free_inodes;
  });
  if (found) return found;
  return first_group(volume, start, [](GroupNumber, const GroupDescriptor&) { return true; });
}

}  // namespace

std::optional<Placement> OrlovPlacement::place(const Volume& volume, const PlacementRequest& request) {
  const auto group = S_ISDIR(request.mode) ? find_directory_group(volume, request.parent)
                                           : find_group_other(volume, request.parent.number);
  if (!group) return std::nullopt;
  return Placement{*group, 0};
}

std::optional<GroupNumber> OrlovPlacement::find_directory_group(const Volume& volume, const Inode& parent) {
  const Averages average = averages(volume);
  GroupNumber start = volume.geometry.group_of(parent.number);
  std::optional<GroupNumber> found;
  if (parent.number == kRootInode || parent.has_flag(kInodeTopDirectory)) {
    start = GroupNumber(static_cast<std::uint32_t>(random_() % volume.geometry.group_count));
    found = spread(volume, start, average);
  } else {
    found = cluster(volume, start, average);
  }
  return found ? found : fall_back(volume, start, average);
}

}  // namespace iotape::ext3
