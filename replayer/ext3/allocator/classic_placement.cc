#include "replayer/ext3/allocator/classic_placement.h"

#include "replayer/ext3/allocator/group_choice.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

// Among the groups with no less than the average of free inodes, the one with most free blocks, the first if several.
std::optional<GroupNumber> roomiest(const Volume& volume) {
  const std::uint32_t groups = volume.geometry.group_count;
  const std::uint64_t average = volume.groups.free_inodes() / groups;
  std::optional<GroupNumber> best;
  for (std::uint32_t i = 0; i < groups; ++i) {
    const GroupDescriptor& descriptor = volume.groups[GroupNumber(i)];
    if (descriptor.free_inodes_count == 0 || descriptor.free_inodes_count < average) continue;
    if (!best || descriptor.free_blocks_count > volume.groups[*best].free_blocks_count) best = GroupNumber(i);
  }
  return best;
}

}  // namespace

std::optional<Placement> ClassicPlacement::place(const Volume& volume, const PlacementRequest& request) {
  const auto group = S_ISDIR(request.mode) ? roomiest(volume) : find_group_other(volume, request.parent.number);
  if (!group) return std::nullopt;
  return Placement{*group, 0};
}

}  // namespace iotape::ext3
