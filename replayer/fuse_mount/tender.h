// Tender: the thread that does what a mounted volume needs now and then: commits that are due, old data written back.
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "replayer/ext3/volume.h"

namespace iotape::fuse_mount {

class Tender {
 public:
  explicit Tender(ext3::Volume& volume);

 private:
  void tend(const std::stop_token& end);

  ext3::Volume& volume_;
  std::mutex mutex_;
  std::condition_variable_any pause_;
  std::jthread thread_;  // the last: it uses the others
};

}  // namespace iotape::fuse_mount
