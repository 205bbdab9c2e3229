#include "replayer/ext3/directory/linear.h"

#include "replayer/ext3/directory/directory_block.h"
#include "replayer/ext3/directory/directory_file.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

void take_found(const std::byte* block, const BlockSearch& search, DirectoryProbe& probe) {
  const RecordHead head = record_head(block, search.offset);
  probe.inode = InodeNumber(head.inode);
  probe.file_type = head.file_type;
  probe.offset = search.offset;
  probe.previous_offset = search.previous_offset;
  probe.has_room = false;
}

// True: found, and the probe is complete.
Answer<bool> probe_block(Volume& volume, Inode& directory, FileBlock file_block, std::string_view name,
                         DirectoryProbe& probe) {
  EXT3_ASSIGN(BufferReference buffer, read_next_block(volume, directory, file_block));
  if (!buffer) return false;
  const BlockSearch search = search_block(buffer->data, volume.geometry.block_size, name);
  if (search.damaged) return volume.damaged(directory.number, "a directory record leaves its block");
  const bool better = search.has_room && (!probe.has_room || file_block < probe.leaf_block);
  if (!search.found && !better) return false;
  if (search.found) {
    take_found(buffer->data, search, probe);
  } else {
    probe.has_room = true;
    probe.offset = search.room_offset;
  }
  probe.leaf = std::move(buffer);
  probe.leaf_block = file_block;
  return search.found;
}

}  // namespace

Answer<void> probe_linear(Volume& volume, Inode& directory, std::string_view name, DirectoryProbe& probe) {
  const std::uint32_t blocks = directory_blocks(volume, directory);
  const std::uint32_t start = directory.lookup_start.value < blocks ? directory.lookup_start.value : 0;
  for (std::uint32_t i = 0; i < blocks; ++i) {
    const FileBlock file_block(start + i < blocks ? start + i : start + i - blocks);
    EXT3_ASSIGN(const bool found, probe_block(volume, directory, file_block, name, probe));
    if (!found) continue;
    directory.lookup_start = file_block;
    break;
  }
  return {};
}

Answer<void> probe_first_block(Volume& volume, Inode& directory, std::string_view name, DirectoryProbe& probe) {
  if (directory_blocks(volume, directory) == 0) return {};
  EXT3_TRY(probe_block(volume, directory, FileBlock(0), name, probe));
  return {};
}

}  // namespace iotape::ext3
