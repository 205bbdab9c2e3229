#include "recorder/calibration.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <limits>
#include <utility>

namespace iotape {
namespace {

constexpr int kBatches = 7;
constexpr int kCallsPerBatch = 2000;

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kNanosecondsPerSecond + time.tv_nsec;
}

// The quietest batch: other work on the machine only ever adds.
std::int64_t cost_of_batch(int descriptor) {
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (int batch = 0; batch < kBatches; ++batch) {
    const std::int64_t begin = now();
    for (int call = 0; call < kCallsPerBatch; ++call) ::lseek(descriptor, 0, SEEK_CUR);
    best = std::min(best, now() - begin);
  }
  return best / kCallsPerBatch;
}

[[noreturn]] void run_child(int in, int out) {
  const int device = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const std::int64_t plain = cost_of_batch(device);
  char go = 0;
  bool sound = ::write(out, &go, 1) == 1 && ::read(in, &go, 1) == 1;
  const std::int64_t cost = std::max<std::int64_t>(cost_of_batch(device) - plain, 0);
  sound = sound && ::write(out, &cost, sizeof cost) == static_cast<ssize_t>(sizeof cost);
  ::_exit(sound ? 0 : 1);
}

}  // namespace

Result<Calibration> Calibration::start() {
  int down[2];
  int up[2];
  if (::pipe2(down, O_CLOEXEC) != 0) return system_failure("making a pipe", errno);
  FileDescriptor child_in(down[0]);
  Calibration made;
  made.to_child_.reset(down[1]);
  if (::pipe2(up, O_CLOEXEC) != 0) return system_failure("making a pipe", errno);
  made.from_child_.reset(up[0]);
  FileDescriptor child_out(up[1]);
  made.child_ = ::fork();
  if (made.child_ < 0) return system_failure("starting the calibration", errno);
  if (made.child_ == 0) {
    // Its own copy of the writing end would keep its read from ever seeing the end of a recorder that was killed.
    made.to_child_.reset();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    run_child(child_in.get(), child_out.get());
  }
  child_out.reset();
  char ready = 0;
  if (::read(made.from_child_.get(), &ready, 1) != 1)
    return failure(ErrorCode::kIo, "the calibration's child ended early");
  return made;
}

Calibration::~Calibration() {
  if (!to_child_) return;  // moved from
  to_child_.reset();
  if (child_ > 0) ::waitpid(child_, nullptr, 0);
}

Result<Nanoseconds> Calibration::finish() {
  const char go = 1;
  std::int64_t cost = 0;
  if (::write(to_child_.get(), &go, 1) != 1 ||
      ::read(from_child_.get(), &cost, sizeof cost) != static_cast<ssize_t>(sizeof cost))
    return failure(ErrorCode::kIo, "the calibration's child ended early");
  return Nanoseconds(cost);
}

}  // namespace iotape
