#include "replayer/ext3/daemons.h"

namespace iotape::ext3 {

void run_commit_daemon(Volume& volume) {
  const HostEntry inside(volume.host);
  if (!volume.read_only) volume.journal->serve();
}

void run_flush_daemon(Volume& volume, const FlusherOptions& options) {
  const HostEntry inside(volume.host);
  BufferCache& cache = *volume.cache;
  const std::size_t blocks = volume.options.cache_bytes / volume.geometry.block_size;
  cache.begin_flusher({blocks * options.background_percent / 100, blocks * options.most_percent / 100});
  Nanoseconds next_look = volume.host.now() + options.interval;
  while (!volume.daemons_end) {
    volume.host.wait_until(cache.flush_channel(), next_look);
    Answer<void> answer;
    if (volume.host.now() >= next_look) {
      answer = cache.write_older(volume.host.now() - volume.options.writeback_age);
      next_look = volume.host.now() + options.interval;
    }
    if (answer) answer = cache.write_excess();
    if (!answer) volume.lost_write = answer.error();  // whoever asks by fsync is told
  }
  cache.end_flusher();
}

void end_daemons(Volume& volume) {
  volume.daemons_end = true;
  volume.journal->end_service();
  volume.host.wake(volume.cache->flush_channel());
}

}  // namespace iotape::ext3
