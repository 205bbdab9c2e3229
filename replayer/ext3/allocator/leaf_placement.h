// LeafPlacement: inodes in runs tied to the directory block that holds their names. ("alloc=leaf")
//
// An htree directory is read in the order of its names' hashes, which is not the order in which its inodes were taken.
// A program that reads a directory and then touches every file jumps over the whole inode table, and with a journal
// smaller than the table each block of it is logged and written again and again. Here the names of one directory block
// share blocks of the inode table, so that reading in hash order meets each of them once, or a few times within a short
// while. The idea is from the discussions of 2002 and later (see DECISIONS below); the policy is ours:
//
//  - A run is the inodes of one block of the inode table: 4 to 32.
//  - A new file's inode comes from the run that its directory block took last, while that has room.
//  - A block without such a run (it is new, by growing or by a split; or the volume was mounted since) goes on in a run
//    that holds inodes of names in it and has room. After a split both halves may go on in one run: they are neighbours
//    in hash order and stay so.
//  - Else it takes a run that is wholly free: the first in its directory's group, or in the groups that
//  find_group_other
//    would try, or in the next group that may have one. Runs are taken in the order of time, so that a table is filled
//    from its start, and writing it is sequential.
//  - No run is wholly free anywhere: find_group_other and the first free inode in its group.
//  - Directories are placed as OrlovPlacement does.
//
// Nothing is kept on the disk. In memory are a table of fixed size (kHints entries, 768 KiB) with the last run of a
// directory block, which may forget any of them without harm, and a number per group. A run's unused inodes are not
// lost: its block, or in the end anybody, takes them.
//
// Why this is enough: names added while a directory doubled in size, half of all, lie in runs whose hash range was
// split about once; a quarter in runs split about twice; and so on. While m of n leaves are deleted in hash order, the
// part m / n of the table's blocks is touched about twice, and log2(n) / n of it from the ranges that reach beyond: far
// from all of it, which is what order by time of creation costs. DECISIONS: Phillips's and Ts'o's remarks on readdir
// order (ext3-users 2004-09-24), Coly Li's directory inode reservation (2007-11), Dilger's inode and leaf blocks in one
// (2012-08).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replayer/ext3/allocator/orlov_placement.h"

namespace iotape::ext3 {

class LeafPlacement final : public InodePlacementPolicy {
 public:
  explicit LeafPlacement(std::uint64_t seed) : directories_(seed) {}
  std::optional<Placement> place(const Volume& volume, const PlacementRequest& request) override;
  std::optional<std::uint32_t> first_bit(const Volume& volume, const Placement& placement,
                                         const std::byte* bitmap) override;
  void taken(const PlacementRequest& request, InodeNumber inode) override;
  void released(InodeNumber inode, bool directory) override;

 private:
  static constexpr std::size_t kHints = std::size_t{1} << 16U;
  static constexpr std::uint32_t kAnyFreeRun = ~0U;  // as Placement::first_bit
  struct Hint {
    InodeNumber directory;  // kNoInode: no hint
    FileBlock leaf;
    InodeNumber inode;  // one of the run
  };
  void learn(const Geometry& geometry);
  Hint& hint(InodeNumber directory, FileBlock leaf);
  std::optional<GroupNumber> group_with_run(const Volume& volume, InodeNumber directory);

  OrlovPlacement directories_;
  std::vector<Hint> hints_;
  GroupSet may_have_run_;                 // a wholly free run
  std::vector<std::uint32_t> first_run_;  // per group: no run below this one is wholly free
  std::uint32_t run_length_ = 0;
  std::uint32_t inodes_per_group_ = 0;
};

}  // namespace iotape::ext3
