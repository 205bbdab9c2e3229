// Buffer: one block of the device in memory, of a file's data and of metadata alike.
//
// A Buffer stays where it is while a BufferReference holds it, while it is dirty, and while a transaction holds it.
// Who may change a block's bytes: data of a regular file, the holder of the inode's lock; metadata, whoever asked the
// journal for write access and has not waited since (see journal/journal.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "replayer/ext3/device/block_device.h"
#include "replayer/ext3/types.h"

namespace iotape::ext3 {

class Transaction;
struct Buffer;

// Where a transaction keeps a buffer. One buffer is in at most one of these lists, and may beside it wait for a
// checkpoint of an older transaction.
enum class JournalList : std::uint8_t { kNone, kReserved, kMetadata, kData, kForget };

struct BufferLinks {
  Buffer* previous = nullptr;
  Buffer* next = nullptr;
};

// What the journal knows of a buffer. Only the journal touches it.
struct BufferJournalState {
  Transaction* transaction = nullptr;       // running or committing
  Transaction* next_transaction = nullptr;  // running, when transaction is committing
  Transaction* checkpoint = nullptr;        // committed, and not yet in place on the disk
  BufferLinks links;                        // of transaction's list
  BufferLinks checkpoint_links;
  JournalList list = JournalList::kNone;
  bool dirty = false;     // changed in its transaction: takes the place of Buffer::dirty until that has committed
  bool modified = false;  // a credit of the running transaction was spent on it
  bool freed = false;     // freed in its newest transaction: forgotten when that has committed
  bool shadow = false;    // on its way to the log: its bytes must not change
  std::unique_ptr<std::byte[]> frozen;     // what the committing transaction writes, when a newer one changed the block
  std::unique_ptr<std::byte[]> committed;  // a bitmap as last committed: its set bits may not be allocated again yet
};

struct Buffer {
  BlockNumber block;
  std::uint32_t users = 0;
  bool up_to_date = false;
  bool dirty = false;     // to be written in place
  bool busy = false;      // under I/O: wait on the buffer's address
  std::uint8_t uses = 0;  // since the clock's hand passed, as far as they count
  bool failed = false;    // the last write did not succeed
  BlockTag tag;
  std::byte* data = nullptr;  // one block
  Buffer* hash_next = nullptr;
  BufferLinks clock_links;
  BufferLinks dirty_links;  // oldest first
  Nanoseconds dirty_since;
  BufferJournalState journal;

  template <typename T>
  [[nodiscard]] T* at(std::size_t offset) {
    return reinterpret_cast<T*>(data + offset);
  }
};

// Keeps a buffer in memory. REQUIRES: used inside the monitor only.
class BufferReference {
 public:
  BufferReference() = default;
  explicit BufferReference(Buffer* buffer) : buffer_(buffer) {
    if (buffer_ != nullptr) ++buffer_->users;
  }
  BufferReference(const BufferReference& other) : BufferReference(other.buffer_) {}
  BufferReference(BufferReference&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferReference& operator=(BufferReference other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~BufferReference() {
    if (buffer_ != nullptr) --buffer_->users;
  }

  Buffer& operator*() const { return *buffer_; }
  Buffer* operator->() const { return buffer_; }
  [[nodiscard]] Buffer* get() const { return buffer_; }
  explicit operator bool() const { return buffer_ != nullptr; }

 private:
  Buffer* buffer_ = nullptr;
};

}  // namespace iotape::ext3
