// Making room in an index: leaves and index blocks are halved, the root grows a level once.
//
// Blocks are allocated before bytes are changed, so a volume that is full stops this between two valid trees.
#include <algorithm>
#include <array>
#include <cstring>

#include "replayer/ext3/directory/directory_block.h"
#include "replayer/ext3/directory/directory_file.h"
#include "replayer/ext3/directory/htree.h"
#include "replayer/ext3/directory/htree_frame.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint32_t kLargestBlock = 4096;

// A leaf's names by hash; what splits them lies on the stack.
struct LeafMap {
  // hash << 32 | offset << 16 | record length: whole numbers sort fast, and equal hashes by where they lie.
  std::array<std::uint64_t, kLargestBlock / kSmallestRecord> keys;
  std::uint32_t count = 0;
  [[nodiscard]] std::uint32_t hash(std::uint32_t i) const { return static_cast<std::uint32_t>(keys[i] >> 32U); }
  [[nodiscard]] std::uint32_t offset(std::uint32_t i) const {
    return static_cast<std::uint32_t>(keys[i] >> 16U) & 0xFFFFU;
  }
  [[nodiscard]] std::uint32_t length(std::uint32_t i) const { return static_cast<std::uint32_t>(keys[i]) & 0xFFFFU; }
};

// False: damaged.
bool map_leaf(const std::byte* leaf, std::uint32_t block_size, const NameHasher& hasher, LeafMap& map) {
  const bool whole = for_each_record(leaf, block_size, [&](std::uint32_t offset, const RecordHead& head) {
    if (head.inode != 0) {
      const std::uint64_t hash = hasher(record_name(leaf, offset, head)).major;
      map.keys[map.count++] = hash << 32U | offset << 16U | head.record_length;
    }
    return true;
  });
  std::sort(map.keys.begin(), map.keys.begin() + map.count);
  return whole;
}

// How many of the names stay: the upper ones move while less than half of each would reach beyond half a block.
std::uint32_t split_position(const LeafMap& map, std::uint32_t block_size) {
  std::uint32_t moved_bytes = 0;
  for (std::uint32_t i = map.count; i-- > 0;) {
    if (moved_bytes + map.length(i) / 2 > block_size / 2) return i + 1;
    moved_bytes += map.length(i);
  }
  return map.count / 2;  // all of them are less than half a block: it is full of small gaps
}

// Packs records of `from` one behind the other into `to`; the last one takes what is left of the block.
class RecordPacker {
 public:
  RecordPacker(const std::byte* from, std::byte* to, std::uint32_t block_size)
      : from_(from), to_(to), block_size_(block_size) {}
  void add(std::uint32_t offset) {
    const std::uint32_t length = record_head(from_, offset).used();
    std::memcpy(to_ + end_, from_ + offset, length);
    set_length(end_, length);
    last_ = end_;
    end_ += length;
  }
  void finish() { set_length(last_, block_size_ - last_); }

 private:
  void set_length(std::uint32_t at, std::uint32_t length) {
    reinterpret_cast<DirectoryRecord*>(to_ + at)->record_length = static_cast<std::uint16_t>(length);
  }
  const std::byte* from_;
  std::byte* to_;
  std::uint32_t block_size_;
  std::uint32_t end_ = 0;
  std::uint32_t last_ = 0;
};

// The upper names go to `upper` in the order of their hashes, the others close ranks as they lie.
void distribute(std::byte* lower, std::byte* upper, std::uint32_t block_size, LeafMap& map, std::uint32_t split) {
  std::array<std::byte, kLargestBlock> before;
  std::memcpy(before.data(), lower, block_size);
  RecordPacker into_upper(before.data(), upper, block_size);
  for (std::uint32_t i = split; i < map.count; ++i) into_upper.add(map.offset(i));
  into_upper.finish();
  std::array<std::uint16_t, kLargestBlock / kSmallestRecord> staying;
  for (std::uint32_t i = 0; i < split; ++i) staying[i] = static_cast<std::uint16_t>(map.offset(i));
  std::sort(staying.begin(), staying.begin() + split);
  RecordPacker into_lower(before.data(), lower, block_size);
  for (std::uint32_t i = 0; i < split; ++i) into_lower.add(staying[i]);
  into_lower.finish();
}

// Behind the entry that was followed.
void insert_entry(HtreeFrame& frame, std::uint32_t hash, FileBlock block) {
  HtreeEntry* const entries = entries_of(frame);
  const std::uint32_t count = entry_count(frame);
  const std::uint32_t at = frame.position + 1;
  std::memmove(entries + at + 1, entries + at, (count - at) * sizeof(HtreeEntry));
  entries[at] = {hash, block.value};
  count_limit_of(frame)->count = static_cast<std::uint16_t>(count + 1);
}

void make_node(const HtreeFrame& frame, std::uint32_t block_size, const HtreeEntry* entries, std::uint32_t count) {
  clear_block(frame.buffer->data, block_size);
  std::memcpy(entries_of(frame), entries, count * sizeof(HtreeEntry));
  *count_limit_of(frame) = {static_cast<std::uint16_t>(limit_for(block_size, kHtreeNodeEntriesOffset)),
                            static_cast<std::uint16_t>(count)};
}

// The full root's entries move into a first node.
void deepen(HtreePath& path, const AppendedBlock& added, std::uint32_t block_size) {
  HtreeFrame& root = path.frames[0];
  path.frames[1] = {added.buffer, kHtreeNodeEntriesOffset, root.position};
  make_node(path.frames[1], block_size, entries_of(root), entry_count(root));
  count_limit_of(root)->count = 1;
  entries_of(root)[0].block = added.file_block.value;
  root.buffer->at<HtreeRootInfo>(kHtreeRootInfoOffset)->indirect_levels = 1;
  root.position = 0;
  path.count = 2;
}

// The upper half of the full node moves into a new one; the path goes where its entry went.
void halve_node(HtreePath& path, const AppendedBlock& added, std::uint32_t block_size) {
  HtreeFrame& node = path.frames[1];
  const std::uint32_t count = entry_count(node);
  const std::uint32_t half = count / 2;
  const std::uint32_t hash = entries_of(node)[half].hash;
  HtreeFrame upper{added.buffer, kHtreeNodeEntriesOffset, 0};
  make_node(upper, block_size, entries_of(node) + half, count - half);
  count_limit_of(node)->count = static_cast<std::uint16_t>(half);
  insert_entry(path.frames[0], hash, added.file_block);
  if (node.position < half) return;
  upper.position = node.position - half;
  node = std::move(upper);
  ++path.frames[0].position;
}

bool full(const HtreeFrame& frame) { return entry_count(frame) >= entry_limit(frame); }

// Room for one more entry in the deepest frame.
Answer<void> make_index_room(Volume& volume, Handle& handle, Inode& directory, HtreePath& path, bool privileged) {
  if (!full(path.frames[path.count - 1])) return {};
  if (path.count == kHtreeMaxLevels && full(path.frames[0])) return refuse(ENOSPC);
  EXT3_ASSIGN(const AppendedBlock added,
              append_directory_block(volume, handle, directory, BlockCause::kHtreeIndex, privileged));
  const BufferReference root = path.frames[0].buffer;
  const BufferReference node = path.frames[path.count - 1].buffer;
  EXT3_TRY(volume.journal->get_write_access(handle, *root));
  EXT3_TRY(volume.journal->get_write_access(handle, *node));
  if (path.count == 1) {
    deepen(path, added, volume.geometry.block_size);
  } else {
    halve_node(path, added, volume.geometry.block_size);
  }
  volume.journal->dirty_metadata(handle, *added.buffer);
  volume.journal->dirty_metadata(handle, *node);
  volume.journal->dirty_metadata(handle, *root);
  return {};
}

void take_room(const BufferReference& leaf, FileBlock leaf_block, std::uint32_t block_size, std::string_view name,
               DirectoryProbe& probe) {
  const BlockSearch search = search_block(leaf->data, block_size, name);
  probe.leaf = leaf;
  probe.leaf_block = leaf_block;
  probe.has_room = search.has_room;
  probe.offset = search.room_offset;
}

// REQUIRES: the deepest frame has room for an entry.
Answer<void> split_leaf(Volume& volume, Handle& handle, Inode& directory, DirectoryProbe& probe, std::string_view name,
                        const NameHasher& hasher, bool privileged) {
  const std::uint32_t block_size = volume.geometry.block_size;
  LeafMap map;
  if (!map_leaf(probe.leaf->data, block_size, hasher, map) || map.count < 2)
    return volume.damaged(directory.number, "a full directory leaf cannot be split");
  EXT3_ASSIGN(const AppendedBlock added,
              append_directory_block(volume, handle, directory, BlockCause::kDirectoryLeaf, privileged));
  HtreeFrame& frame = probe.path.frames[probe.path.count - 1];
  EXT3_TRY(volume.journal->get_write_access(handle, *probe.leaf));
  EXT3_TRY(volume.journal->get_write_access(handle, *frame.buffer));
  const std::uint32_t split = split_position(map, block_size);
  const std::uint32_t hash = map.hash(split);
  const bool continued = hash == map.hash(split - 1);
  distribute(probe.leaf->data, added.buffer->data, block_size, map, split);
  insert_entry(frame, hash | (continued ? 1U : 0U), added.file_block);
  volume.journal->dirty_metadata(handle, *added.buffer);
  volume.journal->dirty_metadata(handle, *probe.leaf);
  volume.journal->dirty_metadata(handle, *frame.buffer);
  if (probe.hash >= hash) {
    ++frame.position;
    take_room(added.buffer, added.file_block, block_size, name, probe);
  } else {
    take_room(BufferReference(probe.leaf), probe.leaf_block, block_size, name, probe);
  }
  return {};
}

// A directory of one block begins with "." of the shortest length and "..", and has names after them.
bool can_become_root(const std::byte* block, std::uint32_t block_size) {
  const RecordHead self = record_head(block, 0);
  const RecordHead parent = record_head(block, kSmallestRecord);
  return self.record_length == kSmallestRecord && record_name(block, 0, self) == "." &&
         valid_record(parent, kSmallestRecord, block_size) && record_name(block, kSmallestRecord, parent) == ".." &&
         kSmallestRecord + parent.record_length < block_size;
}

// Everything behind ".." moves to the leaf's start; the last record reaches to its end. False: damaged.
bool move_names(const std::byte* block, std::byte* leaf, std::uint32_t block_size) {
  const std::uint32_t start = kSmallestRecord + record_head(block, kSmallestRecord).record_length;
  std::uint32_t last = start;
  const bool whole = for_each_record(block, block_size, [&last](std::uint32_t offset, const RecordHead&) {
    last = std::max(last, offset);
    return true;
  });
  if (!whole) return false;
  std::memcpy(leaf, block + start, block_size - start);
  reinterpret_cast<DirectoryRecord*>(leaf + (last - start))->record_length =
      static_cast<std::uint16_t>(block_size - (last - start));
  return true;
}

void make_root(const BufferReference& root, std::uint32_t block_size, HashVersion version, FileBlock leaf) {
  root->at<DirectoryRecord>(kSmallestRecord)->record_length = static_cast<std::uint16_t>(block_size - kSmallestRecord);
  std::memset(root->data + kHtreeRootInfoOffset, 0, block_size - kHtreeRootInfoOffset);
  HtreeRootInfo& info = *root->at<HtreeRootInfo>(kHtreeRootInfoOffset);
  info.hash_version = version;
  info.info_length = sizeof(HtreeRootInfo);
  *root->at<HtreeCountLimit>(kHtreeRootEntriesOffset) = {
      static_cast<std::uint16_t>(limit_for(block_size, kHtreeRootEntriesOffset)), 1};
  root->at<HtreeEntry>(kHtreeRootEntriesOffset)->block = leaf.value;
  root->tag.cause = BlockCause::kHtreeIndex;
}

NameHasher hasher_of(const Volume& volume, const HtreePath& path) {
  NameHasher hasher = default_hasher(volume);
  hasher.version =
      static_cast<HashVersion>(path.frames[0].buffer->at<HtreeRootInfo>(kHtreeRootInfoOffset)->hash_version);
  return hasher;
}

}  // namespace

Answer<void> make_indexed_room(Volume& volume, Handle& handle, Inode& directory, DirectoryProbe& probe,
                               std::string_view name, bool privileged) {
  EXT3_TRY(make_index_room(volume, handle, directory, probe.path, privileged));
  const NameHasher hasher = hasher_of(volume, probe.path);
  EXT3_TRY(split_leaf(volume, handle, directory, probe, name, hasher, privileged));
  if (!probe.has_room) return volume.damaged(directory.number, "a directory leaf is full after its split");
  return {};
}

Answer<bool> make_index(Volume& volume, Handle& handle, Inode& directory, DirectoryProbe& probe, std::string_view name,
                        bool privileged) {
  const std::uint32_t block_size = volume.geometry.block_size;
  EXT3_ASSIGN(const BufferReference root,
              read_directory_block(volume, directory, FileBlock(0), BlockCause::kHtreeIndex));
  if (!root || !can_become_root(root->data, block_size)) return false;
  EXT3_ASSIGN(const AppendedBlock leaf,
              append_directory_block(volume, handle, directory, BlockCause::kDirectoryLeaf, privileged));
  EXT3_TRY(volume.journal->get_write_access(handle, *root));
  if (!move_names(root->data, leaf.buffer->data, block_size))
    return volume.damaged(directory.number, "a directory record leaves its block");
  const NameHasher hasher = default_hasher(volume);
  make_root(root, block_size, hasher.version, leaf.file_block);
  directory.flags |= kInodeIndex;
  volume.journal->dirty_metadata(handle, *leaf.buffer);
  volume.journal->dirty_metadata(handle, *root);
  probe.path.frames[0] = {root, kHtreeRootEntriesOffset, 0};
  probe.path.count = 1;
  probe.indexed = true;
  probe.hash = hasher(name).major;
  probe.leaf = leaf.buffer;
  probe.leaf_block = leaf.file_block;
  return true;
}

}  // namespace iotape::ext3
