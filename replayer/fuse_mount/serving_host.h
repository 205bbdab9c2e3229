// ServingHost: operating-system threads that work on behalf of others: the kernel's requests name the thread whose call
// they serve, and that is who dirties a block or decides where in a group a file begins.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include "replayer/ext3/thread_host.h"

namespace iotape::fuse_mount {

class ServingHost final : public ext3::Host {
 public:
  void lock() override { threads_.lock(); }
  void unlock() override { threads_.unlock(); }
  void wait(const void* channel) override { threads_.wait(channel); }
  void wait_until(const void* channel, Nanoseconds deadline) override { threads_.wait_until(channel, deadline); }
  void wake(const void* channel) override { threads_.wake(channel); }
  [[nodiscard]] Nanoseconds now() const override { return threads_.now(); }
  // What nobody asked for is the program's own.
  [[nodiscard]] std::uint32_t thread() const override {
    const pid_t served = client();
    return static_cast<std::uint32_t>(served != 0 ? served : own_);
  }

  // The thread whose request this thread of ours serves; 0: none.
  static pid_t& client() {
    static thread_local pid_t current = 0;
    return current;
  }

 private:
  ext3::ThreadHost threads_;
  pid_t own_ = ::getpid();
};

}  // namespace iotape::fuse_mount
