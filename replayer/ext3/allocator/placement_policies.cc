// The placement policies by name: the one place to add another (ADDING_AN_ALLOCATOR.md).
#include "replayer/ext3/allocator/classic_placement.h"
#include "replayer/ext3/allocator/leaf_placement.h"
#include "replayer/ext3/allocator/orlov_placement.h"

namespace iotape::ext3 {

std::unique_ptr<InodePlacementPolicy> make_placement_policy(InodePlacement placement, std::uint64_t seed) {
  switch (placement) {
    case InodePlacement::kOrlov:
      return std::make_unique<OrlovPlacement>(seed);
    case InodePlacement::kClassic:
      return std::make_unique<ClassicPlacement>();
    case InodePlacement::kLeaf:
      return std::make_unique<LeafPlacement>(seed);
  }
  return nullptr;
}

}  // namespace iotape::ext3
