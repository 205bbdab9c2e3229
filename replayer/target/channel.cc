#include "replayer/target/channel.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace iotape {
namespace {

constexpr Nanoseconds kSpin{50'000};
constexpr std::size_t kPage = 4096;

int spare_processors() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  if (::sched_getaffinity(0, sizeof(processors), &processors) != 0) return 0;
  return CPU_COUNT(&processors) > 1 ? CPU_COUNT(&processors) : 0;
}

}  // namespace

void Channel::Unmap::operator()(Shared* shared) const { ::munmap(shared, bytes); }

Result<Channel> Channel::make() {
  const std::size_t shared_bytes = (sizeof(Shared) + kPage - 1) / kPage * kPage;
  const std::size_t bytes = shared_bytes + kThreadSlots * kAreaBytes;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return system_failure("mapping the memory shared with the replaying process", errno);
  auto* shared = new (memory) Shared;
  shared->spare_spinners.store(spare_processors());
  return Channel(std::unique_ptr<Shared, Unmap>(shared, Unmap{bytes}), static_cast<std::byte*>(memory) + shared_bytes);
}

Nanoseconds Channel::begin_spin() {
  return shared_->spare_spinners.fetch_sub(1, std::memory_order_relaxed) > 0 ? kSpin : Nanoseconds(0);
}
void Channel::end_spin() { shared_->spare_spinners.fetch_add(1, std::memory_order_relaxed); }

bool Channel::next_completed(std::uint32_t& index, bool spin, Nanoseconds timeout) {
  auto& entry = shared_->ring.at(ring_head_ % kThreadSlots);
  const std::uint32_t published = shared_->published.value.load(std::memory_order_acquire);
  if (entry.load(std::memory_order_acquire) == 0) {
    shared_->published.wait_while(published, spin ? begin_spin() : Nanoseconds(0), timeout);
    if (spin) end_spin();
  }
  const std::uint32_t found = entry.load(std::memory_order_acquire);
  if (found == 0) return false;
  entry.store(0, std::memory_order_release);
  ++ring_head_;
  index = found - 1;
  return true;
}

bool Channel::has_completed() const {
  return shared_->ring.at(ring_head_ % kThreadSlots).load(std::memory_order_acquire) != 0;
}

// A slot is in the ring at most once, so the ring cannot overflow.
void Channel::complete(std::size_t index) {
  const std::uint32_t place = shared_->ring_tail.fetch_add(1, std::memory_order_relaxed);
  shared_->ring.at(place % kThreadSlots).store(static_cast<std::uint32_t>(index) + 1, std::memory_order_seq_cst);
  shared_->published.value.fetch_add(1, std::memory_order_seq_cst);
  if (shared_->published.sleepers.load(std::memory_order_seq_cst) != 0) futex_wake_all(shared_->published.value);
}

void Channel::set_error(const Error& error) {
  shared_->error_code = error.code;
  shared_->error_number = error.os_errno;
  const std::size_t size = std::min(error.message.size(), kErrorBytes - 1);
  std::memcpy(shared_->error_text.data(), error.message.data(), size);
  shared_->error_text.at(size) = '\0';
}

Error Channel::error() const { return {shared_->error_code, shared_->error_text.data(), shared_->error_number}; }

}  // namespace iotape
