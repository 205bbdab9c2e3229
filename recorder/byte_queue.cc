#include "recorder/byte_queue.h"

#include <utility>

namespace iotape {

bool ByteQueue::has_room() const {
  const std::lock_guard lock(mutex_);
  return bytes_ < limit_;
}

void ByteQueue::push(Chunk chunk) {
  const std::lock_guard lock(mutex_);
  bytes_ += chunk.size();
  chunks_.push_back(std::move(chunk));
  filled_.notify_one();
}

std::optional<ByteQueue::Chunk> ByteQueue::pop(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  filled_.wait_for(lock, patience, [&] { return !chunks_.empty() || closed_; });
  if (chunks_.empty()) return std::nullopt;
  Chunk chunk = std::move(chunks_.front());
  chunks_.pop_front();
  bytes_ -= chunk.size();
  return chunk;
}

ByteQueue::Chunk ByteQueue::reuse() {
  const std::lock_guard lock(mutex_);
  if (spare_.empty()) return {};
  Chunk chunk = std::move(spare_.back());
  spare_.pop_back();
  return chunk;
}

void ByteQueue::give_back(Chunk chunk) {
  constexpr std::size_t kSpares = 4;
  chunk.clear();
  const std::lock_guard lock(mutex_);
  if (spare_.size() < kSpares) spare_.push_back(std::move(chunk));
}

void ByteQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  filled_.notify_all();
}

bool ByteQueue::finished() const {
  const std::lock_guard lock(mutex_);
  return closed_ && chunks_.empty();
}

}  // namespace iotape
