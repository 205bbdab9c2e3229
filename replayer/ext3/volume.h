// Volume: what the parts of a mounted ext3 share. The parts are plain functions and small classes over it; each may
// call those below it in this order: cache, journal, groups, allocators, inodes, block map, directories, operations.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "replayer/ext3/allocator/block_allocator.h"
#include "replayer/ext3/allocator/inode_allocator.h"
#include "replayer/ext3/cache/buffer_cache.h"
#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/disk_format/superblock.h"
#include "replayer/ext3/geometry.h"
#include "replayer/ext3/group_table.h"
#include "replayer/ext3/host.h"
#include "replayer/ext3/inode_cache.h"
#include "replayer/ext3/inode_codec.h"
#include "replayer/ext3/journal/journal.h"
#include "replayer/ext3/mount_options.h"
#include "replayer/ext3/orphan_list.h"
#include "replayer/ext3/xattr/xattr_block.h"

namespace iotape::ext3 {

// The last name that was looked for in vain. Creating it is mostly what comes next, and needs the same search again.
struct NameMiss {
  const Inode* directory = nullptr;
  std::uint64_t change_count = 0;  // of the directory then: the probe is true while it is the same
  std::string name;
  DirectoryProbe probe;
};

struct Volume {
  Volume(Host& host_used, BlockDevice& device_used, const MountOptions& options_used)
      : host(host_used), device(device_used), options(options_used) {}

  Host& host;
  BlockDevice& device;
  MountOptions options;
  Geometry geometry;
  bool has_log = false;      // mounted with its journal: ext3, not ext2
  bool read_only = false;    // asked for, forced by a feature, or after an error
  bool daemons_end = false;  // see daemons.h

  // Destroyed in reverse: inodes before what they lie in.
  std::unique_ptr<BufferCache> cache;
  std::unique_ptr<Journal> journal;
  BufferReference superblock_buffer;
  GroupTable groups;
  std::unique_ptr<BlockAllocator> blocks;
  std::unique_ptr<InodeAllocator> inode_numbers;
  OrphanList orphans;
  std::unique_ptr<InodeCache> inodes;
  XattrBlockIndex xattr_blocks;
  NameMiss last_miss;
  Errno lost_write{};  // what a write that nobody waited for ended with: the next fsync says so
  std::uint32_t next_generation = 1;
  SleepLock rename_lock;  // the tree's shape: taken before any directory's lock

  // The primary copy, wherever in its block it lies.
  [[nodiscard]] Superblock& superblock() const {
    return *superblock_buffer->at<Superblock>(geometry.block_size == 1024 ? 0 : kSuperblockOffset);
  }
  [[nodiscard]] bool journaled() const { return has_log; }
  [[nodiscard]] bool has_filetype() const { return (superblock().incompatible_features & kFeatureFiletype) != 0; }
  [[nodiscard]] bool has_dir_index() const { return (superblock().compatible_features & kFeatureDirIndex) != 0; }
  [[nodiscard]] FileTime now() const {
    const std::int64_t nanoseconds = host.now().value;
    return {nanoseconds / 1'000'000'000, static_cast<std::uint32_t>(nanoseconds % 1'000'000'000)};
  }
  // What an inode of this volume can hold of the present.
  [[nodiscard]] FileTime storable_now() const { return storable_time(geometry.inode_size, now()); }
  // Something on the disk is not what it must be: notes it in the superblock's state (kStateErrors), and makes the
  // volume read-only where the superblock's policy says so. Returns EUCLEAN for the caller to pass on.
  tl::unexpected<Errno> damaged(InodeNumber inode, const char* what);
  std::uint64_t damage_count = 0;
  struct DamageNote {
    InodeNumber inode;
    const char* what = "";
  };
  DamageNote first_damage;
};

}  // namespace iotape::ext3
