// What a replay may do to a target, decided before a call reaches the sandbox.
//
// The sandbox confines where calls land; the policy decides which are worth issuing at all and takes the teeth out of
// those that would leave something dangerous behind (setuid programs, device nodes, files of other users).
// Decisions: a call that makes sense in a weaker form is issued in that form and marked as adjusted (chown goes to the
// own user, setuid and setgid bits are left out); one that does not is refused (device nodes, security attributes).
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "format/event.h"
#include "replayer/target/make_target.h"

namespace iotape {

struct Ruling {
  SkipReason skip = SkipReason::kIssued;
  bool adjusted = false;
};

struct Policy {
  KeepPolicy keep;
  uid_t own_user = 0;
  gid_t own_group = 0;
};

// Adjusts the call in place where needed. number: the x86-64 system call.
Ruling judge(Operation& operation, std::uint32_t number, const Policy& policy);

// How many bytes of the filesystem the call may use up at most, beside one block; 0 for calls that allocate nothing.
std::uint64_t growth_of(const Operation& operation);

// Whether the call can wait for something that never comes: a lock, the other end of a fifo.
bool may_wait(const Operation& operation);

}  // namespace iotape
