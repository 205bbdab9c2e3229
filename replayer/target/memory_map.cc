#include "replayer/target/memory_map.h"

namespace iotape {
namespace {

constexpr std::size_t kMaximumMappings = 16'384;
constexpr std::uint64_t kMaximumBytes = std::uint64_t{1} << 44U;
constexpr std::uint64_t kPage = 4096;

std::uint64_t whole_pages(std::uint64_t length) { return (length + kPage - 1) / kPage * kPage; }

}  // namespace

bool MemoryMap::has_room(std::uint64_t length) const {
  const std::scoped_lock lock(mutex_);
  return length <= kMaximumBytes && ranges_.size() < kMaximumMappings && total_ <= kMaximumBytes - length;
}

void MemoryMap::add(std::uint64_t address, std::uint64_t length) {
  const std::scoped_lock lock(mutex_);
  ranges_[address] = address + whole_pages(length);
  total_ += whole_pages(length);
}

void MemoryMap::remove(std::uint64_t address, std::uint64_t length) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t end = address + whole_pages(length);
  const auto found = ranges_.upper_bound(address);
  if (found == ranges_.begin()) return;
  const auto range = std::prev(found);
  const auto [range_start, range_end] = *range;
  if (end > range_end) return;
  total_ -= end - address;
  ranges_.erase(range);
  if (range_start < address) ranges_[range_start] = address;
  if (end < range_end) ranges_[end] = range_end;
}

bool MemoryMap::contains(std::uint64_t address, std::uint64_t length) const {
  const std::scoped_lock lock(mutex_);
  const auto found = ranges_.upper_bound(address);
  if (length > kMaximumBytes || found == ranges_.begin()) return false;
  return address + whole_pages(length) <= std::prev(found)->second;
}

}  // namespace iotape
