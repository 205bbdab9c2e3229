// Calls that move a file's bytes.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "replayer/ext3/calls/issuer.h"
#include "replayer/ext3/mount.h"
#include "replayer/ext3/operations/file_operations.h"

namespace iotape::ext3 {
namespace {

constexpr std::int64_t kMostBytes = 0x7FFFF000;        // of one read or write, as the kernel cuts them
constexpr std::size_t kPiece = std::size_t{1} << 20U;  // bytes copied at a time

template <typename Op>
std::int64_t length_of(const Op& op) {
  if (op.segments.empty()) return op.length;
  std::int64_t sum = 0;
  for (const std::int64_t length : op.segments)
    if (__builtin_add_overflow(sum, length, &sum)) return -1;
  return sum;
}

// Positioned calls take their own offset and leave the descriptor's alone.
bool positioned(std::uint32_t number, const FilePosition& position) {
  switch (number) {
    case SYS_pread64:
    case SYS_preadv:
    case SYS_pwrite64:
    case SYS_pwritev:
      return true;
    case SYS_preadv2:
    case SYS_pwritev2:
      return position.value >= 0;
    default:
      return false;
  }
}

// As a signed offset, neither end may be negative. A directory's cookie at its end is the greatest there is.
Answer<void> check_range(std::uint64_t offset, std::int64_t length) {
  const auto begin = static_cast<std::int64_t>(offset);
  std::int64_t end = 0;
  if (length < 0 || begin < 0 || __builtin_add_overflow(begin, length, &end)) return refuse(EINVAL);
  return {};
}

}  // namespace

Issuer::Outcome Issuer::read_at(OpenFile& open, std::uint64_t offset, std::int64_t length) {
  std::int64_t done = 0;
  while (done < length) {
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(length - done, kPiece));
    const auto piece =
        read_file(volume_, *open.inode, offset + static_cast<std::uint64_t>(done), data_.to_read(wanted), open.ahead);
    if (!piece && done == 0) return tl::make_unexpected(piece.error());
    if (!piece || *piece == 0) break;
    done += static_cast<std::int64_t>(*piece);
  }
  return done;
}

Issuer::Outcome Issuer::write_at(OpenFile& open, std::uint64_t& offset, std::int64_t length, bool append) {
  const Caller caller = thread_.credentials.caller();
  std::int64_t done = 0;
  while (done < length) {
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(length - done, kPiece));
    std::uint64_t at = offset + static_cast<std::uint64_t>(done);
    const auto piece = write_file(volume_, *open.inode, at, data_.to_write(wanted), append && done == 0, caller);
    if (done == 0) offset = at;
    if (!piece && done == 0) return tl::make_unexpected(piece.error());
    if (!piece) break;
    done += static_cast<std::int64_t>(*piece);
    if (*piece < wanted) break;
  }
  return done;
}

Issuer::Outcome Issuer::operator()(const Read& op) {
  EXT3_ASSIGN(OpenFile* const open, file(op.descriptor));
  if (!open->readable()) return refuse(EBADF);
  const std::int64_t asked = length_of(op);
  const bool own_offset = positioned(number_, op.position);
  const std::uint64_t offset = own_offset ? static_cast<std::uint64_t>(op.position.value) : open->offset;
  EXT3_TRY(check_range(offset, asked));
  if (open->inode->is_directory()) return refuse(EISDIR);
  const std::int64_t length = std::min(asked, kMostBytes);
  const Outcome outcome = read_at(*open, offset, length);
  if (outcome && !own_offset) open->offset = offset + static_cast<std::uint64_t>(*outcome);
  return outcome;
}

Issuer::Outcome Issuer::operator()(const Write& op) {
  EXT3_ASSIGN(OpenFile* const open, file(op.descriptor));
  if (!open->writable()) return refuse(EBADF);
  const std::int64_t asked = length_of(op);
  const bool own_offset = positioned(number_, op.position);
  std::uint64_t offset = own_offset ? static_cast<std::uint64_t>(op.position.value) : open->offset;
  EXT3_TRY(check_range(offset, asked));
  const std::int64_t length = std::min(asked, kMostBytes);
  const bool append = (open->flags & O_APPEND) != 0 || (number_ == SYS_pwritev2 && (op.flags & RWF_APPEND) != 0);
  const Outcome outcome = write_at(*open, offset, length, append);
  if (outcome && !own_offset) open->offset = offset + static_cast<std::uint64_t>(*outcome);
  const bool whole =
      (open->flags & O_SYNC) == O_SYNC || (op.flags & RWF_SYNC) != 0 || open->inode->has_flag(kInodeSync);
  const bool data_only = (open->flags & O_DSYNC) != 0 || (op.flags & RWF_DSYNC) != 0;
  if (outcome && *outcome > 0 && (whole || data_only)) EXT3_TRY(sync_open(*open, !whole));
  return outcome;
}

Issuer::Outcome Issuer::operator()(const Seek& op) {
  EXT3_ASSIGN(OpenFile* const open, file(op.descriptor));
  std::int64_t base = 0;
  switch (op.whence) {
    case SEEK_SET:
      break;
    case SEEK_CUR:
      base = static_cast<std::int64_t>(open->offset);
      break;
    case SEEK_END:
      base = static_cast<std::int64_t>(open->inode->size);
      break;
    case SEEK_DATA:
    case SEEK_HOLE: {
      if (op.offset < 0) return refuse(ENXIO);
      const auto from = static_cast<std::uint64_t>(op.offset);
      EXT3_ASSIGN(open->offset, op.whence == SEEK_DATA ? seek_data(volume_, *open->inode, from)
                                                       : seek_hole(volume_, *open->inode, from));
      return static_cast<std::int64_t>(open->offset);
    }
    default:
      return refuse(EINVAL);
  }
  std::int64_t at = 0;
  if (__builtin_add_overflow(base, op.offset, &at) || at < 0) return refuse(EINVAL);
  if (open->inode->is_regular() && static_cast<std::uint64_t>(at) > volume_.geometry.largest_file())
    return refuse(EINVAL);
  // A directory's offsets are cookies of the recorded filesystem: only the start means the same everywhere.
  if (open->inode->is_directory() && op.whence == SEEK_SET && at != 0) return at;
  open->offset = static_cast<std::uint64_t>(at);
  return at;
}

Issuer::Outcome Issuer::operator()(const Transfer& op) {
  if (number_ == SYS_tee) return refuse(EINVAL);  // between pipes only
  EXT3_ASSIGN(OpenFile* const source, file(op.source));
  EXT3_ASSIGN(OpenFile* const destination, file(op.destination));
  if (!source->readable() || !destination->writable()) return refuse(EBADF);
  if (source->inode->is_directory() || destination->inode->is_directory()) return refuse(EISDIR);
  if (op.length < 0) return refuse(EINVAL);
  std::uint64_t from = op.source_explicit ? static_cast<std::uint64_t>(op.source_position.value) : source->offset;
  std::uint64_t to =
      op.destination_explicit ? static_cast<std::uint64_t>(op.destination_position.value) : destination->offset;
  EXT3_ASSIGN(const std::int64_t read, read_at(*source, from, std::min(op.length, kMostBytes)));
  EXT3_ASSIGN(const std::int64_t written, write_at(*destination, to, read, (destination->flags & O_APPEND) != 0));
  if (!op.source_explicit) source->offset = from + static_cast<std::uint64_t>(written);
  if (!op.destination_explicit) destination->offset = to + static_cast<std::uint64_t>(written);
  return written;
}

Issuer::Outcome Issuer::operator()(const ReadAhead& op) {
  EXT3_ASSIGN(OpenFile* const open, file(op.descriptor));
  if (!open->readable()) return refuse(EBADF);
  if (!open->inode->is_regular() || op.offset < 0 || op.length < 0) return refuse(EINVAL);
  EXT3_TRY(read_at(*open, static_cast<std::uint64_t>(op.offset), std::min(op.length, kMostBytes)));
  return 0;
}

Issuer::Outcome Issuer::operator()(const AdviseFile& op) {
  EXT3_TRY(file(op.descriptor));
  return op.length < 0 ? Outcome(refuse(EINVAL)) : Outcome(0);
}

Issuer::Outcome Issuer::truncate_to(Inode& inode, std::int64_t length) {
  if (length < 0) return refuse(EINVAL);
  EXT3_TRY(check_flags(inode, false));
  EXT3_TRY(truncate_file(volume_, inode, static_cast<std::uint64_t>(length), thread_.credentials.caller()));
  return 0;
}

Issuer::Outcome Issuer::operator()(const TruncatePath& op) {
  if (op.length < 0) return refuse(EINVAL);
  EXT3_ASSIGN(const InodeReference inode, inode_of(op.path, 0));
  if (inode->is_directory()) return refuse(EISDIR);
  if (!inode->is_regular()) return refuse(EINVAL);
  EXT3_TRY(check_access(*inode, W_OK, thread_.credentials));
  return truncate_to(*inode, op.length);
}

Issuer::Outcome Issuer::operator()(const TruncateDescriptor& op) {
  if (op.length < 0) return refuse(EINVAL);
  EXT3_ASSIGN(OpenFile* const open, file(op.descriptor));
  if (!open->writable() || !open->inode->is_regular()) return refuse(EINVAL);
  return truncate_to(*open->inode, op.length);
}

Issuer::Outcome Issuer::operator()(const Allocate& op) {
  EXT3_ASSIGN(OpenFile* const open, file(op.descriptor));
  if (!open->writable()) return refuse(EBADF);
  if (op.offset < 0 || op.length <= 0) return refuse(EINVAL);
  return refuse(EOPNOTSUPP);
}

Issuer::Outcome Issuer::sync_open(const OpenFile& open, bool data_only) {
  EXT3_TRY(sync_file(volume_, *open.inode, data_only));
  return 0;
}

Issuer::Outcome Issuer::operator()(const Sync& op) {
  EXT3_ASSIGN(OpenFile* const open, file(op.descriptor));
  if (number_ != SYS_syncfs) return sync_open(*open, number_ == SYS_fdatasync);
  EXT3_TRY(sync_volume(volume_));
  return 0;
}

Issuer::Outcome Issuer::operator()(const SyncAll& /*op*/) {
  (void)sync_volume(volume_);  // sync(2) has no errors
  return 0;
}

Issuer::Outcome Issuer::operator()(const SyncFileRange& op) {
  EXT3_ASSIGN(OpenFile* const open, file(op.descriptor));
  if (op.offset < 0 || op.length < 0) return refuse(EINVAL);
  EXT3_TRY(volume_.cache->write_inode(open->inode->number));
  return 0;
}

}  // namespace iotape::ext3
