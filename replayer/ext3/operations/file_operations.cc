#include "replayer/ext3/operations/file_operations.h"

#include <algorithm>
#include <cstring>

#include "replayer/ext3/block_map.h"
#include "replayer/ext3/large_file.h"
#include "replayer/ext3/operations/attribute_operations.h"
#include "replayer/ext3/operations/retry_allocation.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint32_t kFirstWindowBytes = 16 << 10;
constexpr std::uint32_t kRunLimit = 256;  // blocks asked of the map at once
constexpr std::uint32_t kRecordCredits = 1;
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

// One consecutive run of blocks, holes included, copied out. file_block holds offset.
Answer<std::size_t> read_run(Volume& volume, Inode& inode, std::uint64_t offset, std::span<std::byte> into,
                             const ReadAheadState& ahead) {
  const std::uint32_t block_size = volume.geometry.block_size;
  const FileBlock first(static_cast<std::uint32_t>(offset / block_size));
  const auto skipped = static_cast<std::uint32_t>(offset % block_size);
  const auto asked = static_cast<std::uint32_t>((skipped + into.size() + block_size - 1) / block_size);
  const std::uint32_t window = std::min(std::max(asked, ahead.window_blocks), kRunLimit);
  EXT3_ASSIGN(const BlockRun run, map_run(volume, inode, first, window));
  const std::uint32_t blocks = std::min(asked, run.count);
  const std::size_t length = std::min<std::size_t>(into.size(), std::size_t{blocks} * block_size - skipped);
  if (run.first == kNoBlock) {
    std::memset(into.data(), 0, length);
    return length;
  }
  for (std::size_t done = 0; done < length;) {
    const auto index = static_cast<std::uint32_t>((skipped + done) / block_size);
    const auto within = static_cast<std::uint32_t>((skipped + done) % block_size);
    const BlockNumber block(run.first.value + index);
    const BlockTag tag = data_tag(inode, FileBlock(first.value + index));
    BufferReference buffer = volume.cache->find(block);
    if (!buffer || !buffer->up_to_date) {
      if (run.count - index > 1)
        EXT3_TRY(volume.cache->read_range(block, run.count - index, tag,
                                          index < blocks ? IoReason::kDemand : IoReason::kReadAhead));
    }
    EXT3_ASSIGN(buffer, volume.cache->read(block, tag));
    const std::size_t piece = std::min<std::size_t>(length - done, block_size - within);
    std::memcpy(into.data() + done, buffer->data + within, piece);
    done += piece;
  }
  return length;
}

// ---- writing ----

struct BlockWrite {
  FileBlock file_block;
  std::uint32_t within = 0;  // first byte
  std::span<const std::byte> bytes;
  std::uint64_t end = 0;  // of these bytes in the file
};

// The block's buffer, its old bytes there as far as they stay.
Answer<BufferReference> buffer_to_write(Volume& volume, const MappedBlock& mapped, const BlockTag& tag, bool whole) {
  if (whole) return volume.cache->get(mapped.block, tag);
  if (mapped.fresh) return volume.cache->get_zeroed(mapped.block, tag);
  return volume.cache->read(mapped.block, tag);
}

Answer<void> write_block(Volume& volume, Inode& inode, const BlockWrite& write, bool stamp, const Caller& caller) {
  const bool logged = volume.journal->data_mode() == DataMode::kJournal;
  EXT3_ASSIGN(Handle handle, volume.journal->start(map_credits(volume) + kRecordCredits + (logged ? 1 : 0)));
  // The size first: where a block is allocated, the map's own writing of the record carries it along.
  const std::uint64_t old_size = inode.size;
  inode.size = std::max(inode.size, write.end);
  if (stamp) inode.modification_time = inode.change_time = volume.storable_now();
  const auto mapped = map_or_allocate(volume, handle, inode, write.file_block, caller.privileged);
  if (!mapped) {
    inode.size = old_size;
    return tl::make_unexpected(mapped.error());
  }
  const bool whole = write.bytes.size() == volume.geometry.block_size;
  EXT3_ASSIGN(const BufferReference buffer, buffer_to_write(volume, *mapped, data_tag(inode, write.file_block), whole));
  if (logged) EXT3_TRY(volume.journal->get_write_access(handle, *buffer));
  std::memcpy(buffer->data + write.within, write.bytes.data(), write.bytes.size());
  buffer->up_to_date = true;
  EXT3_TRY(volume.journal->dirty_data(handle, *buffer));
  if (!mapped->fresh && (stamp || inode.size != old_size)) EXT3_TRY(volume.inodes->write(handle, inode));
  return handle.stop();
}

void drop_set_id_bits(Inode& inode, const Caller& caller) {
  if (caller.privileged || !inode.is_regular()) return;
  if ((inode.mode & S_ISUID) != 0) inode.mode &= ~static_cast<std::uint32_t>(S_ISUID);
  // Without S_IXGRP the bit once meant mandatory locking, and stays for members of the group.
  if ((inode.mode & S_IXGRP) != 0 || inode.group != caller.group) inode.mode &= ~static_cast<std::uint32_t>(S_ISGID);
}

}  // namespace

Answer<std::size_t> read_file(Volume& volume, Inode& inode, std::uint64_t offset, std::span<std::byte> into,
                              ReadAheadState& ahead) {
  if (inode.is_directory()) return refuse(EISDIR);
  std::size_t done = 0;
  {
    const SleepLockGuard locked(volume.host, inode.lock);
    const std::uint64_t countable = std::uint64_t{kMostSectors / (volume.geometry.block_size / 512)};
    if (into.empty() || offset >= countable * volume.geometry.block_size) return 0;
    // Reading at the end of a file is an access to it, too.
    into = into.first(offset < inode.size ? std::min<std::uint64_t>(into.size(), inode.size - offset) : 0);
    note_read(volume, ahead, offset, into.size());
    while (done < into.size()) {
      const auto piece = read_run(volume, inode, offset + done, into.subspan(done), ahead);
      if (!piece && done > 0) break;  // what was read counts; the error comes back with the next call
      if (!piece) return piece;
      done += *piece;
    }
  }
  EXT3_TRY(touch_access_time(volume, inode));
  return done;
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
  const std::uint32_t block_size = volume.geometry.block_size;
  std::size_t done = 0;
  while (done < from.size()) {
    const std::uint64_t at = offset + done;
    const auto within = static_cast<std::uint32_t>(at % block_size);
    const std::size_t length = std::min<std::size_t>(block_size - within, from.size() - done);
    const BlockWrite write{FileBlock(static_cast<std::uint32_t>(at / block_size)), within, from.subspan(done, length),
                           at + length};
    EXT3_TRY(volume.cache->balance_dirty());
    const auto answer = retry_allocation(volume, [&] { return write_block(volume, inode, write, done == 0, caller); });
    if (!answer && done == 0) return tl::make_unexpected(answer.error());
    if (!answer) break;
    done += length;
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
