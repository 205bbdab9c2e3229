// How JbdJournal makes room in its log.
#include <cstring>
#include <vector>

#include "replayer/ext3/journal/jbd_journal.h"

namespace iotape::ext3 {
namespace {

// What one sweep hands over. JBD gathers 64 blocks at a time but does not wait for them before it gathers the next, so
// that the elevator's own limit is what counts.
constexpr std::size_t kCheckpointBatch = 1024;
constexpr std::uint32_t kKeptAside = 32;

}  // namespace

std::uint32_t JbdJournal::space_left() const {
  if (free_ <= kKeptAside) return 0;
  const std::uint32_t left = free_ - kKeptAside;
  return left - left / 8;
}

std::uint32_t JbdJournal::space_needed() const {
  return max_transaction_ + (committing_ != nullptr ? committing_->outstanding_credits : 0);
}

Answer<void> JbdJournal::wait_for_space() {
  const SleepLockGuard one_at_a_time(host_, checkpoint_lock_);
  while (space_left() < space_needed()) {
    if (aborted_ != 0) return refuse(EROFS);
    if (!checkpoints_.empty()) {
      ++figures_.checkpoints;
      EXT3_TRY(checkpoint_oldest());
    } else if (committing_ != nullptr) {
      host_.wait(&committing_);
      continue;
    }
    EXT3_TRY(move_tail());
  }
  return {};
}

Answer<void> JbdJournal::checkpoint_oldest() {
  Transaction& oldest = *checkpoints_.front();
  while (!oldest.checkpoint.empty()) EXT3_TRY(checkpoint_batch(oldest));
  return {};
}

// Writes up to a batch in place, in the order in which the blocks were logged. A block that a newer transaction has
// changed cannot be written before that one has committed.
Answer<void> JbdJournal::checkpoint_batch(Transaction& transaction) {
  std::vector<Buffer*> batch;
  std::vector<BufferReference> held;
  for (Buffer* buffer = transaction.checkpoint.first(); buffer != nullptr && batch.size() < kCheckpointBatch;
       buffer = CheckpointList::next(*buffer)) {
    if (buffer->journal.transaction != nullptr && buffer->journal.dirty) {
      if (!batch.empty()) break;  // write what is gathered first
      const TransactionId id = buffer->journal.transaction->id;
      return commit(id);
    }
    held.emplace_back(buffer);
    batch.push_back(buffer);
  }
  figures_.checkpointed_blocks += batch.size();
  EXT3_TRY(cache_.write(batch, IoReason::kDemand));
  for (Buffer* buffer : batch) {
    cache_.wait_idle(*buffer);
    if (buffer->failed) return refuse(EIO);
    if (buffer->journal.checkpoint == &transaction && !buffer->dirty && !buffer->journal.dirty)
      drop_checkpoint(*buffer);
  }
  return {};
}

void JbdJournal::drop_checkpoint(Buffer& buffer) {
  buffer.journal.checkpoint->checkpoint.remove(buffer);
  buffer.journal.checkpoint = nullptr;
}

void JbdJournal::drop_finished_checkpoints() {
  while (!checkpoints_.empty() && checkpoints_.front()->checkpoint.empty()) checkpoints_.pop_front();
}

// The log's start moves to the first transaction that is still needed. In this order: what was checkpointed is durable,
// then the superblock says so, then the room is free.
Answer<void> JbdJournal::move_tail() {
  drop_finished_checkpoints();
  std::uint32_t block = head_;
  TransactionId id = current();
  if (!checkpoints_.empty()) {
    block = checkpoints_.front()->log_start;
    id = checkpoints_.front()->id;
  } else if (committing_ != nullptr) {
    block = committing_->log_start;
    id = committing_->id;
  }
  if (id == tail_id_ || log_empty_) return {};
  const std::uint32_t log_blocks = file_.superblock.max_length - file_.superblock.first;
  const std::uint32_t freed = (block + log_blocks - tail_) % log_blocks;
  if (barriers_) EXT3_TRY(cache_.flush_device());
  tail_ = block;
  tail_id_ = id;
  EXT3_TRY(write_superblock(block, id));
  free_ += freed;
  return {};
}

Answer<void> JbdJournal::write_superblock(std::uint32_t start, TransactionId sequence) {
  file_.superblock.start = start;
  file_.superblock.sequence = sequence.value;
  file_.superblock.incompatible_features = file_.superblock.incompatible_features | kJournalFeatureRevoke;
  const HostPause outside(host_);
  EXT3_TRY(write_journal_superblock(device_, file_));
  if (barriers_) return device_.flush();
  return {};
}

Answer<void> JbdJournal::empty() {
  do {
    EXT3_ASSIGN([[maybe_unused]] const bool committed, commit_running());
    const SleepLockGuard one_at_a_time(host_, checkpoint_lock_);
    while (!checkpoints_.empty()) {
      EXT3_TRY(checkpoint_oldest());
      drop_finished_checkpoints();
    }
  } while (running_ != nullptr || committing_ != nullptr || !checkpoints_.empty());
  if (aborted_ != 0) return refuse(EROFS);
  if (log_empty_) return {};
  if (barriers_) EXT3_TRY(cache_.flush_device());
  EXT3_TRY(write_superblock(0, next_id_));
  log_empty_ = true;
  tail_ = head_;
  tail_id_ = next_id_;
  free_ = file_.superblock.max_length - file_.superblock.first;
  return {};
}

}  // namespace iotape::ext3
