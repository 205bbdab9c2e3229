// ThreadHost: the built-in ext3 on operating-system threads and the machine's clock.
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>

#include "replayer/ext3/host.h"

namespace iotape::ext3 {

class ThreadHost final : public Host {
 public:
  void lock() override { mutex_.lock(); }
  void unlock() override { mutex_.unlock(); }
  void wait(const void* channel) override;
  void wait_until(const void* channel, Nanoseconds deadline) override;
  void wake(const void* channel) override;
  [[nodiscard]] Nanoseconds now() const override;
  [[nodiscard]] std::uint32_t thread() const override;

 private:
  // Channels share a few condition variables by their address; a waiter checks its own condition again anyway.
  struct Bucket {
    std::condition_variable sleepers;
    std::uint32_t count = 0;
  };
  Bucket& bucket(const void* channel);

  std::mutex mutex_;
  std::array<Bucket, 64> buckets_;
};

}  // namespace iotape::ext3
