// ClientNotes: tells a trace which processes ask, and what they are called, when they are first seen and now and then
// after (a shell's child becomes another program).
#pragma once

#include <sys/types.h>

#include <mutex>
#include <string>
#include <unordered_map>

#include "replayer/ext3/trace/request_trace.h"

namespace iotape::fuse_mount {

class ClientNotes {
 public:
  // REQUIRES: trace outlives this.
  explicit ClientNotes(ext3::RequestTrace& trace) : trace_(trace) {}
  // 0, and what has gone already, are nobody.
  void met(pid_t thread);

 private:
  struct Known {
    Nanoseconds looked;
    std::string command;
  };
  ext3::RequestTrace& trace_;
  std::mutex mutex_;
  std::unordered_map<pid_t, Known> known_;
};

}  // namespace iotape::fuse_mount
