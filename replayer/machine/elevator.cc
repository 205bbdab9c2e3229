#include "replayer/machine/elevator.h"

#include <array>

namespace iotape::machine {
namespace {

template <typename Map>
typename Map::mapped_type first_of(const Map& map) {
  return map.empty() ? nullptr : map.begin()->second;
}

QueuedRequest* at_or_after(const SortedRequests& sorted, std::int64_t sector) {
  const auto found = sorted.lower_bound(sector);
  return found == sorted.end() ? nullptr : found->second;
}

class Noop final : public Elevator {
 public:
  QueuedRequest* choose(std::int64_t /*head*/, Nanoseconds /*now*/) override {
    QueuedRequest* const read = first_of(arrivals(false));
    QueuedRequest* const write = first_of(arrivals(true));
    if (read == nullptr || write == nullptr) return read != nullptr ? read : write;
    return read->sequence < write->sequence ? read : write;
  }
};

class Clook final : public Elevator {
 public:
  QueuedRequest* choose(std::int64_t head, Nanoseconds /*now*/) override {
    QueuedRequest* const ahead = lower(at_or_after(sorted(false), head), at_or_after(sorted(true), head));
    return ahead != nullptr ? ahead : lower(first_of(sorted(false)), first_of(sorted(true)));
  }

 private:
  static QueuedRequest* lower(QueuedRequest* a, QueuedRequest* b) {
    if (a == nullptr || b == nullptr) return a != nullptr ? a : b;
    return b->start < a->start ? b : a;
  }
};

class Deadline final : public Elevator {
 public:
  QueuedRequest* choose(std::int64_t /*head*/, Nanoseconds now) override {
    QueuedRequest* chosen = batch_ < kBatch ? at_or_after(sorted(writing_), ends_[index(writing_)]) : nullptr;
    if (chosen == nullptr) {
      if (sorted(false).empty() && sorted(true).empty()) return nullptr;
      batch_ = 0;
      writing_ = turn_to_write();
      chosen = begin_batch(now);
    }
    ++batch_;
    ends_[index(writing_)] = chosen->end();
    return chosen;
  }

 private:
  static constexpr std::uint32_t kBatch = 16;         // fifo_batch
  static constexpr std::uint32_t kWritesStarved = 2;  // batches of reads that may go before waiting writes
  static constexpr std::array<Nanoseconds, 2> kExpires{Nanoseconds(500'000'000), Nanoseconds(5'000'000'000)};
  static std::size_t index(bool write) { return write ? 1 : 0; }

  bool turn_to_write() {
    if (sorted(false).empty()) {
      starved_ = 0;
      return true;
    }
    if (sorted(true).empty()) return false;
    if (starved_ < kWritesStarved) {
      ++starved_;
      return false;
    }
    starved_ = 0;
    return true;
  }
  QueuedRequest* begin_batch(Nanoseconds now) {
    QueuedRequest* const oldest = first_of(arrivals(writing_));
    if (oldest->arrival + kExpires[index(writing_)] <= now) return oldest;
    QueuedRequest* const next = at_or_after(sorted(writing_), ends_[index(writing_)]);
    return next != nullptr ? next : oldest;
  }

  std::array<std::int64_t, 2> ends_{};  // where each direction's sweep stands
  bool writing_ = false;
  std::uint32_t batch_ = kBatch;
  std::uint32_t starved_ = 0;
};

}  // namespace

std::optional<ElevatorKind> elevator_kind(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, ElevatorKind>, 3> kWords{
      {{"noop", ElevatorKind::kNoop}, {"clook", ElevatorKind::kClook}, {"deadline", ElevatorKind::kDeadline}}};
  for (const auto& [name, kind] : kWords)
    if (name == word) return kind;
  return std::nullopt;
}

void Elevator::add(QueuedRequest& request) {
  sorted_[request.write ? 1 : 0].emplace(request.start, &request);
  arrivals_[request.write ? 1 : 0].emplace(request.sequence, &request);
}

void Elevator::remove(QueuedRequest& request) {
  SortedRequests& sorted = sorted_[request.write ? 1 : 0];
  auto at = sorted.find(request.start);
  while (at->second != &request) ++at;
  sorted.erase(at);
  arrivals_[request.write ? 1 : 0].erase(request.sequence);
}

std::unique_ptr<Elevator> make_elevator(ElevatorKind kind) {
  switch (kind) {
    case ElevatorKind::kNoop:
      return std::make_unique<Noop>();
    case ElevatorKind::kClook:
      return std::make_unique<Clook>();
    case ElevatorKind::kDeadline:
      return std::make_unique<Deadline>();
  }
  return nullptr;
}

}  // namespace iotape::machine
