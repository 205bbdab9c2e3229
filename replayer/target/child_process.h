// A forked process of our own: ended and reaped when its owner goes, so that none is left behind.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "format/base/result.h"

namespace iotape {

class ChildProcess {
 public:
  ChildProcess() = default;
  ~ChildProcess() { kill(); }
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Forks; the child runs body and exits with what it returns. It ignores the terminal's signals (its owner decides
  // when it ends) and is killed when the calling thread ends, whatever ended it.
  static Result<ChildProcess> start(const std::function<int()>& body);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool running() const { return pid_ > 0; }
  // The wait(2) status once it has ended; reaps it.
  std::optional<int> poll();
  int wait();
  void kill();

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_ = 0;
};

// "exited with 3", "was killed by signal 9"
std::string describe_wait_status(int status);

}  // namespace iotape
