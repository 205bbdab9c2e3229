// What every request of the kernel works on, and the steps they have in common: inside the monitor for the work,
// outside of it for the answer, which is a system call.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/operations/caller.h"
#include "replayer/ext3/operations/file_operations.h"
#include "replayer/ext3/volume.h"
#include "replayer/fuse_mount/buffer_pool.h"
#include "replayer/fuse_mount/client_notes.h"
#include "replayer/fuse_mount/fuse_library.h"
#include "replayer/fuse_mount/kernel_readahead.h"
#include "replayer/fuse_mount/node_table.h"
#include "replayer/fuse_mount/open_handles.h"
#include "replayer/fuse_mount/serving_host.h"

namespace iotape::fuse_mount {

// The most bytes of one read or write: what libfuse's buffer takes.
inline constexpr std::size_t kLargestTransfer = std::size_t{1} << 20U;
// The most bytes of one read. An answer of so many, and its header, fit into a pipe of the size that everybody may
// have.
inline constexpr std::size_t kLargestRead = kLargestTransfer / 2;
// Nobody changes the volume behind the kernel's back, so what it was told stays true until it changes it itself.
inline constexpr double kForever = 1e9;  // seconds

struct ServedVolume {
  explicit ServedVolume(ext3::Volume& served) : volume(served), nodes(served) {}

  ext3::Volume& volume;
  NodeTable nodes;
  OpenHandles<ext3::ReadAheadState> files;
  OpenHandles<ext3::DirectoryPosition> directories;
  BufferPool buffers{kLargestTransfer};
  KernelReadahead readahead;
  std::atomic<std::uint64_t> requests_seen = 0;
  ClientNotes* clients = nullptr;  // with a trace
  int image = -1;                  // a descriptor to read the device by, past its decorators; -1: none is to be passed
  int locked_image = -1;           // the device's own descriptor: whoever unmounts judges the image through it

  // The kernel will not ask any more. REQUIRES: inside.
  void let_go() {
    files.close_all();
    directories.close_all();
    nodes.forget_all();
  }
};
using OpenFile = OpenHandles<ext3::ReadAheadState>::Handle;
using OpenDirectory = OpenHandles<ext3::DirectoryPosition>::Handle;

// Also notes on whose behalf this thread works from here on.
inline ServedVolume& served_by(fuse_req_t request) {
  ServedVolume& served = *static_cast<ServedVolume*>(fuse_req_userdata(request));
  const pid_t client = fuse_req_ctx(request)->pid;
  ServingHost::client() = client;
  if (served.clients != nullptr) served.clients->met(client);
  return served;
}

inline ext3::Caller caller_of(fuse_req_t request) {
  const fuse_ctx* const context = fuse_req_ctx(request);
  return {context->uid, context->gid, context->uid == 0, {}};
}

// Likewise with the supplementary groups, which take a look into /proc: where set-group-id bits are at stake.
class GroupedCaller {
 public:
  // wanted: false leaves them out.
  GroupedCaller(fuse_req_t request, bool wanted);
  [[nodiscard]] const ext3::Caller& caller() const { return caller_; }

 private:
  std::vector<std::uint32_t> groups_;
  ext3::Caller caller_;
};

// Does the work inside the monitor. What it returns must hold no reference.
template <typename Work>
auto inside(ServedVolume& served, const Work& work) -> decltype(work()) {
  served.requests_seen.fetch_add(1, std::memory_order_relaxed);
  const ext3::HostEntry entry(served.volume.host);
  return work();
}

inline int errno_of(const ext3::Answer<void>& answer) { return answer ? 0 : answer.error().value; }

// Everything the kernel keeps of an inode.
struct stat status_of(const ext3::Inode& inode, const ext3::Volume& volume);
// The inode as the answer to a lookup, which counts. REQUIRES: inside.
fuse_entry_param entry_of(ServedVolume& served, ext3::Inode& inode);

// An entry that does not reach the kernel (the caller was interrupted) was not counted there either.
void reply_entry(fuse_req_t request, const ext3::Answer<fuse_entry_param>& entry);
void reply_attributes(fuse_req_t request, const ext3::Answer<struct stat>& status);

// The requests, in tables by what they are about; each fills in its own.
void add_name_requests(fuse_lowlevel_ops& requests);
void add_file_requests(fuse_lowlevel_ops& requests);
void add_directory_requests(fuse_lowlevel_ops& requests);
void add_attribute_requests(fuse_lowlevel_ops& requests);
void add_xattr_requests(fuse_lowlevel_ops& requests);
void add_control_requests(fuse_lowlevel_ops& requests);

}  // namespace iotape::fuse_mount
