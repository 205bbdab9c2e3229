// IssueOrder: puts accesses into the order of their times. A trace holds requests in the order in which they completed;
// statistics want the order in which they were issued (or queued), and the two differ by what was in flight.
//
// Memory is bounded: at most `bound` accesses wait (48 bytes each). An access that comes so late that younger ones were
// already given out is a violation: it is counted, and given out next. Equal times keep the order of arrival.
//
// Almost every access belongs near the end of what waits, so the end is searched first, a few dozen steps back; only
// what belongs further back goes through a heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

#include "analysis/head_access.h"

namespace iotape {

class IssueOrder {
 public:
  static constexpr std::size_t kDefaultBound = 1'000'000;
  explicit IssueOrder(std::size_t bound = kDefaultBound);

  // Takes one access and gives out those that must leave: give(const HeadAccess&).
  template <typename Give>
  void add(const HeadAccess& access, Give&& give) {
    insert({access, arrivals_++});
    while (waiting() > bound_) give(pop());
  }
  // Gives out all that waits.
  template <typename Give>
  void finish(Give&& give) {
    while (waiting() > 0) give(pop());
  }
  [[nodiscard]] std::uint64_t violations() const { return violations_; }
  [[nodiscard]] std::size_t waiting() const { return near_.size() - front_ + far_.size(); }

 private:
  struct Entry {
    HeadAccess access;
    std::uint64_t arrival;
  };
  static bool before(const Entry& a, const Entry& b) {
    return a.access.time != b.access.time ? a.access.time < b.access.time : a.arrival < b.arrival;
  }
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const { return before(b, a); }
  };

  void insert(const Entry& entry);
  HeadAccess pop();
  void compact();

  std::size_t bound_;
  std::uint64_t arrivals_ = 0;
  std::uint64_t violations_ = 0;
  bool given_any_ = false;
  Nanoseconds last_given_;
  std::size_t front_ = 0;    // near_[0..front_) was given out
  std::vector<Entry> near_;  // sorted
  std::priority_queue<Entry, std::vector<Entry>, Later> far_;
};

}  // namespace iotape
