// OrlovPlacement: directories as ext3 placed them from 2.5.46 on. Those at the top (children of the root, or of a
// directory flagged kInodeTopDirectory) are spread over the disk; those below stay near their parent while its group is
// neither short of inodes or blocks nor full of directories.
// Source: find_group_orlov of Linux 2.6's ext3 (after Grigory Orlov's allocator in OpenBSD). Its "debt" is left out:
// ext3 computes it and never looks at it.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include "replayer/ext3/allocator/inode_allocator.h"

namespace iotape::ext3 {

class OrlovPlacement final : public InodePlacementPolicy {
 public:
  // seed: of the groups at which the search for a place at the top begins (ext3 draws them at random).
  explicit OrlovPlacement(std::uint64_t seed) : random_(seed) {}
  std::optional<Placement> place(const Volume& volume, const PlacementRequest& request) override;
  [[nodiscard]] std::optional<GroupNumber> find_directory_group(const Volume& volume, const Inode& parent);

 private:
  std::mt19937_64 random_;
};

}  // namespace iotape::ext3
