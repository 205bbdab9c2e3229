// SoloHost: the built-in ext3 for one thread that plays all others in turn, in real time. There is nobody to wait for,
// so lock and unlock cost nothing; a wait would be for something that this very thread has to do first.
#pragma once

#include <cassert>

#include "replayer/ext3/host.h"
#include "replayer/ext3/thread_host.h"

namespace iotape::ext3 {

class SoloHost final : public Host {
 public:
  void lock() override {}
  void unlock() override {}
  void wait(const void* /*channel*/) override { assert(false && "nobody else can end this wait"); }
  void wait_until(const void* /*channel*/, Nanoseconds /*deadline*/) override {}
  void wake(const void* /*channel*/) override {}
  [[nodiscard]] Nanoseconds now() const override { return clock_.now(); }
  [[nodiscard]] std::uint32_t thread() const override { return thread_; }

  // Whose turn it is.
  void become(std::uint32_t thread) { thread_ = thread; }

 private:
  ThreadHost clock_;
  std::uint32_t thread_ = 0;
};

}  // namespace iotape::ext3
