// SIGINT, SIGTERM and SIGHUP (unless it is ignored, as nohup has it) end a replay with its report, also while a call
// blocks or the tree is made. A thread of its own takes them, so that no state is shared with a handler; after the
// first one it lets the next end the program at once.
#pragma once

#include <signal.h>

#include <atomic>
#include <stop_token>
#include <thread>

namespace iotape {

// One at a time, made before any thread that must not be interrupted: the signals are blocked while it lives.
class StopRequests {
 public:
  StopRequests();
  ~StopRequests();
  StopRequests(const StopRequests&) = delete;
  StopRequests& operator=(const StopRequests&) = delete;

  [[nodiscard]] bool seen() const { return seen_.load(std::memory_order_relaxed); }
  // For a target, which looks at it while it waits.
  [[nodiscard]] const std::atomic<bool>& flag() const { return seen_; }

 private:
  void watch(const std::stop_token& end);
  static void wait_for(const std::stop_token& end);

  sigset_t signals_{};
  sigset_t before_{};
  std::atomic<bool> seen_ = false;
  std::jthread watcher_;
};

}  // namespace iotape
