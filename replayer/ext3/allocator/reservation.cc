#include "replayer/ext3/allocator/reservation.h"

#include <algorithm>
#include <iterator>

namespace iotape::ext3 {

ReservationWindow::~ReservationWindow() {
  if (owner != nullptr) owner->remove(*this);
}

bool ReservationWindows::move(ReservationWindow& window, std::uint32_t from, std::uint32_t limit, std::uint32_t size) {
  auto next = by_first_.upper_bound(from);
  std::uint64_t begin = from;
  if (next != by_first_.begin()) begin = std::max(begin, std::uint64_t{std::prev(next)->second->last} + 1);
  for (; next != by_first_.end() && begin + size > next->second->first; ++next)
    begin = std::max(begin, std::uint64_t{next->second->last} + 1);
  if (begin > limit) return false;
  // The tree's node goes along: a window that moves costs no memory.
  const auto first = static_cast<std::uint32_t>(begin);
  auto node = window.empty() ? decltype(by_first_)::node_type{} : by_first_.extract(window.first);
  window.first = first;
  window.last = static_cast<std::uint32_t>(std::min<std::uint64_t>(begin + size - 1, 0xFFFFFFFF));
  window.hits = 0;
  window.owner = this;
  if (node.empty()) {
    by_first_.emplace(first, &window);
  } else {
    node.key() = first;
    by_first_.insert(std::move(node));
  }
  return true;
}

void ReservationWindows::remove(ReservationWindow& window) {
  if (window.empty()) return;
  by_first_.erase(window.first);
  window.first = window.last = window.hits = 0;
  window.owner = nullptr;
}

}  // namespace iotape::ext3
