#include "replayer/ext3/directory/directory.h"

#include "replayer/ext3/block_map.h"
#include "replayer/ext3/directory/directory_block.h"
#include "replayer/ext3/directory/directory_file.h"
#include "replayer/ext3/directory/htree.h"
#include "replayer/ext3/directory/linear.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

bool is_dot_or_dotdot(std::string_view name) { return name == "." || name == ".."; }

// An index that nobody keeps up is worse than none: a directory changed without it has none any more.
void drop_unused_index(const Volume& volume, Inode& directory) {
  if (!uses_index(volume, directory)) directory.flags &= ~std::uint32_t{kInodeIndex};
}

Answer<void> make_linear_room(Volume& volume, Handle& handle, Inode& directory, DirectoryProbe& probe,
                              bool privileged) {
  EXT3_ASSIGN(AppendedBlock appended,
              append_directory_block(volume, handle, directory, BlockCause::kDirectoryLeaf, privileged));
  clear_block(appended.buffer->data, volume.geometry.block_size);
  volume.journal->dirty_metadata(handle, *appended.buffer);
  probe.leaf = std::move(appended.buffer);
  probe.leaf_block = appended.file_block;
  probe.offset = 0;
  probe.has_room = true;
  return {};
}

Answer<void> make_room(Volume& volume, Handle& handle, Inode& directory, DirectoryProbe& probe, std::string_view name,
                       bool index_was_damaged, bool privileged) {
  const bool wants_index = volume.options.htree && volume.has_dir_index() && !index_was_damaged;
  if (!probe.indexed && wants_index && directory_blocks(volume, directory) == 1)
    EXT3_TRY(make_index(volume, handle, directory, probe, name, privileged));
  if (probe.indexed) return make_indexed_room(volume, handle, directory, probe, name, privileged);
  return make_linear_room(volume, handle, directory, probe, privileged);
}

Answer<void> insert_record(Volume& volume, Handle& handle, Inode& directory, DirectoryProbe& probe,
                           std::string_view name, InodeNumber inode, std::uint32_t mode, bool privileged) {
  if (directory_blocks(volume, directory) == 0) return volume.damaged(directory.number, "a directory has no block");
  const bool index_was_damaged = !probe.indexed && uses_index(volume, directory);
  if (!probe.indexed) directory.flags &= ~std::uint32_t{kInodeIndex};
  if (!probe.has_room) EXT3_TRY(make_room(volume, handle, directory, probe, name, index_was_damaged, privileged));
  EXT3_TRY(volume.journal->get_write_access(handle, *probe.leaf));
  place_record(probe.leaf->data, probe.offset, name, inode, stored_file_type(volume, mode));
  volume.journal->dirty_metadata(handle, *probe.leaf);
  return finish_directory_change(volume, handle, directory);
}

// The first block, checked to begin with "." and "..".
Answer<BufferReference> first_block(Volume& volume, Inode& directory) {
  if (directory_blocks(volume, directory) == 0) return volume.damaged(directory.number, "a directory has no block");
  const BlockCause cause = uses_index(volume, directory) ? BlockCause::kHtreeIndex : BlockCause::kDirectoryLeaf;
  EXT3_ASSIGN(BufferReference buffer, read_directory_block(volume, directory, FileBlock(0), cause));
  if (buffer) {
    const RecordHead self = record_head(buffer->data, 0);
    const RecordHead parent = record_head(buffer->data, kSmallestRecord);
    if (self.record_length == kSmallestRecord && record_name(buffer->data, 0, self) == "." && parent.inode != 0 &&
        valid_record(parent, kSmallestRecord, volume.geometry.block_size) &&
        record_name(buffer->data, kSmallestRecord, parent) == "..")
      return buffer;
  }
  return volume.damaged(directory.number, "a directory does not begin with \".\" and \"..\"");
}

// A name other than "." and "..", which are checked already.
Answer<bool> block_has_names(Volume& volume, Inode& directory, FileBlock file_block) {
  EXT3_ASSIGN(const BufferReference buffer, read_next_block(volume, directory, file_block));
  if (!buffer) return false;
  bool names = false;
  const bool whole =
      for_each_record(buffer->data, volume.geometry.block_size, [&](std::uint32_t offset, const RecordHead& head) {
        names = head.inode != 0 && (file_block.value != 0 || offset > kSmallestRecord);
        return !names;
      });
  if (!whole) return volume.damaged(directory.number, "a directory record leaves its block");
  return names;
}

}  // namespace

Answer<DirectoryProbe> probe_directory(Volume& volume, Inode& directory, std::string_view name) {
  Answer<DirectoryProbe> probe{tl::in_place};
  if (is_dot_or_dotdot(name)) {
    EXT3_TRY(probe_first_block(volume, directory, name, *probe));
    return probe;
  }
  if (uses_index(volume, directory)) {
    EXT3_ASSIGN(const IndexState state, probe_index(volume, directory, name, *probe));
    if (state == IndexState::kSound) return probe;
    ++volume.damage_count;
    *probe = DirectoryProbe();
  }
  EXT3_TRY(probe_linear(volume, directory, name, *probe));
  return probe;
}

std::uint32_t insert_credits(const Volume& volume) {
  // Root, node, its new half, leaf and its new half; the directory's record; two blocks more in the map.
  return 6 + 2 * map_credits(volume);
}

Answer<void> insert_name(Volume& volume, Handle& handle, Inode& directory, DirectoryProbe& probe, std::string_view name,
                         InodeNumber inode, std::uint32_t mode, bool privileged) {
  ++directory.change_count;  // also when it fails half-way: a leaf may have been split
  const std::uint64_t size_before = directory.size;
  Answer<void> answer = insert_record(volume, handle, directory, probe, name, inode, mode, privileged);
  // It grew before it failed: what grew is part of it.
  if (!answer && directory.size != size_before) (void)volume.inodes->write(handle, directory);
  return answer;
}

Answer<void> erase_name(Volume& volume, Handle& handle, Inode& directory, const DirectoryProbe& probe) {
  drop_unused_index(volume, directory);
  EXT3_TRY(volume.journal->get_write_access(handle, *probe.leaf));
  remove_record(probe.leaf->data, probe.offset, probe.previous_offset);
  volume.journal->dirty_metadata(handle, *probe.leaf);
  return finish_directory_change(volume, handle, directory);
}

Answer<void> rewrite_name(Volume& volume, Handle& handle, Inode& directory, const DirectoryProbe& probe,
                          InodeNumber inode, std::uint32_t mode) {
  drop_unused_index(volume, directory);
  EXT3_TRY(volume.journal->get_write_access(handle, *probe.leaf));
  auto* const record = probe.leaf->at<DirectoryRecord>(probe.offset);
  record->inode = inode.value;
  record->file_type = stored_file_type(volume, mode);
  volume.journal->dirty_metadata(handle, *probe.leaf);
  return finish_directory_change(volume, handle, directory);
}

Answer<void> initialise_directory(Volume& volume, Handle& handle, Inode& directory, InodeNumber parent,
                                  bool privileged) {
  const std::uint32_t block_size = volume.geometry.block_size;
  EXT3_ASSIGN(const AppendedBlock first,
              append_directory_block(volume, handle, directory, BlockCause::kDirectoryLeaf, privileged));
  const std::uint8_t type = stored_file_type(volume, S_IFDIR);
  write_record(first.buffer->data, 0, kSmallestRecord, ".", directory.number, type);
  write_record(first.buffer->data, kSmallestRecord, block_size - kSmallestRecord, "..", parent, type);
  volume.journal->dirty_metadata(handle, *first.buffer);
  return volume.inodes->write(handle, directory);
}

Answer<InodeNumber> directory_parent(Volume& volume, Inode& directory) {
  EXT3_ASSIGN(const BufferReference first, first_block(volume, directory));
  return InodeNumber(record_head(first->data, kSmallestRecord).inode);
}

Answer<void> set_directory_parent(Volume& volume, Handle& handle, Inode& directory, InodeNumber parent) {
  EXT3_ASSIGN(const BufferReference first, first_block(volume, directory));
  EXT3_TRY(volume.journal->get_write_access(handle, *first));
  first->at<DirectoryRecord>(kSmallestRecord)->inode = parent.value;
  volume.journal->dirty_metadata(handle, *first);
  return {};
}

Answer<bool> directory_is_empty(Volume& volume, Inode& directory) {
  EXT3_TRY(first_block(volume, directory));
  const std::uint32_t blocks = directory_blocks(volume, directory);
  for (std::uint32_t i = 0; i < blocks; ++i) {
    EXT3_ASSIGN(const bool names, block_has_names(volume, directory, FileBlock(i)));
    if (names) return false;
  }
  return true;
}

}  // namespace iotape::ext3
