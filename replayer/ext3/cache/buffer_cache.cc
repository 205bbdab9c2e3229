#include "replayer/ext3/cache/buffer_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace iotape::ext3 {
namespace {

constexpr std::size_t kSmallestCapacity = 256;  // blocks
constexpr std::size_t kRunLimit = 256;          // blocks of one request
constexpr std::size_t kClockBudget = 512;       // buffers the hand passes before it gives up
constexpr std::size_t kWriteBatch = 1024;       // blocks written back in one sweep
constexpr std::uint8_t kUsesToStay = 2;         // a block used less often goes when the hand comes
constexpr std::uint8_t kMostUses = 3;           // that count
constexpr std::size_t kSmallestTable = 1024;
constexpr std::size_t kDirtyShare = 4;  // write back when more than a quarter is dirty

void note_use(Buffer& buffer) {
  if (buffer.uses < kMostUses) ++buffer.uses;
}

}  // namespace

BufferCache::BufferCache(BlockDevice& device, Host& host, std::uint32_t block_size, std::size_t capacity)
    : device_(device),
      host_(host),
      block_size_(block_size),
      block_count_(static_cast<std::uint32_t>(
          std::min<std::uint64_t>(device.size() / block_size, std::numeric_limits<std::uint32_t>::max()))),
      capacity_(std::max<std::size_t>(capacity, kSmallestCapacity)),
      table_(kSmallestTable, nullptr),
      table_shift_(32 - static_cast<std::uint32_t>(std::countr_zero(kSmallestTable))) {}

BufferCache::~BufferCache() = default;

// ---- the table ----

Buffer* BufferCache::lookup(BlockNumber block) const {
  Buffer* buffer = table_[slot(block)];
  while (buffer != nullptr && buffer->block != block) buffer = buffer->hash_next;
  return buffer;
}

void BufferCache::grow_table() {
  std::vector<Buffer*> old = std::exchange(table_, std::vector<Buffer*>(table_.size() * 2, nullptr));
  --table_shift_;
  for (Buffer* buffer : old)
    while (buffer != nullptr) {
      Buffer* const next = buffer->hash_next;
      Buffer*& head = table_[slot(buffer->block)];
      buffer->hash_next = std::exchange(head, buffer);
      buffer = next;
    }
}

void BufferCache::insert(Buffer& buffer) {
  if (cached_count_ >= table_.size()) grow_table();
  Buffer*& head = table_[slot(buffer.block)];
  buffer.hash_next = std::exchange(head, &buffer);
  if (clock_hand_ == nullptr) {
    clock_hand_ = buffer.clock_links.previous = buffer.clock_links.next = &buffer;
  } else {  // just behind the hand: the last to be looked at
    buffer.clock_links = {clock_hand_->clock_links.previous, clock_hand_};
    buffer.clock_links.previous->clock_links.next = &buffer;
    clock_hand_->clock_links.previous = &buffer;
  }
  ++cached_count_;
}

void BufferCache::remove(Buffer& buffer) {
  Buffer** at = &table_[slot(buffer.block)];
  while (*at != &buffer) at = &(*at)->hash_next;
  *at = buffer.hash_next;
  if (buffer.clock_links.next == &buffer) {
    clock_hand_ = nullptr;
  } else {
    buffer.clock_links.previous->clock_links.next = buffer.clock_links.next;
    buffer.clock_links.next->clock_links.previous = buffer.clock_links.previous;
    if (clock_hand_ == &buffer) clock_hand_ = buffer.clock_links.next;
  }
  --cached_count_;
}

void BufferCache::add_slab() {
  const std::size_t count = HugeMemory::kPiece / block_size_;
  std::byte* const memory = memory_.add();
  buffer_slabs_.push_back(std::make_unique<Buffer[]>(count));
  for (std::size_t i = count; i-- > 0;) {
    Buffer& buffer = buffer_slabs_.back()[i];
    buffer.data = memory + i * block_size_;
    free_buffers_.push_back(&buffer);
  }
}

// ---- room ----

bool BufferCache::evictable(Buffer& buffer) {
  if (buffer.users != 0 || buffer.dirty || buffer.busy) return false;
  if (buffer.journal.transaction == nullptr && buffer.journal.checkpoint == nullptr) return true;
  return release_ && release_(buffer);
}

void BufferCache::evict(Buffer& buffer) {
  remove(buffer);
  std::byte* const data = buffer.data;
  buffer = Buffer{};
  buffer.data = data;
  free_buffers_.push_back(&buffer);
}

Buffer* BufferCache::take_victim() {
  std::size_t held = 0;
  for (std::size_t step = 0; step < kMostUses * cached_count_ && held < kClockBudget; ++step) {
    Buffer* const buffer = clock_hand_;
    clock_hand_ = buffer->clock_links.next;
    if (buffer->uses >= kUsesToStay) {
      --buffer->uses;
      continue;
    }
    if (evictable(*buffer)) return buffer;
    ++held;
  }
  return nullptr;
}

void BufferCache::make_room() {
  if (cached_count_ < capacity_) return;
  Buffer* victim = take_victim();
  if (victim == nullptr && dirty_count_ > 0 && !balancing_) {
    balancing_ = true;
    (void)write_oldest(kWriteBatch, Nanoseconds(std::numeric_limits<std::int64_t>::max()));
    balancing_ = false;
    victim = take_victim();
  }
  if (victim == nullptr) return;  // everything is held: beyond the limit for now
  ++figures_.evictions;
  evict(*victim);
}

Answer<Buffer*> BufferCache::lookup_or_insert(BlockNumber block, const BlockTag& tag) {
  if (block.value >= block_count_) return refuse(EIO);
  Buffer* buffer = lookup(block);
  if (buffer == nullptr) {
    make_room();  // may have waited: somebody else may have brought the block in
    buffer = lookup(block);
  }
  if (buffer == nullptr) {
    if (free_buffers_.empty()) add_slab();
    buffer = free_buffers_.back();
    free_buffers_.pop_back();
    buffer->block = block;
    insert(*buffer);
  }
  const std::uint32_t dirtier = buffer->tag.dirtier;
  buffer->tag = tag;
  buffer->tag.dirtier = dirtier;
  return buffer;
}

void BufferCache::drop_clean() {
  for (std::size_t left = cached_count_; left > 0 && clock_hand_ != nullptr; --left) {
    Buffer* const buffer = clock_hand_;
    clock_hand_ = buffer->clock_links.next;
    if (evictable(*buffer)) evict(*buffer);
  }
}

// ---- requests ----

// Who waits for requests that are under way, and what came of them.
struct BufferCache::Pending {
  std::size_t count = 0;
  Answer<void> worst;
};

// Consecutive buffers under I/O: busy and held until it has ended.
class BufferCache::Run final : public IoRequest {
 public:
  Run(BufferCache& cache, std::span<Buffer* const> run, Pending* waiting)
      : buffers(run.begin(), run.end()), pending(waiting), cache_(cache) {}
  void ended(Answer<void> answer) override { cache_.end_run(*this, answer); }

  std::vector<Buffer*> buffers;
  Pending* pending;  // nullptr: nobody waits

 private:
  BufferCache& cache_;
};

// REQUIRES: the run's buffers are consecutive and not busy; not up to date, or dirty.
void BufferCache::submit(std::span<Buffer* const> run, bool write, IoReason reason, Pending* pending) {
  auto request = std::make_unique<Run>(*this, run, pending);
  request->write = write;
  request->offset = std::uint64_t{run.front()->block.value} * block_size_;
  request->reason = reason;
  request->parts.reserve(run.size());
  for (Buffer* buffer : run) {
    if (write) clear_dirty(*buffer);
    buffer->busy = true;
    ++buffer->users;
    request->parts.push_back({buffer->data, block_size_, buffer->tag});
  }
  (write ? figures_.blocks_written : figures_.blocks_read) += run.size();
  if (write) writeback_count_ += run.size();
  if (pending != nullptr) ++pending->count;
  const HostPause outside(host_);
  device_.submit(std::move(request));
}

void BufferCache::end_run(const Run& run, const Answer<void>& answer) {
  const HostEntry inside(host_);
  for (Buffer* buffer : run.buffers) {
    if (run.write)
      buffer->failed = !answer;
    else
      buffer->up_to_date = answer.has_value();
    buffer->busy = false;
    --buffer->users;
    host_.wake(buffer);
  }
  if (run.write && !answer && write_error_ == Errno{}) write_error_ = answer.error();
  if (run.write) writeback_count_ -= run.buffers.size();
  if (run.write && throttled_ != 0) host_.wake(&throttled_);
  if (run.pending == nullptr) return;
  if (!answer && run.pending->worst) run.pending->worst = answer;
  if (--run.pending->count == 0) host_.wake(run.pending);
}

Answer<void> BufferCache::wait_for(Pending& pending) {
  while (pending.count != 0) host_.wait(&pending);
  return pending.worst;
}

// ---- reading ----

void BufferCache::wait_idle(Buffer& buffer) {
  while (buffer.busy) host_.wait(&buffer);
}

Answer<void> BufferCache::read_block(Buffer& buffer) {
  Pending pending;
  Buffer* const run[] = {&buffer};
  submit(run, false, IoReason::kDemand, &pending);
  return wait_for(pending);
}

Answer<BufferReference> BufferCache::read(BlockNumber block, const BlockTag& tag) {
  EXT3_ASSIGN(BufferReference buffer, get(block, tag));
  if (buffer->up_to_date) {
    ++figures_.hits;
    return buffer;
  }
  ++figures_.misses;
  EXT3_TRY(read_block(*buffer));
  return buffer;
}

Answer<BufferReference> BufferCache::get(BlockNumber block, const BlockTag& tag) {
  EXT3_ASSIGN(Buffer* const found, lookup_or_insert(block, tag));
  BufferReference buffer(found);
  wait_idle(*buffer);
  note_use(*buffer);
  return buffer;
}

Answer<BufferReference> BufferCache::get_zeroed(BlockNumber block, const BlockTag& tag) {
  EXT3_ASSIGN(BufferReference buffer, get(block, tag));
  std::memset(buffer->data, 0, block_size_);
  buffer->up_to_date = true;
  return buffer;
}

BufferReference BufferCache::find(BlockNumber block) { return BufferReference(lookup(block)); }

Answer<void> BufferCache::read_range(BlockNumber first, std::uint32_t count, const BlockTag& first_tag,
                                     IoReason reason) {
  std::vector<BufferReference> held;
  std::vector<Buffer*> buffers;
  for (std::uint32_t done = 0; done < count; done += static_cast<std::uint32_t>(buffers.size())) {
    held.clear();
    buffers.clear();
    for (std::uint32_t i = done; i < count && buffers.size() < kRunLimit; ++i) {
      BlockTag tag = first_tag;
      tag.file_block.value += i;
      EXT3_ASSIGN(Buffer* const buffer, lookup_or_insert(BlockNumber(first.value + i), tag));
      held.emplace_back(buffer);
      buffers.push_back(buffer);
    }
    read_missing(buffers, reason);
  }
  return {};
}

// REQUIRES: the buffers are consecutive and held.
void BufferCache::read_missing(std::span<Buffer* const> buffers, IoReason reason) {
  const auto missing = [](const Buffer* buffer) { return !buffer->up_to_date && !buffer->busy; };
  while (!buffers.empty()) {
    const auto start = std::ranges::find_if(buffers, missing);
    const auto end = std::find_if_not(start, buffers.end(), missing);
    if (start != end) submit({start, end}, false, reason, nullptr);
    buffers = {end, buffers.end()};
  }
}

// ---- writing ----

void BufferCache::mark_dirty(Buffer& buffer) {
  buffer.tag.dirtier = host_.thread();
  if (buffer.dirty) return;
  buffer.dirty = true;
  buffer.dirty_since = host_.now();
  buffer.dirty_links = {dirty_newest_, nullptr};
  (dirty_newest_ != nullptr ? dirty_newest_->dirty_links.next : dirty_oldest_) = &buffer;
  dirty_newest_ = &buffer;
  ++dirty_count_;
}

void BufferCache::clear_dirty(Buffer& buffer) {
  if (!buffer.dirty) return;
  buffer.dirty = false;
  const BufferLinks links = std::exchange(buffer.dirty_links, {});
  (links.previous != nullptr ? links.previous->dirty_links.next : dirty_oldest_) = links.next;
  (links.next != nullptr ? links.next->dirty_links.previous : dirty_newest_) = links.previous;
  --dirty_count_;
}

void BufferCache::forget(Buffer& buffer) {
  const BufferReference held(&buffer);
  wait_idle(buffer);
  clear_dirty(buffer);
  buffer.up_to_date = false;
  buffer.uses = 0;
}

Answer<void> BufferCache::write(std::span<Buffer* const> buffers, IoReason reason) {
  Pending pending;
  std::vector<Buffer*> run;
  const auto submit_what_is_gathered = [&] {
    if (!run.empty()) submit(run, true, reason, &pending);
    run.clear();
  };
  for (Buffer* buffer : buffers) {
    const bool extends = !run.empty() && run.size() < kRunLimit && buffer->block.value == run.back()->block.value + 1;
    if (!extends || buffer->busy) submit_what_is_gathered();
    wait_idle(*buffer);
    if (buffer->dirty) run.push_back(buffer);
  }
  submit_what_is_gathered();
  return wait_for(pending);
}

Answer<void> BufferCache::write_oldest(std::size_t limit, Nanoseconds dirty_before) {
  std::vector<Buffer*> chosen;
  for (Buffer* buffer = dirty_oldest_; buffer != nullptr && chosen.size() < limit; buffer = buffer->dirty_links.next) {
    if (buffer->dirty_since > dirty_before) break;
    ++buffer->users;
    chosen.push_back(buffer);
  }
  std::ranges::sort(chosen, {}, &Buffer::block);
  auto answer = write(chosen, IoReason::kWriteBack);
  for (Buffer* buffer : chosen) --buffer->users;
  return answer;
}

Answer<void> BufferCache::write_all() {
  return write_oldest(std::numeric_limits<std::size_t>::max(), Nanoseconds(std::numeric_limits<std::int64_t>::max()));
}

Answer<void> BufferCache::write_older(Nanoseconds dirty_before) {
  while (dirty_oldest_ != nullptr && dirty_oldest_->dirty_since <= dirty_before)
    EXT3_TRY(write_oldest(kWriteBatch, dirty_before));
  return {};
}

Answer<void> BufferCache::write_inode(InodeNumber inode) {
  std::vector<Buffer*> chosen;
  for (Buffer* buffer = dirty_oldest_; buffer != nullptr; buffer = buffer->dirty_links.next) {
    if (buffer->tag.inode != inode) continue;
    ++buffer->users;
    chosen.push_back(buffer);
  }
  std::ranges::sort(chosen, {}, &Buffer::block);
  auto answer = write(chosen, IoReason::kDemand);
  for (Buffer* buffer : chosen) --buffer->users;
  return answer;
}

void BufferCache::begin_flusher(DirtyLimits limits) {
  has_flusher_ = true;
  limits_ = limits;
}

void BufferCache::end_flusher() {
  has_flusher_ = false;
  host_.wake(&throttled_);
}

Answer<void> BufferCache::write_excess() {
  while (dirty_count_ > limits_.background)
    EXT3_TRY(write_oldest(kWriteBatch, Nanoseconds(std::numeric_limits<std::int64_t>::max())));
  return {};
}

Answer<void> BufferCache::balance_dirty() {
  if (has_flusher_) {
    if (dirty_count_ > limits_.background) host_.wake(flush_channel());
    while (has_flusher_ && dirty_count_ + writeback_count_ > limits_.most) {
      ++throttled_;
      host_.wait(&throttled_);
      --throttled_;
    }
    return {};
  }
  if (dirty_count_ <= capacity_ / kDirtyShare || balancing_) return {};
  balancing_ = true;
  auto answer =
      write_oldest(std::max(kWriteBatch, dirty_count_ / 2), Nanoseconds(std::numeric_limits<std::int64_t>::max()));
  balancing_ = false;
  return answer;
}

Answer<void> BufferCache::flush_device() {
  const HostPause outside(host_);
  return device_.flush();
}

}  // namespace iotape::ext3
