// Between an inode's record in the table and the inode in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "replayer/ext3/geometry.h"
#include "replayer/ext3/inode.h"

namespace iotape::ext3 {

// REQUIRES: record has inode_size bytes. An extra_size beyond the record counts as none.
void decode_inode(std::uint32_t inode_size, const std::byte* record, Inode& inode);
// Keeps what is not decoded: attributes in the record, fields unknown to ext3. Returns true when the size or the block
// map differ from what the record said: what fdatasync has to wait for.
bool encode_inode(std::uint32_t inode_size, const Inode& inode, std::byte* record);
// Zeros, with the extra fields of a new inode declared where there is room.
void initialise_inode_record(std::uint32_t inode_size, std::byte* record);

// What a record of this size can hold of a time: seconds of 32 bits without, of 34 bits and nanoseconds with extra
// fields. What lies beyond is clamped, as the kernel does.
FileTime storable_time(std::uint32_t inode_size, FileTime time);

// Sizes and types that the rest relies on.
bool plausible_inode(const Geometry& geometry, const Inode& inode);

}  // namespace iotape::ext3
