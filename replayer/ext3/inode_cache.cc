#include "replayer/ext3/inode_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "replayer/ext3/delete_file.h"
#include "replayer/ext3/inode_codec.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

constexpr std::size_t kTableSize = std::size_t{1} << 16U;

std::size_t slot(InodeNumber number) { return static_cast<std::uint32_t>(number.value * 2654435769U) >> 16U; }
static_assert(kTableSize == std::size_t{1} << (32U - 16U));

}  // namespace

void InodeReference::release() {
  Inode* const inode = std::exchange(inode_, nullptr);
  if (inode->users > 1 || inode->cache == nullptr)
    --inode->users;
  else
    inode->cache->put(*inode);
}

InodeCache::InodeCache(Volume& volume, std::size_t idle_limit)
    : volume_(volume), idle_limit_(idle_limit), table_(kTableSize, nullptr) {}

InodeCache::~InodeCache() {
  for (Inode* inode : table_)
    while (inode != nullptr) {
      const std::unique_ptr<Inode> last(inode);
      inode = inode->hash_next;
    }
}

Inode* InodeCache::find(InodeNumber number) const {
  Inode* inode = table_[slot(number)];
  while (inode != nullptr && inode->number != number) inode = inode->hash_next;
  return inode;
}

std::uint32_t InodeCache::generation_of(InodeNumber number) const {
  const Inode* const inode = find(number);
  return inode != nullptr ? inode->generation : 0;
}

Inode& InodeCache::add(std::unique_ptr<Inode> inode) {
  inode->cache = this;
  Inode*& head = table_[slot(inode->number)];
  inode->hash_next = head;
  head = inode.release();
  ++in_use_;
  return *head;
}

void InodeCache::discard(Inode& inode) {
  if (volume_.last_miss.directory == &inode) volume_.last_miss = {};
  Inode** at = &table_[slot(inode.number)];
  while (*at != &inode) at = &(*at)->hash_next;
  *at = inode.hash_next;
  const std::unique_ptr<Inode> last(&inode);
}

// ---- the idle ones, least recently used first ----

void InodeCache::make_idle(Inode& inode) {
  inode.idle_previous = idle_last_;
  inode.idle_next = nullptr;
  (idle_last_ != nullptr ? idle_last_->idle_next : idle_first_) = &inode;
  idle_last_ = &inode;
  ++idle_count_;
  --in_use_;
  while (idle_count_ > idle_limit_) drop_oldest_idle();
}

void InodeCache::make_used(Inode& inode) {
  (inode.idle_previous != nullptr ? inode.idle_previous->idle_next : idle_first_) = inode.idle_next;
  (inode.idle_next != nullptr ? inode.idle_next->idle_previous : idle_last_) = inode.idle_previous;
  inode.idle_previous = inode.idle_next = nullptr;
  --idle_count_;
  ++in_use_;
}

void InodeCache::drop_oldest_idle() {
  Inode& oldest = *idle_first_;
  make_used(oldest);
  --in_use_;
  discard(oldest);
}

void InodeCache::drop_idle() {
  while (idle_first_ != nullptr) drop_oldest_idle();
}

// ---- getting and putting ----

Answer<BufferReference> InodeCache::table_block(InodeNumber number, std::uint32_t& offset) {
  const Geometry& geometry = volume_.geometry;
  const GroupNumber group = geometry.group_of(number);
  const std::uint32_t index = geometry.bit_of(number);
  offset = index % geometry.inodes_per_block() * geometry.inode_size;
  BlockTag tag;
  tag.cause = BlockCause::kInodeTable;
  return volume_.cache->read(BlockNumber(volume_.groups[group].inode_table + index / geometry.inodes_per_block()), tag);
}

Answer<InodeReference> InodeCache::use(Inode& inode) {
  if (inode.users == 0) make_used(inode);
  InodeReference reference(&inode);
  while (inode.being_deleted) {  // its number is about to be free: whoever asked for it came too late
    volume_.host.wait(&inode);
    if (inode.gone) return refuse(ESTALE);
  }
  return reference;
}

Answer<InodeReference> InodeCache::get(InodeNumber number, bool even_deleted) {
  if (number == kNoInode || number.value > volume_.geometry.inode_count)
    return volume_.damaged(number, "an inode number beyond the last");
  if (Inode* const cached = find(number)) return use(*cached);
  std::uint32_t offset = 0;
  EXT3_ASSIGN(const BufferReference buffer, table_block(number, offset));
  if (Inode* const cached = find(number)) return use(*cached);  // somebody else was quicker
  auto inode = std::make_unique<Inode>();
  inode->number = number;
  decode_inode(volume_.geometry.inode_size, buffer->data + offset, *inode);
  if (inode->mode == 0 || (inode->links == 0 && !even_deleted)) return refuse(ESTALE);
  if (!plausible_inode(volume_.geometry, *inode)) return volume_.damaged(number, "an inode that cannot be");
  return InodeReference(&add(std::move(inode)));
}

Answer<InodeReference> InodeCache::create(InodeNumber number) {
  // An idle inode of the same number is one whose file was deleted by other means; it has nothing to say.
  if (Inode* const stale = find(number); stale != nullptr) {
    if (stale->users != 0) return volume_.damaged(number, "an inode in use is marked free");
    make_used(*stale);
    --in_use_;
    discard(*stale);
  }
  auto inode = std::make_unique<Inode>();
  inode->number = number;
  inode->fresh = true;
  return InodeReference(&add(std::move(inode)));
}

Answer<void> InodeCache::write(Handle& handle, Inode& inode) {
  std::uint32_t offset = 0;
  EXT3_ASSIGN(const BufferReference buffer, table_block(inode.number, offset));
  EXT3_TRY(volume_.journal->get_write_access(handle, *buffer));
  std::byte* const record = buffer->data + offset;
  if (std::exchange(inode.fresh, false)) initialise_inode_record(volume_.geometry.inode_size, record);
  inode.last_change = volume_.journal->current();
  if (encode_inode(volume_.geometry.inode_size, inode, record)) inode.last_data_change = inode.last_change;
  volume_.journal->dirty_metadata(handle, *buffer);
  return {};
}

Answer<void> InodeCache::write_back(Inode& inode) {
  std::uint32_t offset = 0;
  EXT3_ASSIGN(const BufferReference buffer, table_block(inode.number, offset));
  Buffer* const one[] = {buffer.get()};
  return volume_.cache->write(one, IoReason::kDemand);
}

void InodeCache::keep_former_parent(Inode& removed, Inode& parent) {
  if (removed.former_parent != nullptr) return;
  removed.former_parent = &parent;
  ++parent.users;
}

// A removed directory keeps the one it was in, which may have been removed as well, and so on.
void InodeCache::put(Inode& inode) {
  for (Inode* last = &inode; last != nullptr;) last = put_one(*last);
}

// The last reference goes. A file that cannot be deleted stays an orphan on the disk, for the next mount or e2fsck.
// Returns what has lost its last reference by that.
Inode* InodeCache::put_one(Inode& inode) {
  if (inode.links == 0 && !inode.gone && !volume_.read_only && volume_.journal->aborted() == 0) {
    inode.being_deleted = true;
    (void)delete_file(volume_, inode);
    inode.being_deleted = false;
    inode.gone = true;
    volume_.host.wake(&inode);
  }
  if (--inode.users != 0) return nullptr;  // somebody waits to learn that it is gone, and puts it last
  volume_.blocks->drop_window(inode);
  if (inode.gone || inode.links == 0) {
    if (inode.orphan) volume_.orphans.abandon(inode);
    --in_use_;
    Inode* const parent = inode.former_parent;
    discard(inode);
    if (parent == nullptr || parent->users == 1) return parent;
    --parent->users;
  } else {
    make_idle(inode);
  }
  return nullptr;
}

}  // namespace iotape::ext3
