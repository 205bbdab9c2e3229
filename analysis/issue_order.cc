#include "analysis/issue_order.h"

#include <algorithm>

namespace iotape {
namespace {

constexpr std::size_t kNearSteps = 64;          // how far back an access is placed by moving its neighbours
constexpr std::size_t kSmallestGarbage = 4096;  // do not move what waits for less than this

}  // namespace

IssueOrder::IssueOrder(std::size_t bound) : bound_(std::max<std::size_t>(bound, 1)) {}

void IssueOrder::insert(const Entry& entry) {
  if (given_any_ && entry.access.time < last_given_) ++violations_;
  const std::size_t steps = std::min(kNearSteps, near_.size() - front_);
  std::size_t place = near_.size();
  while (place > near_.size() - steps && before(entry, near_[place - 1])) --place;
  const bool found = place > near_.size() - steps || place == front_ || !before(entry, near_[place - 1]);
  if (found) {
    near_.insert(near_.begin() + static_cast<std::ptrdiff_t>(place), entry);
  } else {
    far_.push(entry);
  }
}

HeadAccess IssueOrder::pop() {
  HeadAccess next;
  if (!far_.empty() && (front_ == near_.size() || before(far_.top(), near_[front_]))) {
    next = far_.top().access;
    far_.pop();
  } else {
    next = near_[front_++].access;
    compact();
  }
  if (!given_any_ || last_given_ < next.time) last_given_ = next.time;
  given_any_ = true;
  return next;
}

void IssueOrder::compact() {
  if (front_ < kSmallestGarbage || front_ < (near_.size() - front_) / 4) return;
  near_.erase(near_.begin(), near_.begin() + static_cast<std::ptrdiff_t>(front_));
  front_ = 0;
}

}  // namespace iotape
