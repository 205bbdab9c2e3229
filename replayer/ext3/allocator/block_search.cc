#include "replayer/ext3/allocator/block_search.h"

#include <algorithm>

namespace iotape::ext3 {
namespace {

constexpr std::uint32_t kBackingUp = 7;  // more would have been found as a free byte

bool holds_goal(const GroupBits& group, const ReservationWindow& window, std::optional<std::uint32_t> goal) {
  if (!window.overlaps(group.first_block, group.last_block())) return false;
  return !goal || window.covers(group.first_block + *goal);
}

// A window more than half of which was used was too small.
void choose_size(ReservationWindow& window) {
  if (window.empty() || window.hits <= window.size() / 2) return;
  window.goal_size = std::min(window.goal_size * 2, kLargestWindowBlocks);
}

// Moves the window to a place at or after the goal that has a free block. False: none in this group.
bool place_window(const GroupBits& group, std::optional<std::uint32_t> goal, ReservationWindow& window,
                  ReservationWindows& windows) {
  std::uint32_t from = group.first_block + goal.value_or(0);
  // It reaches into the next group, and this group's part of it is used up: there is more of it there.
  if (window.overlaps(group.first_block, group.last_block()) && window.last > group.last_block() &&
      from >= window.first)
    return false;
  choose_size(window);
  while (windows.move(window, from, group.last_block(), window.goal_size)) {
    const auto free = next_free(group.bits, window.first - group.first_block, group.count);
    if (!free) break;
    from = group.first_block + *free;
    if (window.covers(from)) return true;
  }
  windows.remove(window);
  return false;
}

std::optional<std::uint32_t> search_window(const GroupBits& group, std::optional<std::uint32_t> goal,
                                           const ReservationWindow& window) {
  const std::uint32_t begin = std::max(window.first, group.first_block) - group.first_block;
  const std::uint32_t end = std::min(window.last, group.last_block()) - group.first_block + 1;
  if (!goal || *goal < begin || *goal >= end) return find_near(group.bits, begin, end);
  return group.bits.free(*goal) ? goal : find_near(group.bits, *goal, end);
}

}  // namespace

std::optional<std::uint32_t> search_group(const GroupBits& group, std::optional<std::uint32_t> goal) {
  const std::uint32_t start = goal.value_or(0);
  if (goal && *goal < group.count && group.bits.free(*goal)) return goal;
  auto found = find_near(group.bits, start, group.count);
  for (std::uint32_t i = 0; found && i<kBackingUp&& * found> start && group.bits.free(*found - 1); ++i) --*found;
  return found;
}

std::optional<std::uint32_t> search_with_window(const GroupBits& group, std::optional<std::uint32_t> goal,
                                                ReservationWindow& window, ReservationWindows& windows) {
  // A window may be full without the goal being outside it: then it moves once, to where something is free.
  for (bool moved = false;; moved = true) {
    if (moved || !holds_goal(group, window, goal)) {
      if (!place_window(group, goal, window, windows)) return std::nullopt;
      if (!holds_goal(group, window, goal)) goal.reset();
      moved = true;
    }
    if (const auto found = search_window(group, goal, window)) {
      ++window.hits;
      return found;
    }
    if (moved) return std::nullopt;
  }
}

}  // namespace iotape::ext3
