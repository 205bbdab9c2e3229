// A lock that is held across waits: an inode's, the mount's. Built on Host, so it costs two words and no system call
// when nobody contends. Not recursive.
#pragma once

#include <cstdint>

#include "replayer/ext3/host.h"

namespace iotape::ext3 {

class SleepLock {
 public:
  void acquire(Host& host) {
    while (held_) {
      ++waiters_;
      host.wait(this);
      --waiters_;
    }
    held_ = true;
  }
  void release(Host& host) {
    held_ = false;
    if (waiters_ != 0) host.wake(this);
  }
  [[nodiscard]] bool held() const { return held_; }

 private:
  bool held_ = false;
  std::uint32_t waiters_ = 0;
};

class SleepLockGuard {
 public:
  SleepLockGuard(Host& host, SleepLock& lock) : host_(host), lock_(lock) { lock_.acquire(host_); }
  SleepLockGuard(const SleepLockGuard&) = delete;
  SleepLockGuard& operator=(const SleepLockGuard&) = delete;
  ~SleepLockGuard() { lock_.release(host_); }

 private:
  Host& host_;
  SleepLock& lock_;
};

}  // namespace iotape::ext3
