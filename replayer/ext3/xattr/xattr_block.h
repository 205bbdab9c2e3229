// Blocks of extended attributes, which inodes with equal attributes share.
//
// A block is changed in place only while one inode names it; equal blocks are found by their hash among those used
// lately, so that ten thousand files with one access control list take one block per 1,024 of them.
#pragma once

#include <array>
#include <cstdint>

#include "replayer/ext3/cache/buffer_cache.h"
#include "replayer/ext3/inode.h"
#include "replayer/ext3/journal/journal.h"
#include "replayer/ext3/xattr/xattr_entries.h"

namespace iotape::ext3 {

struct Volume;

// Where a block of a hash was seen last. May forget and never invents: what it names is compared before it is shared,
// and a block leaves it before it is freed or changed.
class XattrBlockIndex {
 public:
  void add(std::uint32_t hash, BlockNumber block) { slot(hash) = {hash, block}; }
  void remove(std::uint32_t hash, BlockNumber block) {
    if (slot(hash).block == block) slot(hash) = {};
  }
  [[nodiscard]] BlockNumber find(std::uint32_t hash) const {
    const Entry& entry = entries_[hash % kSize];
    return entry.hash == hash ? entry.block : kNoBlock;
  }

 private:
  struct Entry {
    std::uint32_t hash = 0;
    BlockNumber block;
  };
  static constexpr std::size_t kSize = 1021;
  Entry& slot(std::uint32_t hash) { return entries_[hash % kSize]; }
  std::array<Entry, kSize> entries_{};
};

// What the inode's block holds; nothing when it has none. EUCLEAN. May wait.
Answer<XattrList> read_xattr_block(Volume& volume, Inode& inode);

// Of either call below beside the inode's record, which the caller writes: two blocks changed, one allocated and one
// freed, the superblock.
std::uint32_t xattr_block_credits();
// Lets the inode's block hold this list: in place, in a new block, in an equal one of another inode, or in none when
// the list is empty. Changes attribute_block and sectors, not the record. ENOSPC (also when a block cannot hold the
// list) leaves everything as it was. May wait. REQUIRES: the inode's lock.
Answer<void> write_xattr_block(Volume& volume, Handle& handle, Inode& inode, const XattrList& list, bool privileged);
// The inode does without; the last one frees the block. May wait.
Answer<void> release_xattr_block(Volume& volume, Handle& handle, Inode& inode);

}  // namespace iotape::ext3
