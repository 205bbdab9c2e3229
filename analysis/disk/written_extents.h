// WrittenExtents: what a disk's write cache holds and has not yet put on the platter, oldest first.
//
// Every write asks whether it overwrites what waits, so the question is answered without a branch: starts and ends lie
// apart, a place without an extent covers nothing, and all places are looked at.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace iotape {

class WrittenExtents {
 public:
  static constexpr std::size_t kMost = 64;

  WrittenExtents() { starts_.fill(kNowhere); }

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::int64_t sectors() const { return sectors_; }
  // Whether one of them holds all of [start, end).
  [[nodiscard]] bool covers(std::int64_t start, std::int64_t end) const {
    std::int64_t none = -1;  // its sign falls when neither of a pair's differences is below zero
    for (std::size_t i = 0; i < kMost; ++i) none &= (start - starts_[i]) | (ends_[i] - end);
    return none >= 0;
  }
  // Whether a write that begins there goes on where the newest ends.
  [[nodiscard]] bool ends_at(std::int64_t start) const { return count_ > 0 && ends_[newest()] == start; }

  // REQUIRES, of the three: not empty.
  [[nodiscard]] std::int64_t oldest_start() const { return starts_[first_]; }
  [[nodiscard]] std::int64_t oldest_length() const { return ends_[first_] - starts_[first_]; }
  [[nodiscard]] std::int64_t oldest_ready() const { return ready_[first_]; }

  // ready: when it came into the cache. REQUIRES: fewer than kMost, or an end to join.
  void add(std::int64_t start, std::int64_t end, std::int64_t ready) {
    sectors_ += end - start;
    if (ends_at(start)) {
      ends_[newest()] = end;
      return;
    }
    ++count_;
    starts_[newest()] = start;
    ends_[newest()] = end;
    ready_[newest()] = ready;
  }
  // The first so many sectors of the oldest leave. REQUIRES: it has them.
  void take(std::int64_t sectors) {
    sectors_ -= sectors;
    starts_[first_] += sectors;
    if (starts_[first_] < ends_[first_]) return;
    starts_[first_] = kNowhere;
    first_ = (first_ + 1) % kMost;
    --count_;
  }

 private:
  static constexpr std::int64_t kNowhere = std::int64_t{1} << 61U;  // beyond any disk
  [[nodiscard]] std::size_t newest() const { return (first_ + count_ - 1) % kMost; }

  std::array<std::int64_t, kMost> starts_{};
  std::array<std::int64_t, kMost> ends_{};
  std::array<std::int64_t, kMost> ready_{};
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::int64_t sectors_ = 0;
};

}  // namespace iotape
