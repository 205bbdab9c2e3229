#include "replayer/ext3/orphan_list.h"

#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

Answer<void> set_head(Volume& volume, Handle& handle, InodeNumber head) {
  EXT3_TRY(volume.journal->get_write_access(handle, *volume.superblock_buffer));
  volume.superblock().last_orphan = head.value;
  volume.journal->dirty_metadata(handle, *volume.superblock_buffer);
  return {};
}

}  // namespace

void OrphanList::link(Inode& inode) {
  inode.orphan = true;
  inode.orphan_previous = nullptr;
  inode.orphan_next = first_;
  if (first_ != nullptr) first_->orphan_previous = &inode;
  first_ = &inode;
}

void OrphanList::unlink(Inode& inode) {
  (inode.orphan_previous != nullptr ? inode.orphan_previous->orphan_next : first_) = inode.orphan_next;
  if (inode.orphan_next != nullptr) inode.orphan_next->orphan_previous = inode.orphan_previous;
  inode.orphan = false;
  inode.orphan_previous = inode.orphan_next = nullptr;
}

Answer<void> OrphanList::add(Volume& volume, Handle& handle, Inode& inode) {
  const SleepLockGuard list(volume.host, lock_);
  if (inode.orphan) return {};
  inode.deletion_time = volume.superblock().last_orphan;
  EXT3_TRY(volume.inodes->write(handle, inode));
  EXT3_TRY(set_head(volume, handle, inode.number));
  link(inode);
  return {};
}

Answer<void> OrphanList::remove(Volume& volume, Handle& handle, Inode& inode) {
  const SleepLockGuard list(volume.host, lock_);
  if (!inode.orphan) return {};
  const InodeNumber next(inode.deletion_time);
  if (Inode* const previous = inode.orphan_previous) {
    previous->deletion_time = next.value;
    EXT3_TRY(volume.inodes->write(handle, *previous));
  } else {
    EXT3_TRY(set_head(volume, handle, next));
  }
  unlink(inode);
  inode.deletion_time = 0;
  return volume.inodes->write(handle, inode);
}

}  // namespace iotape::ext3
