// A lock that is held across waits: an inode's, the mount's; by one thread, or shared by several that change nothing.
// Built on Host, so it costs a few words and no system call when nobody contends. Not recursive, shared neither: who
// wants it alone goes before those who come later to share it.
#pragma once

#include <cstdint>

#include "replayer/ext3/host.h"

namespace iotape::ext3 {

class SleepLock {
 public:
  void acquire(Host& host) {
    while (held_ || sharers_ != 0) {
      ++waiters_;
      host.wait(this);
      --waiters_;
    }
    held_ = true;
  }
  void release(Host& host) {
    held_ = false;
    if (waiters_ + waiting_sharers_ != 0) host.wake(this);
  }
  void acquire_shared(Host& host) {
    while (held_ || waiters_ != 0) {
      ++waiting_sharers_;
      host.wait(this);
      --waiting_sharers_;
    }
    ++sharers_;
  }
  void release_shared(Host& host) {
    if (--sharers_ == 0 && waiters_ != 0) host.wake(this);
  }
  [[nodiscard]] bool held() const { return held_; }

 private:
  bool held_ = false;
  std::uint32_t sharers_ = 0;
  std::uint32_t waiters_ = 0;  // for it alone
  std::uint32_t waiting_sharers_ = 0;
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

class SharedSleepLockGuard {
 public:
  SharedSleepLockGuard(Host& host, SleepLock& lock) : host_(host), lock_(lock) { lock_.acquire_shared(host_); }
  SharedSleepLockGuard(const SharedSleepLockGuard&) = delete;
  SharedSleepLockGuard& operator=(const SharedSleepLockGuard&) = delete;
  ~SharedSleepLockGuard() { lock_.release_shared(host_); }

 private:
  Host& host_;
  SleepLock& lock_;
};

}  // namespace iotape::ext3
