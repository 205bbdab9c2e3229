#include "replayer/ext3/thread_host.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>

namespace iotape::ext3 {
namespace {}  // namespace

ThreadHost::Bucket& ThreadHost::bucket(const void* channel) {
  const auto address = reinterpret_cast<std::uintptr_t>(channel);
  return buckets_[(address >> 6U ^ address >> 12U) % buckets_.size()];
}

void ThreadHost::wait(const void* channel) {
  Bucket& at = bucket(channel);
  ++at.count;
  std::unique_lock<std::mutex> held(mutex_, std::adopt_lock);
  at.sleepers.wait(held);
  held.release();
  --at.count;
}

void ThreadHost::wait_until(const void* channel, Nanoseconds deadline) {
  const std::int64_t left = deadline.value - now().value;
  if (left <= 0) return;
  Bucket& at = bucket(channel);
  ++at.count;
  std::unique_lock<std::mutex> held(mutex_, std::adopt_lock);
  at.sleepers.wait_for(held, std::chrono::nanoseconds(left));
  held.release();
  --at.count;
}

void ThreadHost::wake(const void* channel) {
  Bucket& at = bucket(channel);
  if (at.count != 0) at.sleepers.notify_all();
}

// The coarse clock: a kernel filesystem stamps its files with the tick as well, and it costs a tenth.
Nanoseconds ThreadHost::now() const {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &time);
  return Nanoseconds(time.tv_sec * kNanosecondsPerSecond + time.tv_nsec);
}

std::uint32_t ThreadHost::thread() const {
  static thread_local const auto kId = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  return kId;
}

}  // namespace iotape::ext3
