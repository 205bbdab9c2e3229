#include "replayer/ext3/directory/htree.h"

#include "replayer/ext3/directory/directory_block.h"
#include "replayer/ext3/directory/directory_file.h"
#include "replayer/ext3/directory/htree_frame.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

// The block of one free record that an inner node pretends to be. A leaf taken for a node would fail here.
bool looks_like_node(const std::byte* block, std::uint32_t block_size) {
  const RecordHead head = record_head(block, 0);
  return head.inode == 0 && head.record_length == block_size;
}

bool valid_root_info(const HtreeRootInfo& info) {
  return info.hash_version <= kHashTea && info.info_length == sizeof(HtreeRootInfo) && (info.flags & 1U) == 0 &&
         info.indirect_levels < kHtreeMaxLevels;
}

bool valid_entries(const HtreeFrame& frame, std::uint32_t block_size) {
  const std::uint32_t count = entry_count(frame);
  return entry_limit(frame) == limit_for(block_size, frame.entries_offset) && count != 0 && count <= entry_limit(frame);
}

// The last entry whose hash is not above; entry 0 has none and stands for everything below.
std::uint32_t position_of(const HtreeFrame& frame, std::uint32_t hash) {
  const HtreeEntry* const entries = entries_of(frame);
  std::uint32_t first = 0;
  for (std::uint32_t count = entry_count(frame); count > 1;) {
    const std::uint32_t half = count / 2;
    first = entries[first + half].hash <= hash ? first + half : first;
    count -= half;
  }
  return first;
}

std::uint32_t levels_of(const HtreePath& path) {
  return path.frames[0].buffer->at<HtreeRootInfo>(kHtreeRootInfoOffset)->indirect_levels;
}

// Follows the deepest frame's entry to the node it names, which becomes the next frame.
Answer<IndexState> enter_node(Volume& volume, Inode& directory, HtreePath& path) {
  const FileBlock file_block = leaf_of(path);
  if (file_block.value == 0 || file_block.value >= directory_blocks(volume, directory)) return IndexState::kDamaged;
  EXT3_ASSIGN(BufferReference buffer, read_directory_block(volume, directory, file_block, BlockCause::kHtreeIndex));
  const std::uint32_t block_size = volume.geometry.block_size;
  if (!buffer || !looks_like_node(buffer->data, block_size)) return IndexState::kDamaged;
  HtreeFrame& frame = path.frames[path.count];
  frame = {std::move(buffer), kHtreeNodeEntriesOffset, 0};
  if (!valid_entries(frame, block_size)) return IndexState::kDamaged;
  ++path.count;
  return IndexState::kSound;
}

// The leaf that the path leads to; an empty reference when the index names what cannot be one.
Answer<BufferReference> read_leaf(Volume& volume, Inode& directory, const HtreePath& path) {
  const FileBlock file_block = leaf_of(path);
  if (file_block.value == 0 || file_block.value >= directory_blocks(volume, directory)) return BufferReference();
  return read_directory_block(volume, directory, file_block, BlockCause::kDirectoryLeaf);
}

// Reads the leaf of a path and looks for the name in it.
Answer<IndexState> search_leaf(Volume& volume, Inode& directory, const HtreePath& path, std::string_view name,
                               BufferReference& leaf, BlockSearch& search) {
  EXT3_ASSIGN(leaf, read_leaf(volume, directory, path));
  if (!leaf) return IndexState::kDamaged;
  search = search_block(leaf->data, volume.geometry.block_size, name);
  if (search.damaged) return volume.damaged(directory.number, "a directory record leaves its block");
  return IndexState::kSound;
}

void take_found(BufferReference leaf, FileBlock leaf_block, const BlockSearch& search, DirectoryProbe& probe) {
  const RecordHead head = record_head(leaf->data, search.offset);
  probe.inode = InodeNumber(head.inode);
  probe.file_type = head.file_type;
  probe.leaf = std::move(leaf);
  probe.leaf_block = leaf_block;
  probe.offset = search.offset;
  probe.previous_offset = search.previous_offset;
  probe.has_room = false;
}

// Names of one hash may lie in several leaves: each next one says so in bit 0.
Answer<IndexState> search_continuations(Volume& volume, Inode& directory, std::string_view name,
                                        DirectoryProbe& probe) {
  HtreePath path = probe.path;
  BufferReference leaf;
  BlockSearch search;
  for (;;) {
    const std::optional<std::uint32_t> next = next_leaf_hash(path);
    if (!next || (*next & ~1U) != probe.hash) return IndexState::kSound;
    EXT3_ASSIGN(IndexState state, advance_leaf(volume, directory, path));
    if (state == IndexState::kDamaged) return state;
    EXT3_ASSIGN(state, search_leaf(volume, directory, path, name, leaf, search));
    if (state == IndexState::kDamaged) return state;
    if (!search.found) continue;
    take_found(std::move(leaf), leaf_of(path), search, probe);
    return state;
  }
}

}  // namespace

NameHasher default_hasher(const Volume& volume) {
  const Superblock& superblock = volume.superblock();
  const std::uint8_t version = superblock.default_hash_version;
  NameHasher hasher;
  hasher.version = version <= kHashTea ? static_cast<HashVersion>(version) : kHashHalfMd4;
  hasher.unsigned_characters = (superblock.flags & kFlagUnsignedHash) != 0;
  for (std::size_t i = 0; i < hasher.seed.size(); ++i) hasher.seed[i] = superblock.hash_seed[i];
  return hasher;
}

Answer<IndexState> open_index(Volume& volume, Inode& directory, HtreePath& path, NameHasher& hasher) {
  path.count = 0;
  if (directory_blocks(volume, directory) == 0) return IndexState::kDamaged;
  EXT3_ASSIGN(BufferReference root, read_directory_block(volume, directory, FileBlock(0), BlockCause::kHtreeIndex));
  if (!root) return IndexState::kDamaged;
  const HtreeRootInfo& info = *root->at<HtreeRootInfo>(kHtreeRootInfoOffset);
  if (!valid_root_info(info)) return IndexState::kDamaged;
  hasher.version = static_cast<HashVersion>(info.hash_version);
  path.frames[0] = {std::move(root), kHtreeRootEntriesOffset, 0};
  if (!valid_entries(path.frames[0], volume.geometry.block_size)) return IndexState::kDamaged;
  path.count = 1;
  return IndexState::kSound;
}

Answer<IndexState> descend_index(Volume& volume, Inode& directory, std::uint32_t hash, HtreePath& path) {
  path.count = 1;
  path.frames[0].position = position_of(path.frames[0], hash);
  if (levels_of(path) == 0) return IndexState::kSound;
  EXT3_ASSIGN(const IndexState state, enter_node(volume, directory, path));
  if (state == IndexState::kSound) path.frames[1].position = position_of(path.frames[1], hash);
  return state;
}

FileBlock leaf_of(const HtreePath& path) {
  const HtreeFrame& frame = path.frames[path.count - 1];
  return FileBlock(entries_of(frame)[frame.position].block & kHtreeBlockMask);
}

std::optional<std::uint32_t> next_leaf_hash(const HtreePath& path) {
  for (std::uint32_t depth = path.count; depth-- > 0;) {
    const HtreeFrame& frame = path.frames[depth];
    if (frame.position + 1 < entry_count(frame)) return entries_of(frame)[frame.position + 1].hash;
  }
  return std::nullopt;
}

Answer<IndexState> advance_leaf(Volume& volume, Inode& directory, HtreePath& path) {
  HtreeFrame& deepest = path.frames[path.count - 1];
  if (++deepest.position < entry_count(deepest)) return IndexState::kSound;
  ++path.frames[0].position;
  path.count = 1;
  return enter_node(volume, directory, path);
}

Answer<IndexState> probe_index(Volume& volume, Inode& directory, std::string_view name, DirectoryProbe& probe) {
  NameHasher hasher = default_hasher(volume);
  EXT3_ASSIGN(IndexState state, open_index(volume, directory, probe.path, hasher));
  if (state == IndexState::kDamaged) return state;
  probe.hash = hasher(name).major;
  EXT3_ASSIGN(state, descend_index(volume, directory, probe.hash, probe.path));
  if (state == IndexState::kDamaged) return state;
  probe.leaf_block = leaf_of(probe.path);
  BlockSearch search;
  EXT3_ASSIGN(state, search_leaf(volume, directory, probe.path, name, probe.leaf, search));
  if (state == IndexState::kDamaged) return state;
  probe.indexed = true;
  probe.has_room = search.has_room;
  probe.offset = search.room_offset;
  if (search.found) {
    take_found(std::move(probe.leaf), probe.leaf_block, search, probe);
    return state;
  }
  return search_continuations(volume, directory, name, probe);
}

}  // namespace iotape::ext3
