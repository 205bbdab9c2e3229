// Host: the only way in which the built-in ext3 locks, waits and reads the time.
//
// The core is a monitor. A thread is inside between lock() and unlock(); whatever happens inside without a call that
// may wait is atomic. wait() leaves the monitor, sleeps until somebody wakes the channel (any address names one), and
// comes back in; it may come back for no reason, so callers wait in a loop on their own condition. Device I/O is done
// outside (see HostPause), so that others go on meanwhile.
// Two hosts: ThreadHost (operating-system threads: FUSE, images, replay in real time) and FiberHost (fibers on a
// virtual clock: the same calls in the same order every time).
#pragma once

#include <cstdint>

#include "format/base/strong_id.h"

namespace iotape::ext3 {

class Host {
 public:
  Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  virtual ~Host() = default;

  virtual void lock() = 0;
  virtual void unlock() = 0;
  // REQUIRES: the caller is inside.
  virtual void wait(const void* channel) = 0;
  virtual void wait_until(const void* channel, Nanoseconds deadline) = 0;
  virtual void wake(const void* channel) = 0;  // everybody who waits on it

  // Nanoseconds since 1970; never runs backwards. As fine as a filesystem needs (a kernel's tick), and cheap.
  [[nodiscard]] virtual Nanoseconds now() const = 0;
  // A small number that tells the calling threads apart: who dirtied a block, which part of a group a file starts in.
  [[nodiscard]] virtual std::uint32_t thread() const = 0;
};

// Inside for as long as it lives.
class HostEntry {
 public:
  explicit HostEntry(Host& host) : host_(host) { host_.lock(); }
  HostEntry(const HostEntry&) = delete;
  HostEntry& operator=(const HostEntry&) = delete;
  ~HostEntry() { host_.unlock(); }

 private:
  Host& host_;
};

// Outside for as long as it lives, around a device's I/O. REQUIRES: inside before.
class HostPause {
 public:
  explicit HostPause(Host& host) : host_(host) { host_.unlock(); }
  HostPause(const HostPause&) = delete;
  HostPause& operator=(const HostPause&) = delete;
  ~HostPause() { host_.lock(); }

 private:
  Host& host_;
};

}  // namespace iotape::ext3
