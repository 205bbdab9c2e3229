// NodeTable: which inodes the kernel knows, and how often it was told of each (FUSE's lookup counts). An inode is kept
// in memory, and a deleted one on the disk, until the kernel has forgotten it as often.
//
// A node's number at the kernel is the inode's own, but for the root, which FUSE calls 1 and ext3 calls 2 (ext3's
// inode 1, the bad blocks, has no name). So a number stays good over a remount, which serves NFS as well.
// REQUIRES of every call: inside the monitor.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "replayer/ext3/inode.h"

namespace iotape::ext3 {
struct Volume;
}

namespace iotape::fuse_mount {

using NodeId = std::uint64_t;  // fuse_ino_t

class NodeTable {
 public:
  explicit NodeTable(ext3::Volume& volume) : volume_(volume) {}

  static NodeId id_of(ext3::InodeNumber number);
  // The inode of a node; one the kernel was never told of is looked for on the disk. May wait. ESTALE.
  ext3::Answer<ext3::InodeReference> get(NodeId node);
  // The kernel is being told of it once more.
  void count(ext3::Inode& inode);
  // The kernel forgets it so many times. May wait: the last time deletes a file without a name.
  void forget(NodeId node, std::uint64_t times);
  // Nobody will ask any more. May wait.
  void forget_all();

 private:
  struct Known {
    ext3::InodeReference inode;
    std::uint64_t lookups = 0;
  };
  ext3::Volume& volume_;
  std::unordered_map<NodeId, Known> known_;
};

}  // namespace iotape::fuse_mount
