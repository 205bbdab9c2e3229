// Carries out one recorded call on a mounted volume, for a traced thread: what a kernel's system call layer would do
// above the filesystem (descriptors, flags, umask, permission), and then the filesystem's own operation.
//
// What the built-in filesystem has no meaning for is skipped and says why: memory mappings (kMemoryOnly), mounts and
// the like (kNotReplayable). Locks are granted at once: nothing here competes for them but the replayed calls, whose
// order the engine keeps. fallocate is EOPNOTSUPP, as on ext3.
// REQUIRES: inside the monitor. May wait. Answers are data; nothing here fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/event.h"
#include "replayer/ext3/calls/call_thread.h"

namespace iotape::ext3 {

// Where the bytes that calls write come from, and where the bytes that they read go.
class CallData {
 public:
  CallData() = default;
  CallData(const CallData&) = delete;
  CallData& operator=(const CallData&) = delete;
  virtual ~CallData() = default;
  virtual std::span<const std::byte> to_write(std::size_t length) = 0;
  virtual std::span<std::byte> to_read(std::size_t length) = 0;
};

struct CallAnswer {
  OpOutcome outcome;
  FileReference opened;                      // of an Open
  std::vector<std::string> directory_names;  // of a ReadDirectory
  SkipReason skipped = SkipReason::kIssued;
};

// number: the x86-64 system call, one of the operation's family. device: what opened files are said to lie on.
CallAnswer issue_call(Volume& volume, CallThread& thread, const Operation& operation, std::uint32_t number,
                      CallData& data, DeviceId device);

}  // namespace iotape::ext3
