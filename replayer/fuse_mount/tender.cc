#include "replayer/fuse_mount/tender.h"

#include <algorithm>
#include <chrono>

#include "replayer/ext3/mount.h"

namespace iotape::fuse_mount {
namespace {

constexpr Nanoseconds kLongestPause{1'000'000'000};

}  // namespace

Tender::Tender(ext3::Volume& volume) : volume_(volume) {
  if (!volume.read_only) thread_ = std::jthread([this](const std::stop_token& end) { tend(end); });
}

// A volume that failed says so to whoever uses it; here there is nobody to tell.
void Tender::tend(const std::stop_token& end) {
  const auto pause = std::chrono::nanoseconds(std::min(volume_.options.commit_interval, kLongestPause).value);
  std::unique_lock lock(mutex_);
  while (!pause_.wait_for(lock, end, pause, [&end] { return end.stop_requested(); })) {
    const ext3::HostEntry inside(volume_.host);
    (void)ext3::tend_volume(volume_);
  }
}

}  // namespace iotape::fuse_mount
