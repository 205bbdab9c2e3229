// The block map: from a file's blocks to the device's, through twelve direct pointers and single, double and triple
// indirect blocks. A zero pointer is a hole.
// REQUIRES of every call: the inode's lock is held. All may wait.
#pragma once

#include <cstdint>

#include "replayer/ext3/inode.h"
#include "replayer/ext3/journal/journal.h"
#include "replayer/ext3/types.h"

namespace iotape::ext3 {

struct Volume;

// The device's block, or kNoBlock for a hole. EFBIG beyond what the map reaches; EUCLEAN for a pointer that leaves the
// volume.
Answer<BlockNumber> map_block(Volume& volume, Inode& inode, FileBlock file_block);
// Likewise for a run: how many blocks from file_block on (at most limit) are consecutive on the device, or are a hole.
struct BlockRun {
  BlockNumber first;  // kNoBlock: a hole
  std::uint32_t count = 0;
};
Answer<BlockRun> map_run(Volume& volume, Inode& inode, FileBlock file_block, std::uint32_t limit);

// Credits that one call of map_or_allocate may spend beside the inode's record.
std::uint32_t map_credits(const Volume& volume);
struct MappedBlock {
  BlockNumber block;
  bool fresh = false;  // just allocated: its bytes on the disk are somebody else's old ones
};
// Allocates the block, and the indirect blocks on the way, where there is a hole. Counts sectors in the inode and
// writes its record. ENOSPC, EFBIG, EDQUOT leave the map as it was.
Answer<MappedBlock> map_or_allocate(Volume& volume, Handle& handle, Inode& inode, FileBlock file_block,
                                    bool privileged);
// Likewise for a run of at most `limit` blocks that are consecutive in the file and on the device, and are either all
// fresh or all old: exactly what as many calls of map_or_allocate would have brought, for the credits of one.
struct MappedRun {
  BlockNumber first;
  std::uint32_t count = 0;
  bool fresh = false;
};
Answer<MappedRun> map_or_allocate_run(Volume& volume, Handle& handle, Inode& inode, FileBlock file_block,
                                      std::uint32_t limit, bool privileged);

// Cuts the file to `size` bytes: frees whole blocks beyond it, zeroes the rest of the last one, in as many transactions
// as it takes, the inode on the orphan list meanwhile. Grows it (a hole) when it is shorter. Sets size and times.
// REQUIRES: no handle open.
Answer<void> truncate(Volume& volume, Inode& inode, std::uint64_t size);
// Frees everything a deleted file holds; the same chunks. The caller has it on the orphan list.
Answer<void> free_all_blocks(Volume& volume, Inode& inode);

}  // namespace iotape::ext3
