// Transaction: the changes that reach the disk together. One is running, at most one is committing, the others are
// committed and wait for their blocks to be written in place (checkpoint). Private to JbdJournal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "replayer/ext3/cache/buffer.h"
#include "replayer/ext3/journal/journal.h"

namespace iotape::ext3 {

// Buffers chained through one of the link pairs of their journal state, oldest first.
template <BufferLinks BufferJournalState::*Links>
class BufferList {
 public:
  [[nodiscard]] Buffer* first() const { return first_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  void push(Buffer& buffer) {
    buffer.journal.*Links = {last_, nullptr};
    (last_ != nullptr ? (last_->journal.*Links).next : first_) = &buffer;
    last_ = &buffer;
    ++count_;
  }
  void remove(Buffer& buffer) {
    const BufferLinks links = buffer.journal.*Links;
    (links.previous != nullptr ? (links.previous->journal.*Links).next : first_) = links.next;
    (links.next != nullptr ? (links.next->journal.*Links).previous : last_) = links.previous;
    buffer.journal.*Links = {};
    --count_;
  }
  static Buffer* next(const Buffer& buffer) { return (buffer.journal.*Links).next; }

 private:
  Buffer* first_ = nullptr;
  Buffer* last_ = nullptr;
  std::size_t count_ = 0;
};

using TransactionList = BufferList<&BufferJournalState::links>;
using CheckpointList = BufferList<&BufferJournalState::checkpoint_links>;

enum class TransactionState : std::uint8_t {
  kRunning,
  kLocked,      // no new handles; waits for the open ones
  kCommitting,  // being written
  kCommitted,
};

class Transaction {
 public:
  Transaction(TransactionId id_given, Nanoseconds expires_at) : id(id_given), expires(expires_at) {}

  TransactionId id;
  TransactionState state = TransactionState::kRunning;
  Nanoseconds expires;
  std::uint32_t handles = 0;              // open
  std::uint32_t outstanding_credits = 0;  // spent and reserved
  TransactionList reserved;               // access was granted, nothing changed yet
  TransactionList metadata;               // to be logged
  TransactionList data;                   // ordered: in place before the commit
  TransactionList forgotten;              // logged, or freed: settled when the commit is done
  CheckpointList checkpoint;              // logged, not yet in place
  std::unordered_set<std::uint32_t> revoked;
  std::uint32_t log_start = 0;  // its first block in the log

  [[nodiscard]] TransactionList& list(JournalList which) {
    switch (which) {
      case JournalList::kReserved:
        return reserved;
      case JournalList::kMetadata:
        return metadata;
      case JournalList::kData:
        return data;
      case JournalList::kNone:
      case JournalList::kForget:
        break;
    }
    return forgotten;
  }
};

}  // namespace iotape::ext3
