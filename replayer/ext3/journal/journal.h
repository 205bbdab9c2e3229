// Journal: what makes several changed blocks one change.
//
// A Handle is open while one operation changes metadata: start() reserves room for as many blocks as the operation may
// change (credits); the rules are those of JBD:
//   1 read the block, 2 get_write_access (or undo for a bitmap, create for a block that is new), 3 change the bytes
//   without a call that may wait between 2 and 3's end, 4 dirty_metadata.
// All changes of one handle are in one transaction, and a transaction is on the disk whole or not at all.
// Locks come first: a thread takes inode locks before it starts a handle, and none while it has one open.
// Implementations: JbdJournal (ext3), NullJournal (ext2: the same calls, blocks are just marked dirty).
// Source of the rules: fs/jbd of Linux 2.6; the format is in disk_format/journal_record.h.
#pragma once

#include <cstdint>
#include <utility>

#include "replayer/ext3/cache/buffer.h"
#include "replayer/ext3/types.h"

namespace iotape::ext3 {

using TransactionId = StrongId<struct TransactionIdTag, std::uint32_t>;

class Journal;

// Part of the running transaction; stop() or the destructor ends it. Moved, never copied.
class Handle {
 public:
  Handle() = default;
  Handle(Journal* journal, Transaction* transaction, std::uint32_t credits)
      : journal_(journal), transaction_(transaction), credits_(credits) {}
  Handle(Handle&& other) noexcept
      : journal_(std::exchange(other.journal_, nullptr)),
        transaction_(std::exchange(other.transaction_, nullptr)),
        credits_(other.credits_),
        synchronous_(other.synchronous_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(journal_, other.journal_);
    std::swap(transaction_, other.transaction_);
    std::swap(credits_, other.credits_);
    std::swap(synchronous_, other.synchronous_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle();

  // Ends the handle; a synchronous one waits until its transaction is on the disk.
  Answer<void> stop();
  void make_synchronous() { synchronous_ = true; }
  [[nodiscard]] std::uint32_t credits() const { return credits_; }
  [[nodiscard]] Transaction* transaction() const { return transaction_; }

 private:
  friend class JbdJournal;
  friend class NullJournal;
  Journal* journal_ = nullptr;
  Transaction* transaction_ = nullptr;
  std::uint32_t credits_ = 0;
  bool synchronous_ = false;
};

enum class DataMode : std::uint8_t { kOrdered, kWriteback, kJournal };

struct JournalFigures {
  std::uint64_t transactions = 0;
  std::uint64_t logged_blocks = 0;  // copies of metadata (and data=journal data) written to the log
  std::uint64_t descriptor_blocks = 0;
  std::uint64_t revoke_blocks = 0;
  std::uint64_t checkpointed_blocks = 0;
  std::uint64_t checkpoints = 0;  // times the tail had to be moved to make room
};

class Journal {
 public:
  Journal() = default;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  virtual ~Journal() = default;

  // May wait for a commit or a checkpoint. EROFS after an abort.
  virtual Answer<Handle> start(std::uint32_t credits) = 0;
  // Adds credits to the running transaction if it has room; false: restart is needed.
  virtual bool extend(Handle& handle, std::uint32_t credits) = 0;
  // Ends the handle's part of its transaction and goes on in another: what was changed so far may be committed alone.
  virtual Answer<void> restart(Handle& handle, std::uint32_t credits) = 0;

  // Before changing a block's bytes. May wait.
  virtual Answer<void> get_write_access(Handle& handle, Buffer& buffer) = 0;
  // Likewise for a bitmap: also keeps what was last committed (see committed_bits).
  virtual Answer<void> get_undo_access(Handle& handle, Buffer& buffer) = 0;
  // Likewise for a block just allocated. Does not wait for a read.
  virtual Answer<void> get_create_access(Handle& handle, Buffer& buffer) = 0;
  // The block was not changed after all.
  virtual void release_access(Handle& handle, Buffer& buffer) = 0;
  virtual void dirty_metadata(Handle& handle, Buffer& buffer) = 0;
  // File data changed under the handle: written before the commit (ordered), in its own time (writeback), or logged
  // (journal; then get_write_access comes first).
  virtual Answer<void> dirty_data(Handle& handle, Buffer& buffer) = 0;
  // A block was freed: forget what is cached of it and, for metadata, keep a replay from writing it over what comes
  // next in its place. May wait.
  virtual Answer<void> forget(Handle& handle, BlockNumber block, bool metadata) = 0;

  // The bitmap as last committed, or nullptr when the buffer's own bits are: a block is free to be allocated only when
  // its bit is clear in both.
  [[nodiscard]] virtual const std::byte* committed_bits(const Buffer& buffer) const = 0;
  // The same, for the one who frees: a block taken and freed in one transaction is not given out again before the next.
  // REQUIRES: undo access to the buffer, and no wait since. The bytes are the buffer's own, not the disk's.
  [[nodiscard]] std::byte* committed_bits_to_set(Buffer& buffer) const {
    return const_cast<std::byte*>(committed_bits(buffer));
  }

  // The transaction that a change made now would belong to; what fsync waits for.
  [[nodiscard]] virtual TransactionId current() const = 0;
  // Waits until that transaction is on the disk, starting its commit when need be. REQUIRES: no handle open.
  virtual Answer<void> commit(TransactionId id) = 0;
  // Commits what is running, waits. True: there was something to commit (ENOSPC then tries again).
  virtual Answer<bool> commit_running() = 0;
  // Commits the running transaction when its interval has passed. Called now and then by whoever has time.
  virtual Answer<void> commit_if_due() = 0;
  // What a thread of the journal's own (kjournald) does: commits what is due and what is asked for, until
  // end_service(). While it runs nobody else commits: who needs room goes on as soon as the full transaction is closed,
  // rather than when it is on the disk. May wait. A journal that needs no such thread returns at once.
  virtual void serve() {}
  virtual void end_service() {}
  // Everything committed and in place; the log is empty afterwards.
  virtual Answer<void> empty() = 0;
  // After an I/O error in the journal: no more handles, nothing more is written.
  virtual void abort(int error_number) = 0;
  [[nodiscard]] virtual int aborted() const = 0;  // errno, or 0

  [[nodiscard]] virtual DataMode data_mode() const = 0;
  [[nodiscard]] virtual std::uint32_t max_credits() const = 0;  // of one handle
  [[nodiscard]] virtual JournalFigures figures() const = 0;

 private:
  friend class Handle;
  virtual Answer<void> stop(Handle& handle) = 0;
};

inline Handle::~Handle() {
  if (journal_ != nullptr) (void)stop();
}

inline Answer<void> Handle::stop() {
  if (journal_ == nullptr) return {};
  Journal* const journal = std::exchange(journal_, nullptr);
  return journal->stop(*this);
}

}  // namespace iotape::ext3
