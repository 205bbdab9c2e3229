// JbdJournal: ext3's journal. See journal.h for the rules its users keep.
//
// A commit is done by the thread that asks for it: locked (no new handles, wait for the open ones), ordered data,
// revoke blocks, descriptors with the changed blocks, flush, commit block, flush. Meanwhile a new transaction runs; one
// that changes a block not yet logged keeps a copy of it (frozen), one that changes a block on its way waits.
// A checkpoint writes the oldest transaction's blocks in place, 64 at a time, and moves the tail of the log.
// Limits are ext3's: a transaction holds at most a quarter of the log; a handle waits for a checkpoint while less is
// free than the greatest transaction and what is committing need, an eighth and 32 blocks kept aside.
// Source of the rules: fs/jbd of Linux 2.6.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "replayer/ext3/cache/buffer_cache.h"
#include "replayer/ext3/journal/journal_file.h"
#include "replayer/ext3/journal/transaction.h"
#include "replayer/ext3/mount_options.h"
#include "replayer/ext3/sleep_lock.h"

namespace iotape::ext3 {

class JbdJournal final : public Journal {
 public:
  // The log is empty (recovered). REQUIRES: what is passed by reference outlives the journal.
  JbdJournal(Host& host, BlockDevice& device, BufferCache& cache, JournalFile file, const MountOptions& options);
  ~JbdJournal() override;

  Answer<Handle> start(std::uint32_t credits) override;
  bool extend(Handle& handle, std::uint32_t credits) override;
  Answer<void> restart(Handle& handle, std::uint32_t credits) override;
  Answer<void> get_write_access(Handle& handle, Buffer& buffer) override;
  Answer<void> get_undo_access(Handle& handle, Buffer& buffer) override;
  Answer<void> get_create_access(Handle& handle, Buffer& buffer) override;
  void release_access(Handle& handle, Buffer& buffer) override;
  void dirty_metadata(Handle& handle, Buffer& buffer) override;
  Answer<void> dirty_data(Handle& handle, Buffer& buffer) override;
  Answer<void> forget(Handle& handle, BlockNumber block, bool metadata) override;
  [[nodiscard]] const std::byte* committed_bits(const Buffer& buffer) const override {
    return buffer.journal.committed.get();
  }
  [[nodiscard]] TransactionId current() const override;
  Answer<void> commit(TransactionId id) override;
  Answer<bool> commit_running() override;
  Answer<void> commit_if_due() override;
  void serve() override;
  void end_service() override;
  Answer<void> empty() override;
  void abort(int error_number) override;
  [[nodiscard]] int aborted() const override { return aborted_; }
  [[nodiscard]] DataMode data_mode() const override { return data_mode_; }
  [[nodiscard]] std::uint32_t max_credits() const override { return max_transaction_; }
  [[nodiscard]] JournalFigures figures() const override { return figures_; }

 private:
  Answer<void> stop(Handle& handle) override;
  Answer<bool> admit(std::uint32_t credits);
  Answer<void> grant(Handle& handle, Buffer& buffer, bool always_copy);
  void freeze(Buffer& buffer);
  void file(Buffer& buffer, Transaction& transaction, JournalList list);
  void unfile(Buffer& buffer);
  Answer<void> take_from_committing(Buffer& buffer);
  bool let_go(Buffer& buffer);

  void ask_for_commit(TransactionId id);
  [[nodiscard]] bool commit_is_wanted() const;

  // jbd_commit.cc
  Answer<void> commit_transaction();
  Answer<void> write_transaction(Transaction& transaction);
  Answer<void> write_ordered_data(Transaction& transaction);
  Answer<void> write_revokes(Transaction& transaction);
  Answer<void> write_metadata(Transaction& transaction);
  Answer<void> write_commit_block(Transaction& transaction);
  class LogBatch;
  std::uint32_t take_log_block();
  void settle(Transaction& transaction);
  void settle_buffer(Transaction& transaction, Buffer& buffer);

  // jbd_checkpoint.cc
  [[nodiscard]] std::uint32_t space_left() const;
  [[nodiscard]] std::uint32_t space_needed() const;
  Answer<void> wait_for_space();
  Answer<void> checkpoint_oldest();
  Answer<void> checkpoint_batch(Transaction& transaction);
  void drop_checkpoint(Buffer& buffer);
  void drop_finished_checkpoints();
  Answer<void> move_tail();
  Answer<void> write_superblock(std::uint32_t start, TransactionId sequence);

  Host& host_;
  BlockDevice& device_;
  BufferCache& cache_;
  JournalFile file_;
  DataMode data_mode_;
  bool barriers_;
  Nanoseconds commit_interval_;
  std::uint32_t max_transaction_;

  std::uint32_t head_ = 0;      // next block of the log to write
  std::uint32_t tail_ = 0;      // first one still needed
  std::uint32_t free_ = 0;      // blocks between head and tail
  bool log_empty_ = true;       // the superblock on the disk says so
  TransactionId next_id_;       // of the next transaction to begin
  TransactionId tail_id_;       // of the first one in the log
  TransactionId committed_id_;  // the last one on the disk
  bool served_ = false;         // by a thread of the journal's own
  bool service_ends_ = false;
  TransactionId asked_id_;  // somebody waits for this one, or needs it closed; never one that has not begun
  std::unique_ptr<Transaction> running_;
  std::unique_ptr<Transaction> committing_;
  std::deque<std::unique_ptr<Transaction>> checkpoints_;  // oldest first
  SleepLock checkpoint_lock_;
  int aborted_ = 0;
  JournalFigures figures_;
};

}  // namespace iotape::ext3
