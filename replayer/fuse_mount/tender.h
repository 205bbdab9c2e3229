// Tender: the two threads of a mounted volume's own (daemons.h): kjournald commits, the flusher writes back, so that
// who writes does not have to.
#pragma once

#include <thread>

#include "replayer/ext3/volume.h"

namespace iotape::fuse_mount {

class Tender {
 public:
  explicit Tender(ext3::Volume& volume);
  Tender(const Tender&) = delete;
  Tender& operator=(const Tender&) = delete;
  ~Tender();

 private:
  ext3::Volume& volume_;
  std::jthread journal_;
  std::jthread flusher_;
};

}  // namespace iotape::fuse_mount
