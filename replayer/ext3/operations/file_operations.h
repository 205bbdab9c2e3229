// What changes and reads a file's bytes.
//
// REQUIRES of every call: inside the monitor, no lock and no handle held; the caller's reference keeps the inode. All
// may wait. Errnos are those of the system calls; that a descriptor is open for it, and O_APPEND's position, are the
// caller's affair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "replayer/ext3/inode.h"
#include "replayer/ext3/operations/caller.h"

namespace iotape::ext3 {

struct Volume;

// What one open file remembers of how it is read.
struct ReadAheadState {
  std::uint64_t next_offset = 0;    // a read that begins here is sequential
  std::uint32_t window_blocks = 0;  // how far ahead the last one looked
};

// Fills `into` from offset on; fewer bytes at the end of the file. Updates the access time by the mount's rule.
Answer<std::size_t> read_file(Volume& volume, Inode& inode, std::uint64_t offset, std::span<std::byte> into,
                              ReadAheadState& ahead);
// Fewer bytes than asked for when the volume fills up on the way. append: at the end, whatever the offset; `offset` is
// set to where it began.
Answer<std::size_t> write_file(Volume& volume, Inode& inode, std::uint64_t& offset, std::span<const std::byte> from,
                               bool append, const Caller& caller);
Answer<void> truncate_file(Volume& volume, Inode& inode, std::uint64_t size, const Caller& caller);
// fsync, fdatasync: the file's data, then the transaction that holds its last change.
Answer<void> sync_file(Volume& volume, Inode& inode, bool data_only);
// The next offset at or after this one that holds data (or that is in a hole; the end of the file counts as one).
// ENXIO beyond the end, or when no data follows.
Answer<std::uint64_t> seek_data(Volume& volume, Inode& inode, std::uint64_t offset);
Answer<std::uint64_t> seek_hole(Volume& volume, Inode& inode, std::uint64_t offset);

Answer<std::string> read_symlink(Volume& volume, Inode& inode);

}  // namespace iotape::ext3
