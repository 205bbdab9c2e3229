// BufferCache: the blocks of one device in memory, up to a stated number. What goes first is what was used least: a
// clock whose hand takes what was used less than twice since it came by, so that data read once does not drive out the
// directories and inode tables that are used over and over (as Linux's two lists of pages see to). Dirty blocks are
// written back, oldest first and neighbours together, when too many are dirty.
//
// All calls are made inside the monitor. Those that may wait are marked; across them another thread may change whatever
// the caller does not hold a lock on. Buffers that a transaction holds cannot go: the cache may then grow beyond its
// limit by at most what the journal's transactions hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "replayer/ext3/cache/buffer.h"
#include "replayer/ext3/device/block_device.h"
#include "replayer/ext3/host.h"
#include "replayer/ext3/huge_memory.h"

namespace iotape::ext3 {

// When writing back begins, and where those who dirty must wait for it; blocks, those on their way to the disk
// included.
struct DirtyLimits {
  std::size_t background = 0;
  std::size_t most = 0;
};

struct BufferCacheFigures {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t blocks_read = 0;
  std::uint64_t blocks_written = 0;
  std::uint64_t evictions = 0;
};

class BufferCache {
 public:
  // capacity: blocks. REQUIRES: device and host outlive the cache.
  BufferCache(BlockDevice& device, Host& host, std::uint32_t block_size, std::size_t capacity);
  BufferCache(const BufferCache&) = delete;
  BufferCache& operator=(const BufferCache&) = delete;
  ~BufferCache();

  [[nodiscard]] std::uint32_t block_size() const { return block_size_; }
  [[nodiscard]] std::uint32_t block_count() const { return block_count_; }  // of the device, whole blocks
  [[nodiscard]] const BufferCacheFigures& figures() const { return figures_; }
  // What the first write that failed ended with, whether somebody waited for it or not; no error: none has. What such a
  // write held is lost, as it is to the kernel.
  [[nodiscard]] Errno write_error() const { return write_error_; }
  [[nodiscard]] std::size_t dirty_count() const { return dirty_count_; }
  [[nodiscard]] std::size_t cached_count() const { return cached_count_; }
  [[nodiscard]] std::size_t writeback_count() const { return writeback_count_; }

  // The block with its contents. May wait. EIO when the device failed or the block is beyond its end.
  Answer<BufferReference> read(BlockNumber block, const BlockTag& tag);
  // The block without reading it: for one that is about to be overwritten whole. May wait (for room, or for I/O that is
  // under way on the block). up_to_date says whether it was cached. EIO beyond the device's end.
  Answer<BufferReference> get(BlockNumber block, const BlockTag& tag);
  // Likewise, filled with zeros and up to date: a new metadata block.
  Answer<BufferReference> get_zeroed(BlockNumber block, const BlockTag& tag);
  // The block if it is in memory.
  BufferReference find(BlockNumber block);
  // Begins to read those of count consecutive blocks that are not cached, in as few requests as it takes; read() then
  // gives each, and what is wrong with it. EIO when they are beyond the device's end. May wait.
  Answer<void> read_range(BlockNumber first, std::uint32_t count, const BlockTag& first_tag, IoReason reason);

  // Waits until no I/O is under way on the buffer.
  void wait_idle(Buffer& buffer);
  // To be written in place some time. Not for blocks a transaction holds (Journal::dirty_metadata is).
  void mark_dirty(Buffer& buffer);
  void clear_dirty(Buffer& buffer);
  // The block was freed: what is in memory is worth nothing. May wait. REQUIRES: no transaction holds it.
  void forget(Buffer& buffer);

  // Writes these buffers in place, those that are still dirty; runs of neighbours in one request when they stand
  // together in the list. All are handed to the device before the first is waited for. May wait. REQUIRES: the caller
  // holds references.
  Answer<void> write(std::span<Buffer* const> buffers, IoReason reason);
  // Writes every dirty buffer that was dirty when it was called, in block order. May wait.
  Answer<void> write_all();
  // Writes back buffers dirty since before the deadline. May wait.
  Answer<void> write_older(Nanoseconds dirty_before);
  // Where a flusher runs: tells it when too much is dirty, and waits for it when far too much is. Without one, writes
  // back itself. May wait; REQUIRES: the caller has no handle open.
  Answer<void> balance_dirty();
  // For the flusher alone: from here on to end_flusher(), balance_dirty leaves the writing to it.
  void begin_flusher(DirtyLimits limits);
  void end_flusher();
  // Writes back down to the background limit. May wait.
  Answer<void> write_excess();
  // What balance_dirty wakes the flusher on.
  [[nodiscard]] const void* flush_channel() const { return &limits_; }
  Answer<void> flush_device();
  // Forgets every clean, unused buffer (drop_caches).
  void drop_clean();

  // Asked of a clean, unused buffer that a transaction still lists: true when the journal has let go of it.
  void set_release(std::function<bool(Buffer&)> release) { release_ = std::move(release); }
  // Writes those dirty buffers that belong to an inode (fsync without a journal's help). May wait.
  Answer<void> write_inode(InodeNumber inode);

 private:
  [[nodiscard]] std::size_t slot(BlockNumber block) const {
    return static_cast<std::uint32_t>(block.value * 2654435769U) >> table_shift_;
  }
  [[nodiscard]] Buffer* lookup(BlockNumber block) const;
  Answer<Buffer*> lookup_or_insert(BlockNumber block, const BlockTag& tag);
  void insert(Buffer& buffer);
  void remove(Buffer& buffer);
  void evict(Buffer& buffer);
  bool evictable(Buffer& buffer);
  Buffer* take_victim();
  void make_room();
  void grow_table();
  void add_slab();
  class Run;
  struct Pending;
  void submit(std::span<Buffer* const> run, bool write, IoReason reason, Pending* pending);
  void end_run(const Run& run, const Answer<void>& answer);
  Answer<void> wait_for(Pending& pending);
  Answer<void> read_block(Buffer& buffer);
  void read_missing(std::span<Buffer* const> buffers, IoReason reason);
  Answer<void> write_oldest(std::size_t limit, Nanoseconds dirty_before);

  BlockDevice& device_;
  Host& host_;
  std::uint32_t block_size_;
  std::uint32_t block_count_;
  std::size_t capacity_;
  std::size_t cached_count_ = 0;
  std::size_t dirty_count_ = 0;
  std::size_t writeback_count_ = 0;  // buffers on their way to the disk
  bool balancing_ = false;
  bool has_flusher_ = false;
  DirtyLimits limits_;
  std::uint32_t throttled_ = 0;  // threads that wait in balance_dirty
  std::vector<Buffer*> table_;
  std::uint32_t table_shift_ = 32;
  Buffer* dirty_oldest_ = nullptr;
  Buffer* dirty_newest_ = nullptr;
  Buffer* clock_hand_ = nullptr;  // a ring
  HugeMemory memory_;
  std::vector<std::unique_ptr<Buffer[]>> buffer_slabs_;
  std::vector<Buffer*> free_buffers_;  // each with its block of memory
  std::function<bool(Buffer&)> release_;
  BufferCacheFigures figures_;
  Errno write_error_{};
};

}  // namespace iotape::ext3
