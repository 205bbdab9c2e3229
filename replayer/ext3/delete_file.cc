#include "replayer/ext3/delete_file.h"

#include "replayer/ext3/block_map.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

// The record, its bitmap and descriptor, the orphan list's neighbours; what its attributes take.
std::uint32_t credits(const Inode& inode) {
  return 1 + InodeAllocator::kCredits + OrphanList::kCredits +
         (inode.attribute_block != kNoBlock ? xattr_block_credits() : 0);
}

// A damaged block of attributes does not keep a file from going; e2fsck finds what is left of it.
Answer<void> release_attributes(Volume& volume, Handle& handle, Inode& inode) {
  const Answer<void> released = release_xattr_block(volume, handle, inode);
  return !released && released.error().value == EUCLEAN ? Answer<void>() : released;
}

}  // namespace

Answer<void> delete_file(Volume& volume, Inode& inode) {
  if (inode.sectors != 0) EXT3_TRY(free_all_blocks(volume, inode));
  EXT3_ASSIGN(Handle handle, volume.journal->start(credits(inode)));
  EXT3_TRY(release_attributes(volume, handle, inode));
  EXT3_TRY(volume.orphans.remove(volume, handle, inode));
  inode.size = 0;
  inode.deletion_time = static_cast<std::uint32_t>(volume.now().seconds);
  EXT3_TRY(volume.inodes->write(handle, inode));
  EXT3_TRY(volume.inode_numbers->release(handle, inode.number, inode.is_directory()));
  return handle.stop();
}

}  // namespace iotape::ext3
