#include "replayer/ext3/xattr/xattr_inode.h"

#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

struct RecordPlace {
  BufferReference buffer;
  std::span<std::byte> area;  // from the magic word on; empty: no room
  [[nodiscard]] bool usable() const { return area.size() >= sizeof(le32) + sizeof(XattrEntry); }
  [[nodiscard]] le32& magic() const { return *reinterpret_cast<le32*>(area.data()); }
  [[nodiscard]] std::span<std::byte> entries() const { return area.subspan(sizeof(le32)); }
};

Answer<RecordPlace> find_place(Volume& volume, const Inode& inode) {
  const Geometry& geometry = volume.geometry;
  RecordPlace place;
  if (geometry.inode_size <= sizeof(InodeRecord)) return place;
  const std::uint32_t index = geometry.bit_of(inode.number);
  const BlockNumber table(volume.groups[geometry.group_of(inode.number)].inode_table);
  BlockTag tag;
  tag.cause = BlockCause::kInodeTable;
  EXT3_ASSIGN(place.buffer, volume.cache->read(BlockNumber(table.value + index / geometry.inodes_per_block()), tag));
  std::byte* const record = place.buffer->data + std::size_t{index % geometry.inodes_per_block()} * geometry.inode_size;
  const std::uint32_t extra = *reinterpret_cast<const le16*>(record + sizeof(InodeRecord));
  const std::uint32_t start = sizeof(InodeRecord) + extra;
  // An inode whose extra fields are not declared was made by somebody who knows of none.
  if (extra == 0 || extra % 4 != 0 || start >= geometry.inode_size) return place;
  place.area = {record + start, geometry.inode_size - start};
  return place;
}

}  // namespace

Answer<XattrList> read_inode_xattrs(Volume& volume, Inode& inode) {
  EXT3_ASSIGN(const RecordPlace place, find_place(volume, inode));
  if (!place.usable() || place.magic() != kXattrMagic) return XattrList();
  auto list = decode_xattrs(place.entries(), 0);
  if (!list) return volume.damaged(inode.number, "attributes leave their inode");
  return list;
}

Answer<void> write_inode_xattrs(Volume& volume, Handle& handle, Inode& inode, const XattrList& list) {
  EXT3_ASSIGN(const RecordPlace place, find_place(volume, inode));
  if (!place.usable()) return list.empty() ? Answer<void>() : refuse(ENOSPC);
  EXT3_TRY(volume.journal->get_write_access(handle, *place.buffer));
  if (!encode_xattrs(list, {place.entries(), 0}, false)) {
    volume.journal->release_access(handle, *place.buffer);
    return refuse(ENOSPC);
  }
  place.magic() = list.empty() ? 0 : kXattrMagic;
  volume.journal->dirty_metadata(handle, *place.buffer);
  return {};
}

}  // namespace iotape::ext3
