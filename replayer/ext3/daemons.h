// The threads a mounted volume has of its own where its host gives it some: kjournald, which commits, and the flusher,
// which writes back. Without them whoever calls does both (tend_volume).
#pragma once

#include "replayer/ext3/volume.h"

namespace iotape::ext3 {

// As Linux 2.6 has them in /proc/sys/vm: shares of the cache in percent.
struct FlusherOptions {
  std::uint32_t background_percent = 10;              // dirty_background_ratio: the flusher begins
  std::uint32_t most_percent = 40;                    // dirty_ratio: those who write wait for it
  Nanoseconds interval{std::int64_t{5'000'000'000}};  // dirty_writeback_centisecs: it looks for what is old
};

// Bodies of the two threads, which the host starts: they enter the monitor and return after end_daemons().
void run_commit_daemon(Volume& volume);
void run_flush_daemon(Volume& volume, const FlusherOptions& options);

// Asks both to return; the host waits for them before it unmounts. REQUIRES: inside.
void end_daemons(Volume& volume);

}  // namespace iotape::ext3
