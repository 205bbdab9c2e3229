// What changes and reads a file's bytes.
//
// REQUIRES of every call: inside the monitor, no lock and no handle held; the caller's reference keeps the inode. All
// may wait. Errnos are those of the system calls; that a descriptor is open for it, and O_APPEND's position, are the
// caller's affair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "replayer/ext3/cache/buffer.h"
#include "replayer/ext3/inode.h"
#include "replayer/ext3/operations/caller.h"
#include "replayer/ext3/sleep_lock.h"

namespace iotape::ext3 {

struct Volume;

// What one open file remembers of how it is read.
struct ReadAheadState {
  std::uint64_t next_offset = 0;    // a read that begins here is sequential
  std::uint32_t window_blocks = 0;  // how far ahead the last one looked
};

// Fills `into` from offset on; fewer bytes at the end of the file. Updates the access time by the mount's rule.
Answer<std::size_t> read_file(Volume& volume, Inode& inode, std::uint64_t offset, std::span<std::byte> into,
                              ReadAheadState& ahead);
// A stretch of a file as it lies in memory and, where it is in no cache of ours, on the device: to be sent on without a
// copy. Nobody changes or cuts the file while one lives, so it should not live long. REQUIRES: destroyed inside.
class FilePieces {
 public:
  struct Piece {
    const std::byte* memory = nullptr;  // nullptr: on the device
    std::uint64_t device_offset = 0;    // bytes
    std::size_t length = 0;
  };
  // least_on_device: shorter stretches than this, in bytes, are brought into memory. By default all are.
  FilePieces(Volume& volume, Inode& inode, std::size_t least_on_device = std::numeric_limits<std::size_t>::max());
  // Consecutive; a hole's zeros are everybody's.
  [[nodiscard]] std::span<const Piece> pieces() const { return pieces_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool all_in_memory() const { return all_in_memory_; }

  [[nodiscard]] std::size_t least_on_device() const { return least_on_device_; }
  void add(BufferReference buffer, std::uint32_t within, std::size_t length);
  void add_zeros(std::size_t length);
  void add_on_device(std::uint64_t device_offset, std::size_t length);

 private:
  std::optional<SharedSleepLockGuard> locked_;
  std::size_t least_on_device_;
  std::vector<BufferReference> buffers_;
  std::vector<Piece> pieces_;
  std::size_t size_ = 0;
  bool all_in_memory_ = true;
};
// As read_file, but the bytes stay where they are. REQUIRES: pieces is fresh, and the inode's.
Answer<void> read_pieces(Volume& volume, Inode& inode, std::uint64_t offset, std::size_t length, ReadAheadState& ahead,
                         FilePieces& pieces);
// Fewer bytes than asked for when the volume fills up on the way. append: at the end, whatever the offset; `offset` is
// set to where it began.
Answer<std::size_t> write_file(Volume& volume, Inode& inode, std::uint64_t& offset, std::span<const std::byte> from,
                               bool append, const Caller& caller);
Answer<void> truncate_file(Volume& volume, Inode& inode, std::uint64_t size, const Caller& caller);
// fsync, fdatasync: the file's data, then the transaction that holds its last change.
Answer<void> sync_file(Volume& volume, Inode& inode, bool data_only);
// The next offset at or after this one that holds data (or that is in a hole; the end of the file counts as one).
// ENXIO beyond the end, or when no data follows.
Answer<std::uint64_t> seek_data(Volume& volume, Inode& inode, std::uint64_t offset);
Answer<std::uint64_t> seek_hole(Volume& volume, Inode& inode, std::uint64_t offset);

Answer<std::string> read_symlink(Volume& volume, Inode& inode);

}  // namespace iotape::ext3
