// InodeCache: the inodes in memory: those in use, and up to a limit of those used lately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "replayer/ext3/inode.h"

namespace iotape::ext3 {

struct Volume;

class InodeCache {
 public:
  InodeCache(Volume& volume, std::size_t idle_limit);
  InodeCache(const InodeCache&) = delete;
  InodeCache& operator=(const InodeCache&) = delete;
  ~InodeCache();

  // The inode, read from its table when it is not in memory. May wait. EUCLEAN for a number or a record that cannot be;
  // ESTALE when the record is free (no links and never opened). The one being deleted is waited for, then ESTALE.
  // even_deleted: an orphan's record has no links.
  Answer<InodeReference> get(InodeNumber number, bool even_deleted = false);
  // A new inode just taken from the bitmap: nothing is read but the table's block.
  Answer<InodeReference> create(InodeNumber number);
  static constexpr std::uint32_t kCredits = 1;
  // Writes the record into the table's block under the handle: kCredits. May wait.
  Answer<void> write(Handle& handle, Inode& inode);

  // Writes the table's block that holds the record, if it is dirty (fsync without a journal). May wait.
  Answer<void> write_back(Inode& inode);

  // A removed directory's ".." leads to where it was, for whoever still works in it: it keeps that in use.
  static void keep_former_parent(Inode& removed, Inode& parent);

  // 0 when the inode is not in memory.
  [[nodiscard]] std::uint32_t generation_of(InodeNumber number) const;
  [[nodiscard]] std::size_t in_use() const { return in_use_; }
  void drop_idle();

 private:
  friend class InodeReference;
  void put(Inode& inode);
  Inode* put_one(Inode& inode);
  Answer<InodeReference> use(Inode& inode);
  [[nodiscard]] Inode* find(InodeNumber number) const;
  Inode& add(std::unique_ptr<Inode> inode);
  void discard(Inode& inode);
  void make_idle(Inode& inode);
  void make_used(Inode& inode);
  void drop_oldest_idle();
  Answer<BufferReference> table_block(InodeNumber number, std::uint32_t& offset);

  Volume& volume_;
  std::size_t idle_limit_;
  std::size_t idle_count_ = 0;
  std::size_t in_use_ = 0;
  std::vector<Inode*> table_;
  Inode* idle_first_ = nullptr;
  Inode* idle_last_ = nullptr;
};

}  // namespace iotape::ext3
