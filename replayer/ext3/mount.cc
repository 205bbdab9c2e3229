#include "replayer/ext3/mount.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "replayer/ext3/block_map.h"
#include "replayer/ext3/journal/jbd_journal.h"
#include "replayer/ext3/journal/null_journal.h"

namespace iotape::ext3 {
namespace {

constexpr std::size_t kIdleInodes = std::size_t{1} << 15U;
constexpr std::uint32_t kSuperblockCredits = 1;

tl::unexpected<Error> damaged_image(std::string_view what) {
  return failure(ErrorCode::kCorrupt,
                 fmt::format("not a sound ext2 or ext3 filesystem: {}; run e2fsck on the image", what));
}

Result<Superblock> read_superblock(BlockDevice& device) {
  if (device.size() < kSuperblockOffset + sizeof(Superblock)) return damaged_image("the device is too small for one");
  Superblock superblock;
  const std::array<IoPart, 1> part{
      IoPart{reinterpret_cast<std::byte*>(&superblock), sizeof superblock, {BlockCause::kSuperblock, {}, {}, 0}}};
  if (!device.read(kSuperblockOffset, part, IoReason::kDemand))
    return failure(ErrorCode::kIo, "the superblock cannot be read");
  if (superblock.magic != kSuperblockMagic)
    return failure(ErrorCode::kCorrupt, "no ext2 or ext3 is in it: there is no superblock");
  return superblock;
}

// Whether the volume can be written, by what its features say.
Result<bool> check_features(const Superblock& superblock) {
  const std::uint32_t unknown = superblock.incompatible_features & ~kSupportedIncompatible;
  if (superblock.revision > 1) return failure(ErrorCode::kUnsupported, "its revision is newer than ext3");
  if (superblock.revision == 1 && unknown != 0)
    return failure(
        ErrorCode::kUnsupported,
        fmt::format("it has features that ext3 does not have (incompat 0x{:x}): it is probably an ext4", unknown));
  return superblock.revision == 0 || (superblock.read_only_features & ~kSupportedReadOnly) == 0;
}

Result<std::optional<JournalFile>> open_journal(BlockDevice& device, const Geometry& geometry,
                                                const Superblock& superblock, MountReport& report) {
  const bool has_journal = (superblock.compatible_features & kFeatureHasJournal) != 0;
  const bool needs_recovery = (superblock.incompatible_features & kFeatureRecover) != 0;
  if (!has_journal) {
    if (needs_recovery) return damaged_image("it needs recovery but has no journal");
    return std::optional<JournalFile>{};
  }
  if (superblock.journal_inode == 0u)
    return failure(ErrorCode::kUnsupported, "its journal is on another device, which is not supported");
  IOTAPE_ASSIGN(JournalFile journal, read_journal_file(device, geometry, InodeNumber(superblock.journal_inode)));
  if (needs_recovery && journal.superblock.start != 0u) {
    if (device.read_only())
      return failure(ErrorCode::kUnsupported,
                     "its journal must be replayed first, and it is read-only; make it writable for one mount, or "
                     "mount a copy");
    IOTAPE_ASSIGN(report.recovery, recover_journal(device, geometry, journal));
  } else if (journal.superblock.start != 0u && !device.read_only()) {
    // A log that the superblock says nobody needs (the kernel wipes it as well): it must never be replayed later.
    journal.superblock.start = 0;
    journal.superblock.sequence = journal.superblock.sequence + journal.superblock.max_length;
    if (!write_journal_superblock(device, journal)) return failure(ErrorCode::kIo, "the journal cannot be written");
  }
  return std::optional<JournalFile>(std::move(journal));
}

// ---- orphans ----

// An orphan with names was being cut when the machine stopped; one without is to be deleted, which its last reference
// does.
Answer<void> settle_orphan(Volume& volume, InodeNumber number, MountReport& report) {
  EXT3_ASSIGN(const InodeReference inode, volume.inodes->get(number, true));
  volume.orphans.adopt(*inode);
  if (inode->links == 0) {
    ++report.orphans_deleted;
    return {};
  }
  ++report.orphans_truncated;
  const SleepLockGuard locked(volume.host, inode->lock);
  return truncate(volume, *inode, inode->size);
}

Answer<void> clear_orphan_list(Volume& volume) {
  EXT3_ASSIGN(Handle handle, volume.journal->start(kSuperblockCredits));
  EXT3_TRY(volume.journal->get_write_access(handle, *volume.superblock_buffer));
  volume.superblock().last_orphan = 0;
  volume.journal->dirty_metadata(handle, *volume.superblock_buffer);
  return handle.stop();
}

Answer<void> settle_orphans(Volume& volume, MountReport& report) {
  // A filesystem with known errors may have a list that leads anywhere: e2fsck is the one to read it.
  if ((volume.superblock().state & kStateErrors) != 0) return clear_orphan_list(volume);
  std::uint32_t last = 0;
  while (volume.superblock().last_orphan != 0u) {
    const InodeNumber number(volume.superblock().last_orphan);
    const bool ordinary = number == kRootInode ? false : number.value >= volume.geometry.first_inode;
    if (!ordinary || number.value > volume.geometry.inode_count || number.value == last) {
      (void)volume.damaged(number, "the orphan list names an inode that cannot be on it");
      return clear_orphan_list(volume);
    }
    last = number.value;
    if (const auto answer = settle_orphan(volume, number, report); !answer) {
      if (answer.error().value != EUCLEAN && answer.error().value != ESTALE) return answer;
      return clear_orphan_list(volume);
    }
    if (volume.superblock().last_orphan == last) return clear_orphan_list(volume);  // it could not be deleted
  }
  return {};
}

// ---- the superblock's own state ----

void write_counts(Volume& volume) {
  Superblock& superblock = volume.superblock();
  superblock.free_blocks_count = static_cast<std::uint32_t>(volume.groups.free_blocks());
  superblock.free_inodes_count = static_cast<std::uint32_t>(volume.groups.free_inodes());
  superblock.write_time = static_cast<std::uint32_t>(volume.now().seconds);
}

// Written past the journal, before anything else is: whoever finds the volume knows how to treat it.
Answer<void> write_superblock_now(Volume& volume) {
  volume.cache->mark_dirty(*volume.superblock_buffer);
  Buffer* const one[] = {volume.superblock_buffer.get()};
  EXT3_TRY(volume.cache->write(one, IoReason::kDemand));
  return volume.cache->flush_device();
}

Answer<void> mark_mounted(Volume& volume, bool journaled) {
  Superblock& superblock = volume.superblock();
  superblock.mount_count = static_cast<std::uint16_t>(superblock.mount_count + 1);
  superblock.mount_time = static_cast<std::uint32_t>(volume.now().seconds);
  if ((superblock.flags & (kFlagSignedHash | kFlagUnsignedHash)) == 0)
    superblock.flags = superblock.flags | kFlagSignedHash;
  if (journaled) {
    superblock.incompatible_features = superblock.incompatible_features | kFeatureRecover;
  } else {
    superblock.incompatible_features = superblock.incompatible_features & ~std::uint32_t{kFeatureRecover};
    superblock.state = static_cast<std::uint16_t>(superblock.state & ~kStateClean);
  }
  return write_superblock_now(volume);
}

// After a failure that cost something. Straight to the device: what memory holds of the superblock may belong to a
// transaction that never commits. The journal, if it waits, still has to be replayed.
Answer<void> leave_with_errors(Volume& volume, int why) {
  Superblock copy;
  const std::array<IoPart, 1> part{
      IoPart{reinterpret_cast<std::byte*>(&copy), sizeof copy, {BlockCause::kSuperblock, {}, {}, 0}}};
  const HostPause outside(volume.host);
  if (volume.device.read(kSuperblockOffset, part, IoReason::kDemand)) {
    copy.state = static_cast<std::uint16_t>((copy.state | kStateErrors) & ~kStateClean);
    if (volume.device.write(kSuperblockOffset, part, IoReason::kDemand)) (void)volume.device.flush();
  }
  return refuse(why);
}

Answer<void> put_in_place(Volume& volume) {
  EXT3_TRY(volume.journal->empty());
  EXT3_TRY(volume.cache->write_all());
  return volume.cache->flush_device();
}

// The mount's last word to the superblock, and the unmount's: nothing waits in the journal.
Answer<void> mark_recovered(Volume& volume) {
  Superblock& superblock = volume.superblock();
  superblock.incompatible_features = superblock.incompatible_features & ~std::uint32_t{kFeatureRecover};
  return write_superblock_now(volume);
}

void start_journal(Volume& volume, std::optional<JournalFile> journal_file) {
  volume.has_log = journal_file.has_value();
  if (volume.has_log)
    volume.journal = std::make_unique<JbdJournal>(volume.host, volume.device, *volume.cache, std::move(*journal_file),
                                                  volume.options);
  else
    volume.journal = std::make_unique<NullJournal>(*volume.cache);
}

// What a crash left unfinished is finished before a volume is read, too; the journal is out of use again afterwards.
Answer<void> settle_for_reading(Volume& volume, JournalFile journal_file, MountReport& report) {
  volume.read_only = false;
  start_journal(volume, std::move(journal_file));
  Superblock& superblock = volume.superblock();
  superblock.incompatible_features = superblock.incompatible_features | kFeatureRecover;
  EXT3_TRY(write_superblock_now(volume));
  EXT3_TRY(settle_orphans(volume, report));
  volume.inodes->drop_idle();
  EXT3_TRY(put_in_place(volume));
  write_counts(volume);
  volume.read_only = true;
  start_journal(volume, std::nullopt);
  return mark_recovered(volume);
}

// Whoever only reads: what a crash left is settled where it can be.
Answer<void> start_reading(Volume& volume, std::optional<JournalFile> journal_file, bool features_known,
                           MountReport& report) {
  const bool waits = (volume.superblock().incompatible_features & kFeatureRecover) != 0;
  if (volume.device.read_only() || !journal_file) return {};
  if (features_known && volume.options.journaled && (waits || volume.superblock().last_orphan != 0u))
    return settle_for_reading(volume, std::move(*journal_file), report);
  if (waits) return mark_recovered(volume);
  return {};
}

Answer<void> start_volume(Volume& volume, std::optional<JournalFile> journal_file, bool features_known,
                          MountReport& report) {
  const Geometry& geometry = volume.geometry;
  volume.cache = std::make_unique<BufferCache>(volume.device, volume.host, geometry.block_size,
                                               volume.options.cache_bytes / geometry.block_size);
  BlockTag tag;
  tag.cause = BlockCause::kSuperblock;
  EXT3_ASSIGN(volume.superblock_buffer, volume.cache->read(BlockNumber(geometry.first_data_block), tag));
  const bool journaled = journal_file.has_value() && volume.options.journaled && !volume.read_only;
  start_journal(volume, journaled ? std::exchange(journal_file, std::nullopt) : std::nullopt);
  EXT3_TRY(volume.groups.load(*volume.cache, geometry));
  volume.blocks = std::make_unique<BlockAllocator>(volume);
  volume.inode_numbers =
      std::make_unique<InodeAllocator>(volume, make_placement_policy(volume.options.placement, volume.options.seed));
  volume.inodes = std::make_unique<InodeCache>(volume, kIdleInodes);
  volume.next_generation = static_cast<std::uint32_t>(volume.options.seed * 2654435769U) + 1;
  if (volume.read_only) return start_reading(volume, std::move(journal_file), features_known, report);
  EXT3_TRY(mark_mounted(volume, journaled));
  return settle_orphans(volume, report);
}

}  // namespace

tl::unexpected<Errno> Volume::damaged(InodeNumber inode, const char* what) {
  ++damage_count;
  first_damage = damage_count == 1 ? DamageNote{inode, what} : first_damage;
  Superblock& copy = superblock();
  copy.state = static_cast<std::uint16_t>(copy.state | kStateErrors);
  if (copy.errors == kErrorsReadOnly || copy.errors == kErrorsPanic) read_only = true;
  return refuse(EUCLEAN);
}

bool waits_for_recovery(BlockDevice& device) {
  const auto superblock = read_superblock(device);
  return superblock && ((superblock->incompatible_features & kFeatureRecover) != 0 || superblock->last_orphan != 0u);
}

LeftAs how_it_was_left(BlockDevice& device) {
  const auto superblock = read_superblock(device);
  if (!superblock || (superblock->state & kStateErrors) != 0) return LeftAs::kWithErrors;
  const bool waits = (superblock->incompatible_features & kFeatureRecover) != 0;
  return waits || (superblock->state & kStateClean) == 0 ? LeftAs::kInUse : LeftAs::kClean;
}

Result<std::optional<RecoveryFigures>> recover_volume(BlockDevice& device) {
  IOTAPE_ASSIGN(const Superblock before, read_superblock(device));
  IOTAPE_TRY(check_features(before));
  if ((before.incompatible_features & kFeatureRecover) == 0) return std::optional<RecoveryFigures>{};
  IOTAPE_ASSIGN(const Geometry geometry, read_geometry(before, device.size()));
  MountReport report;
  IOTAPE_ASSIGN([[maybe_unused]] const auto journal, open_journal(device, geometry, before, report));
  // The superblock itself may have been in the log.
  IOTAPE_ASSIGN(Superblock after, read_superblock(device));
  after.incompatible_features = after.incompatible_features & ~std::uint32_t{kFeatureRecover};
  const std::array<IoPart, 1> part{
      IoPart{reinterpret_cast<std::byte*>(&after), sizeof after, {BlockCause::kSuperblock, {}, {}, 0}}};
  if (!device.write(kSuperblockOffset, part, IoReason::kDemand) || !device.flush())
    return failure(ErrorCode::kIo, "the superblock cannot be written");
  return report.recovery.value_or(RecoveryFigures{});
}

Result<std::unique_ptr<Volume>> mount_volume(Host& host, BlockDevice& device, const MountOptions& options,
                                             MountReport* report_to) {
  MountReport report;
  IOTAPE_ASSIGN(const Superblock superblock, read_superblock(device));
  IOTAPE_ASSIGN(const bool writable, check_features(superblock));
  auto volume = std::make_unique<Volume>(host, device, options);
  IOTAPE_ASSIGN(volume->geometry, read_geometry(superblock, device.size()));
  volume->read_only = options.read_only || device.read_only() || !writable;
  IOTAPE_ASSIGN(auto journal_file, open_journal(device, volume->geometry, superblock, report));
  if (!journal_file && options.journal_required)
    return failure(ErrorCode::kUsage, "it has no journal, and data= asks for one; leave data= out or make it none");
  const HostEntry inside(host);
  if (const auto answer = start_volume(*volume, std::move(journal_file), writable, report); !answer) {
    if (answer.error().value == EUCLEAN) return damaged_image(volume->first_damage.what);
    return system_failure("mounting", answer.error().value);
  }
  if (report_to != nullptr) *report_to = report;
  return volume;
}

Answer<void> sync_volume(Volume& volume) {
  if (volume.read_only) return {};
  if (const int why = volume.journal->aborted(); why != 0) return refuse(why);
  {
    EXT3_ASSIGN(Handle handle, volume.journal->start(kSuperblockCredits));
    EXT3_TRY(volume.journal->get_write_access(handle, *volume.superblock_buffer));
    write_counts(volume);
    volume.journal->dirty_metadata(handle, *volume.superblock_buffer);
    EXT3_TRY(handle.stop());
  }
  if (volume.journal->data_mode() == DataMode::kWriteback) EXT3_TRY(volume.cache->write_all());
  return volume.journal->commit(volume.journal->current());
}

Answer<void> tend_volume(Volume& volume) {
  if (volume.read_only) return {};
  EXT3_TRY(volume.journal->commit_if_due());
  const auto answer = volume.cache->write_older(volume.host.now() - volume.options.writeback_age);
  if (!answer) volume.lost_write = answer.error();
  return answer;
}

Answer<void> unmount_volume(Volume& volume) {
  const HostEntry inside(volume.host);
  volume.inodes->drop_idle();
  if (volume.read_only) return {};
  if (const int why = volume.journal->aborted(); why != 0) return leave_with_errors(volume, why);
  if (const auto done = put_in_place(volume); !done) return leave_with_errors(volume, done.error().value);
  write_counts(volume);
  Superblock& superblock = volume.superblock();
  // Open files without a name stay on the orphan list; the flag keeps e2fsck from being surprised by them.
  superblock.incompatible_features = superblock.incompatible_features & ~std::uint32_t{kFeatureRecover};
  if ((superblock.state & kStateErrors) == 0)
    superblock.state = static_cast<std::uint16_t>(superblock.state | kStateClean);
  EXT3_TRY(write_superblock_now(volume));
  const Errno lost = volume.cache->write_error();
  return lost == Errno{} ? Answer<void>{} : leave_with_errors(volume, lost.value);
}

}  // namespace iotape::ext3
