#include "replayer/machine/request_queue.h"

#include <algorithm>
#include <iterator>

namespace iotape::machine {

// Requests do not overlap, so the one that begins before a sector is the only one that can end there.
QueuedRequest* RequestQueue::ending_at(std::int64_t sector, bool write) const {
  const SortedRequests& sorted = elevator_->sorted(write);
  const auto after = sorted.lower_bound(sector);
  if (after == sorted.begin()) return nullptr;
  QueuedRequest* const before = std::prev(after)->second;
  return before->end() == sector ? before : nullptr;
}

QueuedRequest* RequestQueue::beginning_at(std::int64_t sector, bool write) const {
  const auto found = elevator_->sorted(write).find(sector);
  return found == elevator_->sorted(write).end() ? nullptr : found->second;
}

// The second takes its place behind the first.
void RequestQueue::join(QueuedRequest& first, QueuedRequest& second) {
  elevator_->remove(second);
  const bool older = second.sequence < first.sequence;
  if (older) elevator_->remove(first);
  first.length += second.length;
  std::ranges::move(second.pieces, std::back_inserter(first.pieces));
  if (older) {  // what waited longest counts
    first.sequence = second.sequence;
    first.arrival = second.arrival;
    elevator_->add(first);
  }
  requests_.erase(&second);
}

// Takes the piece when it can.
bool RequestQueue::merge(QueuedPiece& piece, std::int64_t length, bool write) {
  if (QueuedRequest* const before = ending_at(piece.sector, write);
      before != nullptr && before->length + length <= largest_) {
    before->pieces.push_back(std::move(piece));
    before->length += length;
    QueuedRequest* const after = beginning_at(before->end(), write);
    if (after != nullptr && before->length + after->length <= largest_) join(*before, *after);
    return true;
  }
  QueuedRequest* const after = beginning_at(piece.sector + length, write);
  if (after == nullptr || after->length + length > largest_) return false;
  elevator_->remove(*after);
  after->start = piece.sector;
  after->pieces.insert(after->pieces.begin(), std::move(piece));
  after->length += length;
  elevator_->add(*after);
  return true;
}

bool RequestQueue::add(QueuedPiece piece, std::int64_t length, bool write, Nanoseconds now) {
  if (merge(piece, length, write)) return true;
  auto request = std::make_unique<QueuedRequest>();
  request->write = write;
  request->start = piece.sector;
  request->length = length;
  request->arrival = now;
  request->sequence = ++sequence_;
  request->pieces.push_back(std::move(piece));
  elevator_->add(*request);
  const QueuedRequest* const key = request.get();
  requests_.emplace(key, std::move(request));
  return false;
}

std::unique_ptr<QueuedRequest> RequestQueue::next(std::int64_t head, Nanoseconds now) {
  QueuedRequest* const chosen = elevator_->choose(head, now);
  if (chosen == nullptr) return nullptr;
  elevator_->remove(*chosen);
  return std::move(requests_.extract(chosen).mapped());
}

}  // namespace iotape::machine
