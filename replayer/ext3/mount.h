// Mounting and unmounting a volume.
#pragma once

#include <memory>
#include <optional>

#include "format/base/result.h"
#include "replayer/ext3/journal/recovery.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {

struct MountReport {
  std::optional<RecoveryFigures> recovery;  // the journal was replayed
  std::uint32_t orphans_deleted = 0;
  std::uint32_t orphans_truncated = 0;
};

// Checks features and geometry, replays the journal when it has to be, deletes or cuts orphans, also when the volume
// is then only read (as ext3 does), unless the device itself is read-only. Enters the monitor itself. Errors say what
// is wrong with the image and what to do: kCorrupt, kUnsupported, kIo. REQUIRES: host and device outlive the volume,
// and nobody else uses the device.
Result<std::unique_ptr<Volume>> mount_volume(Host& host, BlockDevice& device, const MountOptions& options,
                                             MountReport* report = nullptr);

// Whether a mount would have to write before anything can be read as it was meant: a journal to replay, unfinished
// deletions. False for what is no ext3 at all.
bool waits_for_recovery(BlockDevice& device);

enum class LeftAs : std::uint8_t {
  kClean,
  kInUse,       // never unmounted: a journal waits, or e2fsck has to look at all of it
  kWithErrors,  // a write failed, or something was damaged
};
// How a volume that nobody uses was left; kWithErrors for what is no ext3 at all.
LeftAs how_it_was_left(BlockDevice& device);

// What a mount does first, by itself: replays the journal, and says in the superblock that it is done. Nothing: no
// recovery was asked for. REQUIRES: nobody uses the device.
Result<std::optional<RecoveryFigures>> recover_volume(BlockDevice& device);

// Everything in place, the journal empty, the superblock clean. Enters the monitor itself. REQUIRES: no inode is in
// use. What is still open (a replay that ended early) is put on the orphan list's care: the next mount deletes it.
// EIO, ENOSPC (of the file that is the device): a write failed, now or earlier, and what it held is lost; the
// superblock then says that the volume has errors.
Answer<void> unmount_volume(Volume& volume);

// sync(2): data, then the running transaction. REQUIRES: inside; no handle open. May wait.
Answer<void> sync_volume(Volume& volume);

// What a daemon does now and then: commits a transaction that is due, writes back old data. REQUIRES: inside; no handle
// open. May wait.
Answer<void> tend_volume(Volume& volume);

}  // namespace iotape::ext3
