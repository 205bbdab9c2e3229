// The kernel's requests about open files: open, read, write, fsync, lseek, release.
#include <fcntl.h>
#include <unistd.h>

#include <span>

#include "replayer/ext3/operations/file_operations.h"
#include "replayer/ext3/path/permission.h"
#include "replayer/fuse_mount/served_volume.h"

namespace iotape::fuse_mount {
namespace {

using ext3::Answer;
using ext3::InodeReference;

OpenFile& open_file(const fuse_file_info* file) { return OpenHandles<ext3::ReadAheadState>::of(file->fh); }

// An append-only file opens for writing at its end alone, an immutable one for reading.
Answer<void> check_open(const ext3::Inode& inode, int flags) {
  if ((flags & O_ACCMODE) == O_RDONLY) return {};
  return ext3::check_flags(inode, (flags & O_APPEND) != 0);
}

void open(fuse_req_t request, fuse_ino_t node, fuse_file_info* file) {
  ServedVolume& served = served_by(request);
  served.readahead.widen();
  const auto opened = inside(served, [&]() -> Answer<std::uint64_t> {
    EXT3_ASSIGN(const InodeReference inode, served.nodes.get(node));
    EXT3_TRY(check_open(*inode, file->flags));
    return served.files.open(inode);
  });
  if (!opened) {
    fuse_reply_err(request, opened.error().value);
    return;
  }
  file->fh = *opened;
  file->keep_cache = 1;
  if (fuse_reply_open(request, file) != 0) inside(served, [&] { served.files.close(*opened); });
}

void release(fuse_req_t request, fuse_ino_t /*node*/, fuse_file_info* file) {
  ServedVolume& served = served_by(request);
  inside(served, [&] {
    // Room kept for a growing file is given up with its last writer, as ext3 does; another's would soon be made again.
    if ((file->flags & O_ACCMODE) != O_RDONLY) served.volume.blocks->drop_window(*open_file(file).inode);
    served.files.close(file->fh);
  });
  fuse_reply_err(request, 0);
}

void read(fuse_req_t request, fuse_ino_t /*node*/, std::size_t size, off_t offset, fuse_file_info* file) {
  ServedVolume& served = served_by(request);
  OpenFile& opened = open_file(file);
  const auto buffer = served.buffers.lease(size);
  const auto done = inside(served, [&] {
    return ext3::read_file(served.volume, *opened.inode, static_cast<std::uint64_t>(offset), buffer.bytes(),
                           opened.state);
  });
  if (done)
    fuse_reply_buf(request, reinterpret_cast<const char*>(buffer.bytes().data()), *done);
  else
    fuse_reply_err(request, done.error().value);
}

// The kernel knows the file's end and gives the offset, O_APPEND or not. It follows up O_SYNC with an fsync of its own
// but where it writes past its cache (O_DIRECT).
void write(fuse_req_t request, fuse_ino_t /*node*/, const char* bytes, std::size_t size, off_t offset,
           fuse_file_info* file) {
  ServedVolume& served = served_by(request);
  ext3::Inode& inode = *open_file(file).inode;
  const bool synchronous = (file->flags & O_DSYNC) != 0 && (file->flags & O_DIRECT) != 0;
  const auto done = inside(served, [&]() -> Answer<std::size_t> {
    auto at = static_cast<std::uint64_t>(offset);
    const std::span from(reinterpret_cast<const std::byte*>(bytes), size);
    EXT3_ASSIGN(const std::size_t written, ext3::write_file(served.volume, inode, at, from, false, caller_of(request)));
    if (synchronous) EXT3_TRY(ext3::sync_file(served.volume, inode, (file->flags & O_SYNC) != O_SYNC));
    return written;
  });
  if (done)
    fuse_reply_write(request, *done);
  else
    fuse_reply_err(request, done.error().value);
}

void sync(fuse_req_t request, fuse_ino_t /*node*/, int data_only, fuse_file_info* file) {
  ServedVolume& served = served_by(request);
  const auto answer =
      inside(served, [&] { return ext3::sync_file(served.volume, *open_file(file).inode, data_only != 0); });
  fuse_reply_err(request, errno_of(answer));
}

// The kernel does the other kinds of seek itself.
void seek(fuse_req_t request, fuse_ino_t /*node*/, off_t offset, int whence, fuse_file_info* file) {
  ServedVolume& served = served_by(request);
  ext3::Inode& inode = *open_file(file).inode;
  const auto from = static_cast<std::uint64_t>(offset);
  const auto found = inside(served, [&]() -> Answer<std::uint64_t> {
    if (whence == SEEK_DATA) return ext3::seek_data(served.volume, inode, from);
    if (whence == SEEK_HOLE) return ext3::seek_hole(served.volume, inode, from);
    return ext3::refuse(EINVAL);
  });
  if (found)
    fuse_reply_lseek(request, static_cast<off_t>(*found));
  else
    fuse_reply_err(request, found.error().value);
}

}  // namespace

void add_file_requests(fuse_lowlevel_ops& requests) {
  requests.open = &open;
  requests.release = &release;
  requests.read = &read;
  requests.write = &write;
  requests.fsync = &sync;
  requests.lseek = &seek;
}

}  // namespace iotape::fuse_mount
