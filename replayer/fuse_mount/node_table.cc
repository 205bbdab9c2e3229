#include "replayer/fuse_mount/node_table.h"

#include <algorithm>
#include <limits>

#include "replayer/ext3/volume.h"

namespace iotape::fuse_mount {

namespace {

constexpr NodeId kRootNode = 1;  // FUSE_ROOT_ID

}  // namespace

NodeId NodeTable::id_of(ext3::InodeNumber number) { return number == ext3::kRootInode ? kRootNode : number.value; }

ext3::Answer<ext3::InodeReference> NodeTable::get(NodeId node) {
  if (const auto found = known_.find(node); found != known_.end()) return found->second.inode;
  if (node == kRootNode) return volume_.inodes->get(ext3::kRootInode);
  const bool ordinary = node >= volume_.geometry.first_inode && node <= std::numeric_limits<std::uint32_t>::max();
  if (!ordinary) return ext3::refuse(ESTALE);
  return volume_.inodes->get(ext3::InodeNumber(static_cast<std::uint32_t>(node)));
}

void NodeTable::count(ext3::Inode& inode) {
  Known& known = known_[id_of(inode.number)];
  if (!known.inode) known.inode = ext3::InodeReference(&inode);
  ++known.lookups;
}

void NodeTable::forget(NodeId node, std::uint64_t times) {
  const auto found = known_.find(node);
  if (found == known_.end()) return;
  found->second.lookups -= std::min(times, found->second.lookups);
  if (found->second.lookups != 0) return;
  // Out of the table first: dropping the reference may wait, and others come in meanwhile.
  const ext3::InodeReference last = std::move(found->second.inode);
  known_.erase(found);
}

void NodeTable::forget_all() {
  while (!known_.empty()) {
    const ext3::InodeReference last = std::move(known_.begin()->second.inode);
    known_.erase(known_.begin());
  }
}

}  // namespace iotape::fuse_mount
