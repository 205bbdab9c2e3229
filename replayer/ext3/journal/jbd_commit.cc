// How a transaction of JbdJournal reaches the log.
#include <algorithm>
#include <cstring>

#include "replayer/ext3/journal/jbd_journal.h"

namespace iotape::ext3 {
namespace {

constexpr std::size_t kDataBatch = 1024;  // ordered blocks looked at together
constexpr std::uint32_t kUuidBytes = 16;  // follows a descriptor's first tag

JournalHeader header_of(JournalBlockType type, TransactionId id) {
  JournalHeader header;
  header.magic = kJournalMagic;
  header.type = type;
  header.sequence = id.value;
  return header;
}

bool looks_like_a_journal_block(const std::byte* data) {
  be32 first;
  std::memcpy(&first, data, sizeof first);
  return first == kJournalMagic;
}

}  // namespace

// Blocks on their way to the log, in log order; consecutive ones go in one request.
class JbdJournal::LogBatch {
 public:
  explicit LogBatch(JbdJournal& journal) : journal_(journal) {}
  LogBatch(const LogBatch&) = delete;
  LogBatch& operator=(const LogBatch&) = delete;
  ~LogBatch() { release_shadows(); }

  // A block of our own making, zeroed, to be filled before send().
  std::byte* add_own() {
    own_.push_back(std::make_unique<std::byte[]>(journal_.cache_.block_size()));
    place(own_.back().get());
    return own_.back().get();
  }

  // A changed block, as its transaction left it. True: it had to be escaped.
  bool add_buffer(Buffer& buffer) {
    BufferJournalState& state = buffer.journal;
    std::byte* data = state.frozen != nullptr ? state.frozen.get() : buffer.data;
    const bool escaped = looks_like_a_journal_block(data);
    if (escaped) {
      own_.push_back(std::make_unique_for_overwrite<std::byte[]>(journal_.cache_.block_size()));
      std::memcpy(own_.back().get(), data, journal_.cache_.block_size());
      std::memset(own_.back().get(), 0, sizeof(be32));
      data = own_.back().get();
    }
    // Held even when the bytes are a copy of ours: a frozen copy must live until it is written.
    state.shadow = true;
    shadows_.emplace_back(&buffer);
    place(data);
    return escaped;
  }

  Answer<void> send() {
    Answer<void> answer;
    std::span<const IoPart> left(parts_);
    std::size_t at = 0;
    while (!left.empty() && answer) {
      std::size_t count = 1;
      while (count < left.size() && places_[at + count].value == places_[at].value + count) ++count;
      const HostPause outside(journal_.host_);
      answer = journal_.device_.write(std::uint64_t{places_[at].value} * journal_.cache_.block_size(),
                                      left.first(count), IoReason::kDemand);
      left = left.subspan(count);
      at += count;
    }
    release_shadows();
    parts_.clear();
    places_.clear();
    own_.clear();
    return answer;
  }

 private:
  void place(std::byte* data) {
    const std::uint32_t log_block = journal_.take_log_block();
    places_.push_back(journal_.file_.blocks[log_block]);
    BlockTag tag;
    tag.cause = BlockCause::kJournal;
    tag.inode = kJournalInode;
    tag.file_block = FileBlock(log_block);
    tag.dirtier = journal_.host_.thread();
    parts_.push_back({data, journal_.cache_.block_size(), tag});
  }
  void release_shadows() {
    for (const BufferReference& buffer : shadows_) {
      buffer->journal.shadow = false;
      journal_.host_.wake(buffer.get());
    }
    shadows_.clear();
  }

  JbdJournal& journal_;
  std::vector<IoPart> parts_;
  std::vector<BlockNumber> places_;
  std::vector<std::unique_ptr<std::byte[]>> own_;
  std::vector<BufferReference> shadows_;
};

std::uint32_t JbdJournal::take_log_block() {
  const std::uint32_t block = head_;
  head_ = file_.next(head_);
  --free_;
  return block;
}

Answer<void> JbdJournal::commit_transaction() {
  Transaction& transaction = *running_;
  transaction.state = TransactionState::kLocked;
  while (transaction.handles != 0) host_.wait(&transaction);
  while (Buffer* const buffer = transaction.reserved.first()) settle_buffer(transaction, *buffer);
  transaction.state = TransactionState::kCommitting;
  committing_ = std::move(running_);
  host_.wake(&transaction);

  Answer<void> data_answer = write_ordered_data(transaction);
  Answer<void> answer = aborted_ != 0 ? refuse(EIO) : write_transaction(transaction);
  if (!answer) abort(answer.error().value);
  settle(transaction);
  transaction.state = TransactionState::kCommitted;
  if (answer) committed_id_ = transaction.id;
  ++figures_.transactions;
  if (!transaction.checkpoint.empty()) checkpoints_.push_back(std::move(committing_));
  committing_.reset();
  host_.wake(&committing_);
  return answer ? data_answer : answer;
}

Answer<void> JbdJournal::write_transaction(Transaction& transaction) {
  transaction.log_start = head_;
  EXT3_TRY(write_revokes(transaction));
  EXT3_TRY(write_metadata(transaction));
  return write_commit_block(transaction);
}

// In the order in which it was dirtied; the elevator below sorts, as it did below ext3.
Answer<void> JbdJournal::write_ordered_data(Transaction& transaction) {
  Answer<void> worst;
  std::vector<Buffer*> batch;
  std::vector<BufferReference> held;
  while (!transaction.data.empty()) {
    batch.clear();
    held.clear();
    for (Buffer* buffer = transaction.data.first(); buffer != nullptr && batch.size() < kDataBatch;
         buffer = TransactionList::next(*buffer)) {
      batch.push_back(buffer);
      held.emplace_back(buffer);
    }
    if (auto answer = cache_.write(batch, IoReason::kDemand); !answer) worst = answer;
    for (Buffer* buffer : batch) {
      cache_.wait_idle(*buffer);  // somebody else may have been writing it
      if (buffer->journal.transaction == &transaction && buffer->journal.list == JournalList::kData) unfile(*buffer);
    }
  }
  return worst;
}

Answer<void> JbdJournal::write_revokes(Transaction& transaction) {
  if (transaction.revoked.empty()) return {};
  std::vector<std::uint32_t> blocks(transaction.revoked.begin(), transaction.revoked.end());
  std::ranges::sort(blocks);  // the set's own order differs between libraries
  const std::size_t per_block = (cache_.block_size() - sizeof(JournalRevokeHeader)) / sizeof(be32);
  LogBatch batch(*this);
  for (std::size_t done = 0; done < blocks.size();) {
    const std::size_t count = std::min(per_block, blocks.size() - done);
    std::byte* const data = batch.add_own();
    JournalRevokeHeader header{header_of(kJournalRevoke, transaction.id), {}};
    header.bytes = static_cast<std::uint32_t>(sizeof header + count * sizeof(be32));
    std::memcpy(data, &header, sizeof header);
    auto* const numbers = reinterpret_cast<be32*>(data + sizeof header);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = blocks[done + i];
    done += count;
    ++figures_.revoke_blocks;
  }
  return batch.send();
}

Answer<void> JbdJournal::write_metadata(Transaction& transaction) {
  LogBatch batch(*this);
  while (!transaction.metadata.empty()) {
    std::byte* const descriptor = batch.add_own();
    const JournalHeader header = header_of(kJournalDescriptor, transaction.id);
    std::memcpy(descriptor, &header, sizeof header);
    std::uint32_t at = sizeof header;
    JournalTag* tag = nullptr;
    while (!transaction.metadata.empty() && cache_.block_size() - at >= sizeof(JournalTag) + kUuidBytes) {
      Buffer& buffer = *transaction.metadata.first();
      file(buffer, transaction, JournalList::kForget);
      const bool first = tag == nullptr;
      tag = reinterpret_cast<JournalTag*>(descriptor + at);
      at += sizeof(JournalTag);
      tag->block = buffer.block.value;
      tag->flags = (batch.add_buffer(buffer) ? kTagEscaped : 0U) | (first ? 0U : kTagSameUuid);
      if (first) {
        std::memcpy(descriptor + at, file_.superblock.uuid.data(), kUuidBytes);
        at += kUuidBytes;
      }
      ++figures_.logged_blocks;
    }
    tag->flags = tag->flags | kTagLast;
    ++figures_.descriptor_blocks;
    EXT3_TRY(batch.send());
  }
  return {};
}

Answer<void> JbdJournal::write_commit_block(Transaction& transaction) {
  if (log_empty_) {
    // The log begins here: say so before anything in it counts.
    tail_ = transaction.log_start;
    tail_id_ = transaction.id;
    EXT3_TRY(write_superblock(tail_, tail_id_));
    log_empty_ = false;
  }
  if (barriers_) EXT3_TRY(cache_.flush_device());
  LogBatch batch(*this);
  const JournalHeader header = header_of(kJournalCommit, transaction.id);
  std::memcpy(batch.add_own(), &header, sizeof header);
  EXT3_TRY(batch.send());
  if (barriers_) EXT3_TRY(cache_.flush_device());
  return {};
}

// The transaction is on the disk (or never will be): its blocks wait for a checkpoint, or are the next one's.
void JbdJournal::settle(Transaction& transaction) {
  for (TransactionList* list : {&transaction.forgotten, &transaction.metadata, &transaction.data})
    while (Buffer* const buffer = list->first()) settle_buffer(transaction, *buffer);
}

void JbdJournal::settle_buffer(Transaction& transaction, Buffer& buffer) {
  const BufferReference held(&buffer);
  BufferJournalState& state = buffer.journal;
  const bool logged = state.list == JournalList::kForget && aborted_ == 0;
  // What this transaction logged of a bitmap is what is committed now.
  state.committed = state.committed != nullptr ? std::move(state.frozen) : nullptr;
  state.frozen.reset();
  Transaction* const next = std::exchange(state.next_transaction, nullptr);
  const bool freed_here = state.freed && next == nullptr;
  if (logged && state.checkpoint != nullptr) drop_checkpoint(buffer);  // the newer copy replaces it
  if (logged && state.dirty && !freed_here) {
    state.checkpoint = &transaction;
    transaction.checkpoint.push(buffer);
  }
  unfile(buffer);
  if (next != nullptr) {
    file(buffer, *next,
         state.freed      ? JournalList::kForget
         : state.modified ? JournalList::kMetadata
                          : JournalList::kReserved);
  } else if (freed_here) {
    state = {};
    cache_.forget(buffer);
  } else if (std::exchange(state.dirty, false)) {
    const std::uint32_t dirtier = buffer.tag.dirtier;
    cache_.mark_dirty(buffer);
    buffer.tag.dirtier = dirtier;
  }
}

}  // namespace iotape::ext3
