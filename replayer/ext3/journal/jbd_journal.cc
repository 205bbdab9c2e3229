#include "replayer/ext3/journal/jbd_journal.h"

#include <algorithm>
#include <cstring>

namespace iotape::ext3 {

JbdJournal::JbdJournal(Host& host, BlockDevice& device, BufferCache& cache, JournalFile file,
                       const MountOptions& options)
    : host_(host),
      device_(device),
      cache_(cache),
      file_(std::move(file)),
      data_mode_(options.data),
      barriers_(options.barriers),
      commit_interval_(options.commit_interval),
      max_transaction_(file_.superblock.max_length / 4),
      head_(file_.superblock.first),
      tail_(file_.superblock.first),
      free_(file_.superblock.max_length - file_.superblock.first),
      next_id_(file_.superblock.sequence),
      tail_id_(file_.superblock.sequence),
      committed_id_(file_.superblock.sequence - 1),
      asked_id_(committed_id_) {
  cache_.set_release([this](Buffer& buffer) { return let_go(buffer); });
}

JbdJournal::~JbdJournal() { cache_.set_release({}); }

// ---- handles ----

// True: the running transaction exists and has room. False: something was waited for, look again.
Answer<bool> JbdJournal::admit(std::uint32_t credits) {
  if (aborted_ != 0) return refuse(EROFS);
  if (credits > max_transaction_) return refuse(ENOSPC);
  if (running_ == nullptr) {
    running_ = std::make_unique<Transaction>(next_id_, host_.now() + commit_interval_);
    ++next_id_.value;
    if (served_) host_.wake(&asked_id_);  // there is an interval to keep now
  }
  Transaction& transaction = *running_;
  if (transaction.state == TransactionState::kLocked) {
    host_.wait(&transaction);
    return false;
  }
  if (transaction.outstanding_credits + credits > max_transaction_) {
    if (!served_) EXT3_TRY(commit(transaction.id));
    if (served_) {
      ask_for_commit(transaction.id);
      host_.wait(&transaction);
    }
    return false;
  }
  if (space_left() < space_needed()) {
    EXT3_TRY(wait_for_space());
    return false;
  }
  return true;
}

Answer<Handle> JbdJournal::start(std::uint32_t credits) {
  while (true) {
    EXT3_ASSIGN(const bool admitted, admit(credits));
    if (admitted) break;
  }
  ++running_->handles;
  running_->outstanding_credits += credits;
  return Handle(this, running_.get(), credits);
}

bool JbdJournal::extend(Handle& handle, std::uint32_t credits) {
  Transaction& transaction = *handle.transaction_;
  if (aborted_ != 0 || transaction.state != TransactionState::kRunning) return false;
  if (transaction.outstanding_credits + credits > max_transaction_) return false;
  if (space_left() < space_needed()) return false;
  transaction.outstanding_credits += credits;
  handle.credits_ += credits;
  return true;
}

Answer<void> JbdJournal::stop(Handle& handle) {
  Transaction& transaction = *handle.transaction_;
  transaction.outstanding_credits -= handle.credits_;
  --transaction.handles;
  const TransactionId id = transaction.id;
  if (transaction.handles == 0 && transaction.state == TransactionState::kLocked) host_.wake(&transaction);
  if (aborted_ != 0) return refuse(EROFS);
  if (handle.synchronous_) return commit(id);
  return {};
}

// JBD starts a commit here as well: the handle only asked for more because its transaction is full.
Answer<void> JbdJournal::restart(Handle& handle, std::uint32_t credits) {
  const TransactionId id = handle.transaction_->id;
  const bool synchronous = std::exchange(handle.synchronous_, false);
  EXT3_TRY(handle.stop());
  if (served_)
    ask_for_commit(id);
  else
    EXT3_TRY(commit(id));
  EXT3_ASSIGN(handle, start(credits));
  handle.synchronous_ = synchronous;
  return {};
}

// ---- access to buffers ----

void JbdJournal::file(Buffer& buffer, Transaction& transaction, JournalList list) {
  BufferJournalState& state = buffer.journal;
  if (state.transaction != nullptr) unfile(buffer);
  state.transaction = &transaction;
  state.list = list;
  transaction.list(list).push(buffer);
}

void JbdJournal::unfile(Buffer& buffer) {
  BufferJournalState& state = buffer.journal;
  state.transaction->list(state.list).remove(buffer);
  state.transaction = nullptr;
  state.list = JournalList::kNone;
}

// The committing transaction will log the block as it is now.
void JbdJournal::freeze(Buffer& buffer) {
  buffer.journal.frozen = std::make_unique_for_overwrite<std::byte[]>(cache_.block_size());
  std::memcpy(buffer.journal.frozen.get(), buffer.data, cache_.block_size());
}

Answer<void> JbdJournal::grant(Handle& handle, Buffer& buffer, bool always_copy) {
  BufferJournalState& state = buffer.journal;
  Transaction* const mine = handle.transaction_;
  if (aborted_ != 0) return refuse(EROFS);
  while (buffer.busy || (state.shadow && state.transaction != mine)) host_.wait(&buffer);
  if (state.transaction == mine || state.next_transaction == mine) return {};
  state.modified = false;
  state.freed = false;
  if (buffer.dirty) {  // waits for write-back or a checkpoint: from now on its transaction says when
    cache_.clear_dirty(buffer);
    state.dirty = true;
  }
  if (state.transaction == nullptr) {
    if (!mine->revoked.empty()) mine->revoked.erase(buffer.block.value);
    file(buffer, *mine, JournalList::kReserved);
    return {};
  }
  // The committing transaction has it. Logged already (kForget): the log's copy is as good as a frozen one, except for
  // a bitmap, whose committed state allocators must see.
  if (state.frozen == nullptr && (state.list != JournalList::kForget || always_copy)) freeze(buffer);
  if (!mine->revoked.empty()) mine->revoked.erase(buffer.block.value);
  state.next_transaction = mine;
  return {};
}

Answer<void> JbdJournal::get_write_access(Handle& handle, Buffer& buffer) {
  const BufferJournalState& state = buffer.journal;
  if (state.transaction == handle.transaction_ && !buffer.busy && aborted_ == 0) [[likely]]
    return {};
  return grant(handle, buffer, false);
}

Answer<void> JbdJournal::get_undo_access(Handle& handle, Buffer& buffer) {
  EXT3_TRY(grant(handle, buffer, true));
  if (buffer.journal.committed == nullptr) {
    buffer.journal.committed = std::make_unique_for_overwrite<std::byte[]>(cache_.block_size());
    std::memcpy(buffer.journal.committed.get(), buffer.data, cache_.block_size());
  }
  return {};
}

Answer<void> JbdJournal::get_create_access(Handle& handle, Buffer& buffer) {
  // A block that was data, or metadata, in an earlier life: nothing of that is wanted.
  if (buffer.journal.transaction == nullptr) cache_.clear_dirty(buffer);
  return grant(handle, buffer, false);
}

void JbdJournal::release_access(Handle& handle, Buffer& buffer) {
  BufferJournalState& state = buffer.journal;
  if (state.transaction == handle.transaction_ && state.list == JournalList::kReserved && !state.dirty) {
    unfile(buffer);
    state.committed.reset();
  }
}

void JbdJournal::dirty_metadata(Handle& handle, Buffer& buffer) {
  BufferJournalState& state = buffer.journal;
  if (!state.modified) {
    state.modified = true;
    if (handle.credits_ > 0) --handle.credits_;
  }
  buffer.tag.dirtier = host_.thread();
  state.dirty = true;
  if (state.transaction != handle.transaction_ || state.list == JournalList::kMetadata) return;
  file(buffer, *handle.transaction_, JournalList::kMetadata);
}

// The committing transaction promised that this data is in place before it commits: keep the promise now, so that the
// buffer can belong to the running one.
Answer<void> JbdJournal::take_from_committing(Buffer& buffer) {
  Buffer* const one[] = {&buffer};
  const BufferReference held(&buffer);
  if (buffer.dirty) EXT3_TRY(cache_.write(one, IoReason::kDemand));
  cache_.wait_idle(buffer);
  return {};
}

Answer<void> JbdJournal::dirty_data(Handle& handle, Buffer& buffer) {
  BufferJournalState& state = buffer.journal;
  if (data_mode_ == DataMode::kJournal) {
    dirty_metadata(handle, buffer);
    return {};
  }
  if (data_mode_ == DataMode::kOrdered && state.transaction != handle.transaction_) {
    if (state.transaction != nullptr && state.list == JournalList::kData) EXT3_TRY(take_from_committing(buffer));
    if (state.transaction == nullptr || state.list == JournalList::kData)
      file(buffer, *handle.transaction_, JournalList::kData);
  }
  cache_.mark_dirty(buffer);
  return {};
}

Answer<void> JbdJournal::forget(Handle& handle, BlockNumber block, bool metadata) {
  Transaction& mine = *handle.transaction_;
  if (metadata || data_mode_ == DataMode::kJournal) mine.revoked.insert(block.value);
  const BufferReference buffer = cache_.find(block);
  if (!buffer) return {};
  cache_.wait_idle(*buffer);
  BufferJournalState& state = buffer->journal;
  if (state.list == JournalList::kData) {
    if (state.transaction != &mine) EXT3_TRY(take_from_committing(*buffer));
    if (state.transaction != nullptr) unfile(*buffer);
  }
  if (state.transaction == &mine && state.checkpoint == nullptr) {
    if (state.modified) ++handle.credits_;  // the credit was not needed after all
    unfile(*buffer);
    state = {};
    cache_.forget(*buffer);
  } else if (state.transaction != nullptr && state.transaction != &mine) {
    state.next_transaction = &mine;
    state.freed = true;
  } else if (state.transaction == &mine || state.checkpoint != nullptr) {
    file(*buffer, mine, JournalList::kForget);  // an older commit of it is not in place yet
    state.freed = true;
  } else {
    state = {};
    cache_.forget(*buffer);
  }
  return {};
}

// A clean buffer that is only still listed: data that is in place already, or a block whose checkpoint is done.
bool JbdJournal::let_go(Buffer& buffer) {
  BufferJournalState& state = buffer.journal;
  if (state.transaction != nullptr && state.list == JournalList::kData) unfile(buffer);
  if (state.transaction != nullptr || state.dirty) return false;
  if (state.checkpoint != nullptr) drop_checkpoint(buffer);
  return true;
}

// ---- commits asked for ----

TransactionId JbdJournal::current() const { return running_ != nullptr ? running_->id : next_id_; }

Answer<void> JbdJournal::commit(TransactionId id) {
  while (static_cast<std::int32_t>(id.value - committed_id_.value) > 0) {
    if (aborted_ != 0) return refuse(EIO);
    if (served_ && (committing_ != nullptr || running_ != nullptr)) {
      ask_for_commit(id);
      host_.wait(&committing_);
    } else if (committing_ != nullptr)
      host_.wait(&committing_);
    else if (running_ != nullptr && running_->state == TransactionState::kLocked)
      host_.wait(running_.get());
    else if (running_ != nullptr)
      EXT3_TRY(commit_transaction());
    else
      return {};  // nothing was changed since
  }
  return {};
}

Answer<bool> JbdJournal::commit_running() {
  if (running_ == nullptr && committing_ == nullptr) return false;
  EXT3_TRY(commit(running_ != nullptr ? running_->id : committing_->id));
  return true;
}

Answer<void> JbdJournal::commit_if_due() {
  if (aborted_ != 0 || running_ == nullptr || running_->expires > host_.now()) return {};
  return commit(running_->id);
}

// ---- the journal's own thread ----

void JbdJournal::ask_for_commit(TransactionId id) {
  if (running_ == nullptr || running_->id != id) return;
  asked_id_ = id;
  host_.wake(&asked_id_);
}

bool JbdJournal::commit_is_wanted() const {
  return aborted_ == 0 && running_ != nullptr && (asked_id_ == running_->id || running_->expires <= host_.now());
}

void JbdJournal::serve() {
  served_ = true;
  while (!service_ends_) {
    if (commit_is_wanted())
      (void)commit_transaction();  // what goes wrong aborts the journal, and those who wait are told
    else if (running_ != nullptr && aborted_ == 0)
      host_.wait_until(&asked_id_, running_->expires);
    else
      host_.wait(&asked_id_);
  }
  served_ = service_ends_ = false;
  host_.wake(&committing_);
  if (running_ != nullptr) host_.wake(running_.get());
}

void JbdJournal::end_service() {
  service_ends_ = true;
  host_.wake(&asked_id_);
}

void JbdJournal::abort(int error_number) {
  if (aborted_ == 0) aborted_ = error_number;
  host_.wake(&committing_);
  if (running_ != nullptr) host_.wake(running_.get());
}

}  // namespace iotape::ext3
