#include "replayer/ext3/delete_file.h"

#include "replayer/ext3/block_map.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

// The record, its bitmap and descriptor, the orphan list's neighbours.
constexpr std::uint32_t kCredits = 1 + InodeAllocator::kCredits + OrphanList::kCredits;

}  // namespace

Answer<void> delete_file(Volume& volume, Inode& inode) {
  if (inode.sectors != 0) EXT3_TRY(free_all_blocks(volume, inode));
  EXT3_ASSIGN(Handle handle, volume.journal->start(kCredits));
  EXT3_TRY(volume.orphans.remove(volume, handle, inode));
  inode.size = 0;
  inode.deletion_time = static_cast<std::uint32_t>(volume.now().seconds);
  EXT3_TRY(volume.inodes->write(handle, inode));
  EXT3_TRY(volume.inode_numbers->release(handle, inode.number, inode.is_directory()));
  return handle.stop();
}

}  // namespace iotape::ext3
