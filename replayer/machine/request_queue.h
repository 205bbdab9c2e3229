// RequestQueue: what waits for the disk. Neighbours are merged up to a largest request (at the back, at the front, and
// when a gap between two is filled), and an elevator says which goes next.
//
// Pure: no clock and no I/O of its own. Requests that overlap must not wait together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "replayer/machine/elevator.h"

namespace iotape::machine {

class RequestQueue {
 public:
  // largest: sectors of one request.
  RequestQueue(ElevatorKind elevator, std::int64_t largest) : elevator_(make_elevator(elevator)), largest_(largest) {}

  // The piece's sectors, which are at most the largest request. True: it was merged into a request that waited already.
  bool add(QueuedPiece piece, std::int64_t length, bool write, Nanoseconds now);
  // The next one for the disk, which is the caller's from now on; nullptr: nothing waits.
  std::unique_ptr<QueuedRequest> next(std::int64_t head, Nanoseconds now);

  [[nodiscard]] std::size_t count() const { return requests_.size(); }
  [[nodiscard]] std::int64_t largest() const { return largest_; }

 private:
  [[nodiscard]] QueuedRequest* ending_at(std::int64_t sector, bool write) const;
  [[nodiscard]] QueuedRequest* beginning_at(std::int64_t sector, bool write) const;
  bool merge(QueuedPiece& piece, std::int64_t length, bool write);
  void join(QueuedRequest& first, QueuedRequest& second);

  std::unique_ptr<Elevator> elevator_;
  std::int64_t largest_;
  std::uint64_t sequence_ = 0;
  std::unordered_map<const QueuedRequest*, std::unique_ptr<QueuedRequest>> requests_;  // never walked
};

}  // namespace iotape::machine
