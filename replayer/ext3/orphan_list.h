// OrphanList: inodes that must be deleted or cut to size should the machine stop now. Chained on the disk from
// Superblock::last_orphan through InodeRecord::deletion_time, newest first.
#pragma once

#include "replayer/ext3/inode.h"
#include "replayer/ext3/journal/journal.h"

namespace iotape::ext3 {

struct Volume;

class OrphanList {
 public:
  // Credits either call needs: the superblock and two records of the inode table.
  static constexpr std::uint32_t kCredits = 3;
  // Both do nothing when it is (not) on the list already. May wait.
  Answer<void> add(Volume& volume, Handle& handle, Inode& inode);
  Answer<void> remove(Volume& volume, Handle& handle, Inode& inode);
  [[nodiscard]] bool empty() const { return first_ == nullptr; }

  // Found on the disk's list at mount, whose head it is.
  void adopt(Inode& inode) { link(inode); }
  // The disk keeps it, memory does not.
  void abandon(Inode& inode) { unlink(inode); }

 private:
  void link(Inode& inode);
  void unlink(Inode& inode);
  SleepLock lock_;  // the list on the disk takes several waits to change
  Inode* first_ = nullptr;
};

}  // namespace iotape::ext3
