#include "replayer/fuse_mount/tender.h"

#include <algorithm>

#include "replayer/ext3/daemons.h"

namespace iotape::fuse_mount {
namespace {

constexpr Nanoseconds kLongestPause{1'000'000'000};

}  // namespace

Tender::Tender(ext3::Volume& volume) : volume_(volume) {
  if (volume.read_only) return;
  ext3::FlusherOptions options;
  options.interval = std::min(options.interval, kLongestPause);
  journal_ = std::jthread([&volume] { ext3::run_commit_daemon(volume); });
  flusher_ = std::jthread([&volume, options] { ext3::run_flush_daemon(volume, options); });
}

Tender::~Tender() {
  const ext3::HostEntry inside(volume_.host);
  ext3::end_daemons(volume_);
}

}  // namespace iotape::fuse_mount
