#include "replayer/engine/stop_requests.h"

#include <time.h>

#include <chrono>

namespace iotape {

StopRequests::StopRequests() {
  ::sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    const bool ignored = ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;  // as nohup has it
    if (!ignored) ::sigaddset(&signals_, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  watcher_ = std::jthread([this](const std::stop_token& end) { watch(end); });
}

StopRequests::~StopRequests() {
  watcher_ = {};
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void StopRequests::watch(const std::stop_token& end) {
  constexpr timespec kTick{0, 50'000'000};
  while (!end.stop_requested()) {
    if (::sigtimedwait(&signals_, nullptr, &kTick) <= 0) continue;
    seen_ = true;
    ::pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    return wait_for(end);
  }
}

// The thread must live for the next signal to find somebody who does not block it.
void StopRequests::wait_for(const std::stop_token& end) {
  constexpr auto kTick = std::chrono::milliseconds(50);
  while (!end.stop_requested()) std::this_thread::sleep_for(kTick);
}

}  // namespace iotape
