#include "replayer/ext3/xattr/xattr_block.h"

#include <cstring>

#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint32_t kFirstEntry = sizeof(XattrBlockHeader);

XattrBlockHeader& header_of(Buffer& buffer) { return *buffer.at<XattrBlockHeader>(0); }
std::span<std::byte> bytes_of(const Volume& volume, Buffer& buffer) {
  return {buffer.data, volume.geometry.block_size};
}

BlockTag tag_of(const Volume& volume, const Inode& inode) {
  return {BlockCause::kXattr, inode.number, FileBlock(0), volume.host.thread()};
}

// A block that holds attributes, by its header.
Answer<BufferReference> read_block(Volume& volume, const Inode& inode, BlockNumber block) {
  if (!volume.geometry.plausible(block)) return volume.damaged(inode.number, "attributes lie outside the volume");
  EXT3_ASSIGN(BufferReference buffer, volume.cache->read(block, tag_of(volume, inode)));
  const XattrBlockHeader& header = header_of(*buffer);
  if (header.magic != kXattrMagic || header.blocks != 1 || header.reference_count == 0)
    return volume.damaged(inode.number, "a block of attributes is none");
  return buffer;
}

// As the block will be, with one reference. False: the list has no room.
bool compose(const XattrList& list, std::span<std::byte> block) {
  if (!encode_xattrs(list, {block, kFirstEntry}, true)) return false;
  XattrBlockHeader header{};
  header.magic = kXattrMagic;
  header.reference_count = 1;
  header.blocks = 1;
  std::memcpy(block.data(), &header, sizeof header);
  header.hash = xattr_block_hash(block);
  std::memcpy(block.data(), &header, sizeof header);
  return true;
}

bool equal_entries(const Volume& volume, Buffer& buffer, std::span<const std::byte> wanted) {
  return std::memcmp(buffer.data + kFirstEntry, wanted.data() + kFirstEntry,
                     volume.geometry.block_size - kFirstEntry) == 0;
}

// One reference more to an equal block, if one is known. Empty: there is none.
Answer<BufferReference> share(Volume& volume, Handle& handle, const Inode& inode, std::span<const std::byte> wanted) {
  const std::uint32_t hash = reinterpret_cast<const XattrBlockHeader*>(wanted.data())->hash;
  const BlockNumber block = hash == 0 ? kNoBlock : volume.xattr_blocks.find(hash);
  if (block == kNoBlock) return BufferReference();
  EXT3_ASSIGN(BufferReference buffer, read_block(volume, inode, block));
  EXT3_TRY(volume.journal->get_write_access(handle, *buffer));
  // It may have been freed or changed while this waited; then it is not in the index any more.
  XattrBlockHeader& header = header_of(*buffer);
  if (volume.xattr_blocks.find(hash) != block || header.reference_count >= kXattrReferenceLimit ||
      !equal_entries(volume, *buffer, wanted)) {
    volume.journal->release_access(handle, *buffer);
    return BufferReference();
  }
  header.reference_count = header.reference_count + 1;
  volume.journal->dirty_metadata(handle, *buffer);
  return buffer;
}

// True: the block was this inode's alone and now holds what is wanted.
Answer<bool> rewrite_own(Volume& volume, Handle& handle, Inode& inode, std::span<const std::byte> wanted) {
  if (inode.attribute_block == kNoBlock) return false;
  EXT3_ASSIGN(const BufferReference buffer, read_block(volume, inode, inode.attribute_block));
  EXT3_TRY(volume.journal->get_write_access(handle, *buffer));
  XattrBlockHeader& header = header_of(*buffer);
  if (header.reference_count != 1) {
    volume.journal->release_access(handle, *buffer);
    return false;
  }
  volume.xattr_blocks.remove(header.hash, buffer->block);
  std::memcpy(buffer->data, wanted.data(), wanted.size());
  if (header.hash != 0) volume.xattr_blocks.add(header.hash, buffer->block);
  volume.journal->dirty_metadata(handle, *buffer);
  return true;
}

Answer<void> note_feature(Volume& volume, Handle& handle) {
  if ((volume.superblock().compatible_features & kFeatureExtAttr) != 0) return {};
  EXT3_TRY(volume.journal->get_write_access(handle, *volume.superblock_buffer));
  volume.superblock().compatible_features = volume.superblock().compatible_features | kFeatureExtAttr;
  volume.journal->dirty_metadata(handle, *volume.superblock_buffer);
  return {};
}

// Near the inode's own group, as ext3 does.
Answer<BlockNumber> make_block(Volume& volume, Handle& handle, Inode& inode, std::span<const std::byte> wanted,
                               bool privileged) {
  const BlockNumber goal = volume.geometry.group_first(volume.geometry.group_of(inode.number));
  EXT3_ASSIGN(const BlockNumber block, volume.blocks->allocate(handle, inode, goal, privileged));
  EXT3_ASSIGN(const BufferReference buffer, volume.cache->get(block, tag_of(volume, inode)));
  EXT3_TRY(volume.journal->get_create_access(handle, *buffer));
  std::memcpy(buffer->data, wanted.data(), wanted.size());
  buffer->up_to_date = true;
  buffer->tag = tag_of(volume, inode);
  if (header_of(*buffer).hash != 0) volume.xattr_blocks.add(header_of(*buffer).hash, block);
  volume.journal->dirty_metadata(handle, *buffer);
  EXT3_TRY(note_feature(volume, handle));
  return block;
}

void name_block(const Volume& volume, Inode& inode, BlockNumber block) {
  const std::uint64_t sectors = volume.geometry.block_size / 512;
  if (inode.attribute_block == kNoBlock && block != kNoBlock) inode.sectors += sectors;
  if (inode.attribute_block != kNoBlock && block == kNoBlock) inode.sectors -= std::min(inode.sectors, sectors);
  inode.attribute_block = block;
}

// One reference less.
Answer<void> drop_reference(Volume& volume, Handle& handle, const Inode& inode, BlockNumber block) {
  EXT3_ASSIGN(BufferReference buffer, read_block(volume, inode, block));
  EXT3_TRY(volume.journal->get_write_access(handle, *buffer));
  XattrBlockHeader& header = header_of(*buffer);
  if (header.reference_count > 1) {
    header.reference_count = header.reference_count - 1;
    volume.journal->dirty_metadata(handle, *buffer);
    return {};
  }
  volume.xattr_blocks.remove(header.hash, block);
  volume.journal->release_access(handle, *buffer);
  buffer = {};
  EXT3_TRY(volume.journal->forget(handle, block, true));
  return volume.blocks->release(handle, block, 1);
}

}  // namespace

Answer<XattrList> read_xattr_block(Volume& volume, Inode& inode) {
  if (inode.attribute_block == kNoBlock) return XattrList();
  EXT3_ASSIGN(const BufferReference buffer, read_block(volume, inode, inode.attribute_block));
  auto list = decode_xattrs(bytes_of(volume, *buffer), kFirstEntry);
  if (!list) return volume.damaged(inode.number, "attributes leave their block");
  if (header_of(*buffer).hash != 0) volume.xattr_blocks.add(header_of(*buffer).hash, buffer->block);
  return list;
}

std::uint32_t xattr_block_credits() { return 3 + 2 * BlockAllocator::kCredits; }

Answer<void> write_xattr_block(Volume& volume, Handle& handle, Inode& inode, const XattrList& list, bool privileged) {
  if (list.empty()) return release_xattr_block(volume, handle, inode);
  std::vector<std::byte> wanted(volume.geometry.block_size);
  if (!compose(list, wanted)) return refuse(ENOSPC);
  EXT3_ASSIGN(const BufferReference shared, share(volume, handle, inode, wanted));
  BlockNumber block = shared ? shared->block : kNoBlock;
  if (!shared) {
    EXT3_ASSIGN(const bool rewritten, rewrite_own(volume, handle, inode, wanted));
    if (rewritten) return {};
    EXT3_ASSIGN(block, make_block(volume, handle, inode, wanted, privileged));
  }
  const BlockNumber old = inode.attribute_block;
  name_block(volume, inode, block);
  return old == kNoBlock ? Answer<void>() : drop_reference(volume, handle, inode, old);
}

Answer<void> release_xattr_block(Volume& volume, Handle& handle, Inode& inode) {
  const BlockNumber old = inode.attribute_block;
  if (old == kNoBlock) return {};
  name_block(volume, inode, kNoBlock);
  return drop_reference(volume, handle, inode, old);
}

}  // namespace iotape::ext3
