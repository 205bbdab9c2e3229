// The kernel's requests about open files: open, read, write, fsync, lseek, release.
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "replayer/ext3/operations/file_operations.h"
#include "replayer/ext3/path/permission.h"
#include "replayer/fuse_mount/served_volume.h"

namespace iotape::fuse_mount {
namespace {

constexpr std::size_t kMostPieces = 512;                        // of an answer; one system call takes 1,024
constexpr std::size_t kLeastSpliced = std::size_t{128} << 10U;  // bytes: less is cheaper to copy, and worth keeping

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

// In one piece, copied.
void reply_copied(fuse_req_t request, ServedVolume& served, const ext3::FilePieces& pieces) {
  const auto buffer = served.buffers.lease(pieces.size());
  std::byte* at = buffer.bytes().data();
  for (const auto& piece : pieces.pieces()) at = std::copy_n(piece.memory, piece.length, at);
  fuse_reply_buf(request, reinterpret_cast<const char*>(buffer.bytes().data()), pieces.size());
}

// Each from where it lies in memory.
void reply_from_memory(fuse_req_t request, const ext3::FilePieces& pieces) {
  std::vector<iovec> vectors;
  vectors.reserve(pieces.pieces().size());
  for (const auto& piece : pieces.pieces())
    vectors.push_back({const_cast<std::byte*>(piece.memory), piece.length});  // only read
  fuse_reply_iov(request, vectors.data(), static_cast<int>(vectors.size()));
}

// What lies on the device goes from the image's pages to the kernel's without passing through ours.
void reply_spliced(fuse_req_t request, int image, const ext3::FilePieces& pieces) {
  const std::size_t count = pieces.pieces().size();
  std::vector<std::byte> room(sizeof(fuse_bufvec) + count * sizeof(fuse_buf));
  auto* const buffers = new (room.data()) fuse_bufvec{};
  buffers->count = count;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& piece = pieces.pieces()[i];
    fuse_buf& buffer = *new (&buffers->buf[i]) fuse_buf{};
    buffer.size = piece.length;
    buffer.fd = -1;
    if (piece.memory != nullptr) {
      buffer.mem = const_cast<std::byte*>(piece.memory);  // only read
      continue;
    }
    buffer.flags = static_cast<fuse_buf_flags>(FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK | FUSE_BUF_FD_RETRY);
    buffer.fd = image;
    buffer.pos = static_cast<off_t>(piece.device_offset);
  }
  fuse_reply_data(request, buffers, static_cast<fuse_buf_copy_flags>(0));
}

void reply_pieces(fuse_req_t request, ServedVolume& served, const ext3::FilePieces& pieces) {
  if (!pieces.all_in_memory())
    reply_spliced(request, served.image, pieces);
  else if (pieces.pieces().size() <= kMostPieces)
    reply_from_memory(request, pieces);
  else
    reply_copied(request, served, pieces);
}

// The file stays as it is until its bytes are with the kernel, which takes them without asking us for anything.
void read(fuse_req_t request, fuse_ino_t /*node*/, std::size_t size, off_t offset, fuse_file_info* file) {
  ServedVolume& served = served_by(request);
  OpenFile& opened = open_file(file);
  std::optional<ext3::FilePieces> pieces;
  const auto done = inside(served, [&] {
    if (served.image >= 0)
      pieces.emplace(served.volume, *opened.inode, kLeastSpliced);
    else
      pieces.emplace(served.volume, *opened.inode);
    return ext3::read_pieces(served.volume, *opened.inode, static_cast<std::uint64_t>(offset),
                             std::min(size, kLargestTransfer), opened.state, *pieces);
  });
  if (done)
    reply_pieces(request, served, *pieces);
  else
    fuse_reply_err(request, done.error().value);
  inside(served, [&] { pieces.reset(); });
}

// The kernel knows the file's end and gives the offset, O_APPEND or not. It follows up O_SYNC with an fsync of its own
// but where it writes past its cache (O_DIRECT).
void write(fuse_req_t request, fuse_ino_t /*node*/, const char* bytes, std::size_t size, off_t offset,
           fuse_file_info* file) {
  ServedVolume& served = served_by(request);
  ext3::Inode& inode = *open_file(file).inode;
  const bool synchronous =
      ((file->flags & O_DSYNC) != 0 && (file->flags & O_DIRECT) != 0) || inode.has_flag(ext3::kInodeSync);
  const GroupedCaller grouped(request, (inode.mode & S_ISGID) != 0);
  const auto done = inside(served, [&]() -> Answer<std::size_t> {
    auto at = static_cast<std::uint64_t>(offset);
    const std::span from(reinterpret_cast<const std::byte*>(bytes), size);
    EXT3_ASSIGN(const std::size_t written, ext3::write_file(served.volume, inode, at, from, false, grouped.caller()));
    if (synchronous)
      EXT3_TRY(
          ext3::sync_file(served.volume, inode, (file->flags & O_SYNC) != O_SYNC && !inode.has_flag(ext3::kInodeSync)));
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
