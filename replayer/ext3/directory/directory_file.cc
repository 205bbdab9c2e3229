#include "replayer/ext3/directory/directory_file.h"

#include <algorithm>
#include <cstring>

#include "replayer/ext3/block_map.h"
#include "replayer/ext3/disk_format/directory_record.h"
#include "replayer/ext3/disk_format/htree_record.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint32_t kReadAheadBlocks = 8;
constexpr std::uint64_t kLargestDirectory = std::uint64_t{1} << 31U;  // bytes; a cookie of 31 bits is an offset in it

BlockTag tag_of(const Volume& volume, const Inode& directory, FileBlock file_block, BlockCause cause) {
  return {cause, directory.number, file_block, volume.host.thread()};
}

}  // namespace

std::uint32_t directory_blocks(const Volume& volume, const Inode& directory) {
  return static_cast<std::uint32_t>(std::min(directory.size, kLargestDirectory) / volume.geometry.block_size);
}

bool uses_index(const Volume& volume, const Inode& directory) {
  return directory.has_flag(kInodeIndex) && volume.options.htree && volume.has_dir_index();
}

std::uint8_t stored_file_type(const Volume& volume, std::uint32_t mode) {
  return volume.has_filetype() ? directory_file_type(mode) : std::uint8_t{kTypeUnknown};
}

Answer<BufferReference> read_directory_block(Volume& volume, Inode& directory, FileBlock file_block, BlockCause cause) {
  EXT3_ASSIGN(const BlockNumber block, map_block(volume, directory, file_block));
  if (block == kNoBlock) return BufferReference();
  return volume.cache->read(block, tag_of(volume, directory, file_block, cause));
}

Answer<BufferReference> read_next_block(Volume& volume, Inode& directory, FileBlock file_block) {
  constexpr BlockCause kCause = BlockCause::kDirectoryLeaf;
  EXT3_ASSIGN(const BlockNumber block, map_block(volume, directory, file_block));
  if (block == kNoBlock) return BufferReference();
  if (const BufferReference cached = volume.cache->find(block); !cached || !cached->up_to_date) {
    const std::uint32_t left = directory_blocks(volume, directory) - file_block.value;
    EXT3_ASSIGN(const BlockRun run, map_run(volume, directory, file_block, std::min(left, kReadAheadBlocks)));
    // What fails here is read again, and reported, when its turn comes.
    if (run.count > 1) {
      (void)volume.cache->read_range(run.first, run.count, tag_of(volume, directory, file_block, kCause),
                                     IoReason::kReadAhead);
    }
  }
  return volume.cache->read(block, tag_of(volume, directory, file_block, kCause));
}

Answer<AppendedBlock> append_directory_block(Volume& volume, Handle& handle, Inode& directory, BlockCause cause,
                                             bool privileged) {
  const std::uint32_t block_size = volume.geometry.block_size;
  const FileBlock file_block(directory_blocks(volume, directory));
  if (directory.size + block_size > kLargestDirectory || file_block.value >= kHtreeBlockMask) return refuse(ENOSPC);
  EXT3_ASSIGN(const MappedBlock mapped, map_or_allocate(volume, handle, directory, file_block, privileged));
  const BlockTag tag = tag_of(volume, directory, file_block, cause);
  EXT3_ASSIGN(BufferReference buffer, volume.cache->get(mapped.block, tag));
  EXT3_TRY(volume.journal->get_create_access(handle, *buffer));
  std::memset(buffer->data, 0, block_size);
  buffer->up_to_date = true;
  buffer->tag = tag;
  directory.size = (std::uint64_t{file_block.value} + 1) * block_size;
  return AppendedBlock{std::move(buffer), file_block};
}

Answer<void> finish_directory_change(Volume& volume, Handle& handle, Inode& directory) {
  directory.modification_time = volume.storable_now();
  directory.change_time = directory.modification_time;
  ++directory.change_count;
  return volume.inodes->write(handle, directory);
}

}  // namespace iotape::ext3
