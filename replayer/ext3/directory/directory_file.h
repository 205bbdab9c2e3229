// A directory as a file: reading its blocks, adding one, and what every change of its names ends with.
#pragma once

#include <cstdint>

#include "format/event.h"
#include "replayer/ext3/cache/buffer_cache.h"
#include "replayer/ext3/inode.h"
#include "replayer/ext3/journal/journal.h"

namespace iotape::ext3 {

struct Volume;

std::uint32_t directory_blocks(const Volume& volume, const Inode& directory);
// The volume and the mount let this directory have an index, and it has one.
bool uses_index(const Volume& volume, const Inode& directory);
std::uint8_t stored_file_type(const Volume& volume, std::uint32_t mode);

// An empty reference: a hole. REQUIRES: file_block lies within the directory. May wait.
Answer<BufferReference> read_directory_block(Volume& volume, Inode& directory, FileBlock file_block, BlockCause cause);
// Likewise for a walk through all blocks: reads some that follow along with one that is not in memory.
Answer<BufferReference> read_next_block(Volume& volume, Inode& directory, FileBlock file_block);

struct AppendedBlock {
  BufferReference buffer;  // zeros; the caller fills it and tells the journal (dirty_metadata)
  FileBlock file_block;
};
// ENOSPC also where a directory cannot grow further. May wait.
Answer<AppendedBlock> append_directory_block(Volume& volume, Handle& handle, Inode& directory, BlockCause cause,
                                             bool privileged);
// Times, the change count, and the record. May wait.
Answer<void> finish_directory_change(Volume& volume, Handle& handle, Inode& directory);

}  // namespace iotape::ext3
