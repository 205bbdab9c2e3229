// ClassicPlacement: directories as ext2 and ext3 placed them before Orlov's allocator (and with `-o oldalloc` after):
// wherever on the disk there is most room, the parent's place does not matter.
// Source: find_group_dir of Linux 2.4 and 2.6's ext3.
#pragma once

#include <optional>

#include "replayer/ext3/allocator/inode_allocator.h"

namespace iotape::ext3 {

class ClassicPlacement final : public InodePlacementPolicy {
 public:
  std::optional<Placement> place(const Volume& volume, const PlacementRequest& request) override;
};

}  // namespace iotape::ext3
