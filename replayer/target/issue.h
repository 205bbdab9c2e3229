// Issues one Operation as the recorded system call, on the calling thread, with its own descriptors and paths.
//
// Runs inside the sandbox only. Paths, names and handles are passed as they are; where they lead is the sandbox's
// business. Data comes from and goes to the DataPool.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "format/event.h"
#include "replayer/target/data_pool.h"
#include "replayer/target/memory_map.h"
#include "replayer/target/system_call.h"

namespace iotape {

// What all threads of one sandbox share.
struct IssueShared {
  DataPool pool;
  MemoryMap memory;
  std::atomic<int> highest_handle{-1};
  // Some descriptor is open with O_DIRECT: writes of whole sectors must come from aligned memory.
  std::atomic<bool> direct_seen{false};
};

struct IssueContext {
  IssueShared& shared;
  std::span<std::byte> response;  // at least 64 KiB; a directory's entries are left here
  DataPool::Cursor cursor;
  FileReference opened;            // set by a successful Open
  std::size_t response_bytes = 0;  // of a ReadDirectory
};

// number: the x86-64 system call, one of the operation's family; any other means the family's general member.
IssuedCall issue(const Operation& operation, std::uint32_t number, IssueContext& context);

}  // namespace iotape
