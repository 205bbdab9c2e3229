#include "replayer/ext3/operations/file_operations.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "replayer/ext3/block_map.h"
#include "replayer/ext3/large_file.h"
#include "replayer/ext3/operations/attribute_operations.h"
#include "replayer/ext3/operations/retry_allocation.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint32_t kFirstWindowBytes = 16 << 10;
constexpr std::uint32_t kRunLimit = 256;       // blocks asked of the map at once
constexpr std::uint32_t kLoggedRunLimit = 32;  // likewise where each needs a credit
constexpr std::size_t kZeros = std::size_t{64} << 10U;
constexpr std::uint32_t kMostSectors = 0xFFFFFFFF;  // that an inode counts: beyond them no file of any kind reaches

BlockTag data_tag(const Inode& inode, FileBlock block) {
  BlockTag tag;
  tag.cause = BlockCause::kData;
  tag.inode = inode.number;
  tag.file_block = block;
  tag.read_back = inode.is_symlink();
  return tag;
}

// ---- reading ----

// When a file is read in sequence, a window that doubles up to the mount's limit is brought in at once.
void note_read(const Volume& volume, ReadAheadState& ahead, std::uint64_t offset, std::uint64_t length) {
  const std::uint32_t block_size = volume.geometry.block_size;
  const std::uint32_t limit = volume.options.readahead_bytes / block_size;
  if (offset != ahead.next_offset)
    ahead.window_blocks = 0;
  else if (ahead.window_blocks == 0)
    ahead.window_blocks = std::min(std::max(kFirstWindowBytes / block_size, 1U), limit);
  else
    ahead.window_blocks = std::min(ahead.window_blocks * 2, limit);
  ahead.next_offset = offset + length;
}

// Takes what is read by copying it.
class CopiedOut {
 public:
  explicit CopiedOut(std::span<std::byte> into) : into_(into) {}
  void add(const BufferReference& buffer, std::uint32_t within, std::size_t length) {
    std::memcpy(next(length), buffer->data + within, length);
  }
  void add_zeros(std::size_t length) { std::memset(next(length), 0, length); }
  static std::size_t least_on_device() { return std::numeric_limits<std::size_t>::max(); }
  void add_on_device(std::uint64_t /*device_offset*/, std::size_t /*length*/) {}

 private:
  std::byte* next(std::size_t length) {
    std::byte* const at = into_.data();
    into_ = into_.subspan(length);
    return at;
  }
  std::span<std::byte> into_;
};

// How many blocks from here on are in no memory of ours, so that the device alone knows them.
std::uint32_t blocks_on_device(const Volume& volume, BlockNumber first, std::uint32_t limit) {
  std::uint32_t count = 0;
  for (; count < limit; ++count) {
    const BufferReference buffer = volume.cache->find(BlockNumber(first.value + count));
    if (buffer && (buffer->up_to_date || buffer->busy || buffer->dirty)) break;
  }
  return count;
}

// One consecutive run of blocks, holes included, given to `taker`; how many bytes of it. first holds offset.
template <typename Taker>
Answer<std::size_t> read_run(Volume& volume, Inode& inode, std::uint64_t offset, std::size_t wanted,
                             const ReadAheadState& ahead, Taker& taker) {
  const std::uint32_t block_size = volume.geometry.block_size;
  const FileBlock first(static_cast<std::uint32_t>(offset / block_size));
  const auto skipped = static_cast<std::uint32_t>(offset % block_size);
  const auto asked = static_cast<std::uint32_t>((skipped + wanted + block_size - 1) / block_size);
  const std::uint32_t window = std::min(std::max(asked, ahead.window_blocks), kRunLimit);
  EXT3_ASSIGN(const BlockRun run, map_run(volume, inode, first, window));
  const std::uint32_t blocks = std::min(asked, run.count);
  const std::size_t length = std::min<std::size_t>(wanted, std::size_t{blocks} * block_size - skipped);
  if (run.first == kNoBlock) {
    taker.add_zeros(length);
    return length;
  }
  for (std::size_t done = 0; done < length;) {
    const auto index = static_cast<std::uint32_t>((skipped + done) / block_size);
    const auto within = static_cast<std::uint32_t>((skipped + done) % block_size);
    const BlockNumber block(run.first.value + index);
    if (length - done >= taker.least_on_device()) {
      const std::uint32_t outside = blocks_on_device(volume, block, blocks - index);
      const std::size_t piece =
          std::min(length - done, std::size_t{outside} * block_size - (outside != 0 ? within : 0));
      if (piece >= taker.least_on_device()) {
        taker.add_on_device(std::uint64_t{block.value} * block_size + within, piece);
        done += piece;
        continue;
      }
    }
    const BlockTag tag = data_tag(inode, FileBlock(first.value + index));
    BufferReference buffer = volume.cache->find(block);
    if (!buffer || !buffer->up_to_date) {
      if (run.count - index > 1)
        EXT3_TRY(volume.cache->read_range(block, run.count - index, tag,
                                          index < blocks ? IoReason::kDemand : IoReason::kReadAhead));
    }
    EXT3_ASSIGN(buffer, volume.cache->read(block, tag));
    const std::size_t piece = std::min<std::size_t>(length - done, block_size - within);
    taker.add(buffer, within, piece);
    done += piece;
  }
  return length;
}

// A read that cannot bring anything whatever the file holds is no access to it; one at the file's end is.
bool asks_for_nothing(const Volume& volume, std::uint64_t offset, std::size_t length) {
  const std::uint64_t countable = std::uint64_t{kMostSectors / (volume.geometry.block_size / 512)};
  return length == 0 || offset >= countable * volume.geometry.block_size;
}

// REQUIRES: the inode's lock, shared or alone.
template <typename Taker>
Answer<std::size_t> read_stretch(Volume& volume, Inode& inode, std::uint64_t offset, std::size_t length,
                                 ReadAheadState& ahead, Taker& taker) {
  length = offset < inode.size ? std::min<std::uint64_t>(length, inode.size - offset) : 0;
  note_read(volume, ahead, offset, length);
  std::size_t done = 0;
  while (done < length) {
    const auto piece = read_run(volume, inode, offset + done, length - done, ahead, taker);
    if (!piece && done > 0) break;  // what was read counts; the error comes back with the next call
    if (!piece) return piece;
    done += *piece;
  }
  return done;
}

// ---- writing ----

struct BlockWrite {
  FileBlock file_block;
  std::uint32_t within = 0;  // first byte
  std::span<const std::byte> bytes;
};

// The block's buffer, its old bytes there as far as they stay.
Answer<BufferReference> buffer_to_write(Volume& volume, BlockNumber block, bool fresh, const BlockTag& tag,
                                        bool whole) {
  if (whole) return volume.cache->get(block, tag);
  if (fresh) return volume.cache->get_zeroed(block, tag);
  return volume.cache->read(block, tag);
}

Answer<void> fill_block(Volume& volume, Handle& handle, const Inode& inode, const BlockWrite& write, BlockNumber block,
                        bool fresh) {
  const bool whole = write.bytes.size() == volume.geometry.block_size;
  EXT3_ASSIGN(const BufferReference buffer,
              buffer_to_write(volume, block, fresh, data_tag(inode, write.file_block), whole));
  if (volume.journal->data_mode() == DataMode::kJournal) EXT3_TRY(volume.journal->get_write_access(handle, *buffer));
  std::memcpy(buffer->data + write.within, write.bytes.data(), write.bytes.size());
  buffer->up_to_date = true;
  return volume.journal->dirty_data(handle, *buffer);
}

struct StretchWrite {
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes;
  bool stamp = false;  // the times
};

// The bytes into the run's blocks; how many of them. Fewer when a block could not be read for what stays of it.
Answer<std::size_t> fill_run(Volume& volume, Handle& handle, const Inode& inode, const StretchWrite& write,
                             const MappedRun& run) {
  const std::uint32_t block_size = volume.geometry.block_size;
  const auto first = static_cast<std::uint32_t>(write.offset / block_size);
  const auto within = static_cast<std::uint32_t>(write.offset % block_size);
  const std::size_t length = std::min<std::size_t>(write.bytes.size(), std::size_t{run.count} * block_size - within);
  for (std::size_t done = 0; done < length;) {
    const auto index = static_cast<std::uint32_t>((within + done) / block_size);
    const std::uint32_t skipped = index == 0 ? within : 0;
    const std::size_t piece = std::min<std::size_t>(block_size - skipped, length - done);
    const auto filled =
        fill_block(volume, handle, inode, {FileBlock(first + index), skipped, write.bytes.subspan(done, piece)},
                   BlockNumber(run.first.value + index), run.fresh);
    if (!filled && (done == 0 || run.fresh)) return tl::make_unexpected(filled.error());
    if (!filled) return done;
    done += piece;
  }
  return length;
}

// As much from its beginning as lies in one run of blocks, in one handle; how many bytes.
Answer<std::size_t> write_stretch(Volume& volume, Inode& inode, const StretchWrite& write, const Caller& caller) {
  const std::uint32_t block_size = volume.geometry.block_size;
  const bool logged = volume.journal->data_mode() == DataMode::kJournal;
  const std::uint64_t within = write.offset % block_size;
  const auto blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>(
      (within + write.bytes.size() + block_size - 1) / block_size, logged ? kLoggedRunLimit : kRunLimit));
  EXT3_ASSIGN(Handle handle, volume.journal->start(map_credits(volume) + InodeCache::kCredits + (logged ? blocks : 0)));
  // The size first: where blocks are allocated, the map's own writing of the record carries it along.
  const std::uint64_t old_size = inode.size;
  const std::uint64_t end =
      std::min(write.offset + write.bytes.size(), write.offset - within + std::uint64_t{blocks} * block_size);
  const std::uint64_t hoped_size = std::max(old_size, end);
  inode.size = hoped_size;
  if (write.stamp) inode.modification_time = inode.change_time = volume.storable_now();
  const auto run =
      map_or_allocate_run(volume, handle, inode, FileBlock(static_cast<std::uint32_t>(write.offset / block_size)),
                          blocks, caller.privileged);
  const auto done = run ? fill_run(volume, handle, inode, write, *run) : tl::make_unexpected(run.error());
  inode.size = done ? std::max(old_size, write.offset + *done) : old_size;
  if (!done) return done;
  const bool recorded = run->fresh ? inode.size == hoped_size : !write.stamp && inode.size == old_size;
  if (!recorded) EXT3_TRY(volume.inodes->write(handle, inode));
  EXT3_TRY(handle.stop());
  return done;
}

void drop_set_id_bits(Inode& inode, const Caller& caller) {
  if (caller.privileged || !inode.is_regular()) return;
  if ((inode.mode & S_ISUID) != 0) inode.mode &= ~static_cast<std::uint32_t>(S_ISUID);
  // Without S_IXGRP the bit once meant mandatory locking, and stays for members of the group.
  if ((inode.mode & S_IXGRP) != 0 || !caller.in_group(inode.group)) inode.mode &= ~static_cast<std::uint32_t>(S_ISGID);
}

}  // namespace

FilePieces::FilePieces(Volume& volume, Inode& inode, std::size_t least_on_device) : least_on_device_(least_on_device) {
  locked_.emplace(volume.host, inode.lock);
}

void FilePieces::add(BufferReference buffer, std::uint32_t within, std::size_t length) {
  const std::byte* const from = buffer->data + within;
  const bool neighbours = !pieces_.empty() && pieces_.back().memory != nullptr &&
                          pieces_.back().memory + pieces_.back().length == from;  // in memory, too
  if (neighbours)
    pieces_.back().length += length;
  else
    pieces_.push_back({from, 0, length});
  buffers_.push_back(std::move(buffer));
  size_ += length;
}

void FilePieces::add_zeros(std::size_t length) {
  static constexpr std::array<std::byte, kZeros> kNothing{};
  size_ += length;
  for (; length != 0; length -= pieces_.back().length)
    pieces_.push_back({kNothing.data(), 0, std::min(length, kNothing.size())});
}

void FilePieces::add_on_device(std::uint64_t device_offset, std::size_t length) {
  pieces_.push_back({nullptr, device_offset, length});
  size_ += length;
  all_in_memory_ = false;
}

Answer<std::size_t> read_file(Volume& volume, Inode& inode, std::uint64_t offset, std::span<std::byte> into,
                              ReadAheadState& ahead) {
  if (inode.is_directory()) return refuse(EISDIR);
  if (asks_for_nothing(volume, offset, into.size())) return 0;
  std::size_t done = 0;
  {
    const SharedSleepLockGuard locked(volume.host, inode.lock);
    CopiedOut taker(into);
    EXT3_ASSIGN(done, read_stretch(volume, inode, offset, into.size(), ahead, taker));
  }
  EXT3_TRY(touch_access_time(volume, inode));
  return done;
}

Answer<void> read_pieces(Volume& volume, Inode& inode, std::uint64_t offset, std::size_t length, ReadAheadState& ahead,
                         FilePieces& pieces) {
  if (inode.is_directory()) return refuse(EISDIR);
  if (asks_for_nothing(volume, offset, length)) return {};
  EXT3_ASSIGN([[maybe_unused]] const std::size_t done, read_stretch(volume, inode, offset, length, ahead, pieces));
  return touch_access_time(volume, inode);
}

Answer<std::size_t> write_file(Volume& volume, Inode& inode, std::uint64_t& offset, std::span<const std::byte> from,
                               bool append, const Caller& caller) {
  if (volume.read_only || volume.journal->aborted() != 0) return refuse(EROFS);
  const SleepLockGuard locked(volume.host, inode.lock);
  if (append) offset = inode.size;
  if (from.empty()) return 0;
  const std::uint64_t limit = volume.geometry.largest_file();
  if (offset >= limit) return refuse(EFBIG);
  from = from.first(std::min<std::uint64_t>(from.size(), limit - offset));
  EXT3_TRY(allow_file_size(volume, offset + from.size()));
  drop_set_id_bits(inode, caller);
  std::size_t done = 0;
  while (done < from.size()) {
    EXT3_TRY(volume.cache->balance_dirty());
    const StretchWrite write{offset + done, from.subspan(done), done == 0};
    const auto answer = retry_allocation(volume, [&] { return write_stretch(volume, inode, write, caller); });
    if (!answer && done == 0) return tl::make_unexpected(answer.error());
    if (!answer) break;
    done += *answer;
  }
  return done;
}

Answer<void> truncate_file(Volume& volume, Inode& inode, std::uint64_t size, const Caller& caller) {
  if (volume.read_only || volume.journal->aborted() != 0) return refuse(EROFS);
  if (inode.is_directory()) return refuse(EISDIR);
  if (!inode.is_regular()) return refuse(EINVAL);
  if (size > volume.geometry.largest_file()) return refuse(EFBIG);
  const SleepLockGuard locked(volume.host, inode.lock);
  drop_set_id_bits(inode, caller);
  return truncate(volume, inode, size);
}

Answer<void> sync_file(Volume& volume, Inode& inode, bool data_only) {
  if (volume.read_only) return {};
  if (volume.journal->aborted() != 0) return refuse(EIO);
  if (const Errno lost = std::exchange(volume.lost_write, Errno{}); lost != Errno{}) return refuse(lost.value);
  EXT3_TRY(volume.cache->write_inode(inode.number));
  if (!volume.journaled()) {
    EXT3_TRY(volume.inodes->write_back(inode));
    return volume.cache->flush_device();
  }
  const TransactionId last = data_only ? inode.last_data_change : inode.last_change;
  const std::uint64_t before = volume.journal->figures().transactions;
  EXT3_TRY(volume.journal->commit(last));
  // No commit was needed, so none has flushed what was just written.
  if (volume.options.barriers && volume.journal->figures().transactions == before) return volume.cache->flush_device();
  return {};
}

Answer<std::uint64_t> seek_data(Volume& volume, Inode& inode, std::uint64_t offset) {
  const SleepLockGuard locked(volume.host, inode.lock);
  const std::uint32_t block_size = volume.geometry.block_size;
  while (offset < inode.size) {
    EXT3_ASSIGN(const BlockRun run,
                map_run(volume, inode, FileBlock(static_cast<std::uint32_t>(offset / block_size)), ~0U));
    if (run.first != kNoBlock) return offset;
    offset = (offset / block_size + run.count) * block_size;
  }
  return refuse(ENXIO);
}

Answer<std::uint64_t> seek_hole(Volume& volume, Inode& inode, std::uint64_t offset) {
  const SleepLockGuard locked(volume.host, inode.lock);
  if (offset >= inode.size) return refuse(ENXIO);
  const std::uint32_t block_size = volume.geometry.block_size;
  while (offset < inode.size) {
    EXT3_ASSIGN(const BlockRun run,
                map_run(volume, inode, FileBlock(static_cast<std::uint32_t>(offset / block_size)), ~0U));
    if (run.first == kNoBlock) return offset;
    offset = (offset / block_size + run.count) * block_size;
  }
  return inode.size;
}

Answer<std::string> read_symlink(Volume& volume, Inode& inode) {
  if (!inode.is_symlink()) return refuse(EINVAL);
  std::string target(inode.size, '\0');
  if (inode.is_fast_symlink(volume.geometry.block_size)) {
    if (inode.size >= kFastSymlinkLimit) return volume.damaged(inode.number, "a symbolic link longer than its inode");
    std::memcpy(target.data(), inode.block.data(), target.size());
  } else {
    const SleepLockGuard locked(volume.host, inode.lock);
    EXT3_ASSIGN(const BlockNumber block, map_block(volume, inode, FileBlock(0)));
    if (block == kNoBlock) return volume.damaged(inode.number, "a symbolic link without its block");
    EXT3_ASSIGN(const BufferReference buffer, volume.cache->read(block, data_tag(inode, FileBlock(0))));
    std::memcpy(target.data(), buffer->data, target.size());
  }
  if (target.find('\0') != std::string::npos) target.resize(target.find('\0'));
  return target;
}

}  // namespace iotape::ext3
