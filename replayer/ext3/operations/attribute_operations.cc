#include "replayer/ext3/operations/attribute_operations.h"

#include <linux/fs.h>

#include <array>
#include <utility>

#include "replayer/ext3/volume.h"
#include "replayer/ext3/xattr/xattr.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint32_t kPermissionBits = 07777;
constexpr std::uint32_t kShownFlags = 0x725BDFFF;  // EXT4_FL_USER_VISIBLE: what may be passed back
constexpr std::uint32_t kBindingFlags = kInodeImmutable | kInodeAppendOnly;
constexpr std::uint32_t kFlagsOfDirectories = kInodeDirectorySync | kInodeTopDirectory;
constexpr std::uint32_t kFlagsOfAll = kInodeNoDump | kInodeNoAccessTime;
constexpr std::uint32_t kSettableFlags = kInodeSecureRemove | kInodeUndelete | kInodeCompressed | kInodeSync |
                                         kBindingFlags | kFlagsOfAll | kInodeJournalData | kInodeNoTail |
                                         kFlagsOfDirectories;
constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 5> kExtendedFlags{{{kInodeImmutable, FS_XFLAG_IMMUTABLE},
                                                                                 {kInodeAppendOnly, FS_XFLAG_APPEND},
                                                                                 {kInodeSync, FS_XFLAG_SYNC},
                                                                                 {kInodeNoAccessTime, FS_XFLAG_NOATIME},
                                                                                 {kInodeNoDump, FS_XFLAG_NODUMP}}};
constexpr std::int64_t kRelativeLimit = 86'400;  // relatime: at least once a day

bool access_time_is_due(const Volume& volume, const Inode& inode, const FileTime& now) {
  if (inode.has_flag(kInodeNoAccessTime)) return false;
  switch (volume.options.access_times) {
    case AccessTimes::kOff:
      return false;
    case AccessTimes::kStrict:
      return inode.access_time != now;
    case AccessTimes::kRelative:
      break;
  }
  return inode.access_time <= inode.modification_time || inode.access_time <= inode.change_time ||
         now.seconds - inode.access_time.seconds >= kRelativeLimit;
}

Answer<void> write_record(Volume& volume, Inode& inode) {
  EXT3_ASSIGN(Handle handle, volume.journal->start(1));
  EXT3_TRY(volume.inodes->write(handle, inode));
  return handle.stop();
}

void apply(Volume& volume, Inode& inode, const AttributeChange& change) {
  const std::uint32_t inode_size = volume.geometry.inode_size;
  if (change.user) inode.user = *change.user;
  if (change.group) inode.group = *change.group;
  if ((change.user || change.group) && !inode.is_directory()) {
    inode.mode &= ~static_cast<std::uint32_t>(S_ISUID);
    if ((inode.mode & S_IXGRP) != 0 || change.by_stranger_to_group) inode.mode &= ~static_cast<std::uint32_t>(S_ISGID);
  }
  if (change.permissions) inode.mode = (inode.mode & ~kPermissionBits) | (*change.permissions & kPermissionBits);
  if (change.access_time) inode.access_time = storable_time(inode_size, *change.access_time);
  if (change.modification_time) inode.modification_time = storable_time(inode_size, *change.modification_time);
  inode.change_time = volume.storable_now();
}

// An access control list says what the mode says. It may lie in a block that others share and then needs one of its
// own: without space for that nothing changes.
Answer<void> change_with_acl(Volume& volume, Inode& inode, const AttributeChange& change) {
  EXT3_ASSIGN(Handle handle, volume.journal->start(xattr_credits()));
  const std::uint32_t mode_before = inode.mode;
  inode.mode = (inode.mode & ~kPermissionBits) | (*change.permissions & kPermissionBits);
  const Answer<void> followed = update_acl_after_chmod(volume, handle, inode, true);
  if (!followed) {
    inode.mode = mode_before;
    return followed;
  }
  apply(volume, inode, change);
  EXT3_TRY(volume.inodes->write(handle, inode));
  return handle.stop();
}

std::uint32_t settable_flags(const Inode& inode) {
  if (inode.is_directory()) return kSettableFlags;
  return inode.is_regular() ? kSettableFlags & ~kFlagsOfDirectories : kFlagsOfAll;
}

}  // namespace

std::uint32_t shown_flags(const Inode& inode) { return inode.flags & kShownFlags; }

Answer<void> change_flags(Volume& volume, Inode& inode, std::uint32_t flags, const Caller& caller) {
  if (volume.read_only || volume.journal->aborted() != 0) return refuse(EROFS);
  const SleepLockGuard locked(volume.host, inode.lock);
  const std::uint32_t changed = flags ^ shown_flags(inode);
  if ((changed & (kBindingFlags | kInodeJournalData)) != 0 && !caller.privileged) return refuse(EPERM);
  // Tools pass back all that they were shown: what can never be set is ignored, what another kind of file has is not.
  const std::uint32_t settable = settable_flags(inode);
  if ((flags & ~kShownFlags) != 0 || (flags & kSettableFlags & ~settable) != 0) return refuse(EOPNOTSUPP);
  if ((flags & inode.flags & kInodeImmutable) != 0 && (changed & settable) != 0) return refuse(EPERM);
  inode.flags = (inode.flags & ~settable) | (flags & settable);
  inode.change_time = volume.storable_now();
  return write_record(volume, inode);
}

std::uint32_t extended_flags(std::uint32_t flags) {
  std::uint32_t extended = 0;
  for (const auto& [plain, other] : kExtendedFlags) extended |= (flags & plain) != 0 ? other : 0;
  return extended;
}

std::uint32_t flags_from_extended(std::uint32_t extended) {
  std::uint32_t flags = 0;
  for (const auto& [plain, other] : kExtendedFlags) flags |= (extended & other) != 0 ? plain : 0;
  return flags;
}

Answer<void> change_attributes(Volume& volume, Inode& inode, const AttributeChange& change) {
  if (volume.read_only || volume.journal->aborted() != 0) return refuse(EROFS);
  const SleepLockGuard locked(volume.host, inode.lock);
  if (change.permissions) return change_with_acl(volume, inode, change);
  apply(volume, inode, change);
  return write_record(volume, inode);
}

Answer<void> touch_access_time(Volume& volume, Inode& inode) {
  if (volume.read_only || volume.journal->aborted() != 0) return {};
  const FileTime now = volume.storable_now();
  if (!access_time_is_due(volume, inode, now)) return {};
  inode.access_time = now;
  return write_record(volume, inode);
}

VolumeFigures volume_figures(const Volume& volume) {
  const Geometry& geometry = volume.geometry;
  VolumeFigures figures;
  figures.block_size = geometry.block_size;
  std::uint64_t overhead = geometry.first_data_block;
  for (std::uint32_t group = 0; group < geometry.group_count; ++group)
    overhead += geometry.backup_blocks(GroupNumber(group)) -
                (geometry.has_backup(GroupNumber(group)) ? geometry.reserved_gdt_blocks : 0) + 2 +
                geometry.inode_table_blocks;
  figures.blocks = geometry.block_count - overhead;
  figures.free_blocks = volume.groups.free_blocks();
  const std::uint64_t reserved = volume.superblock().reserved_blocks_count;
  figures.available_blocks = figures.free_blocks > reserved ? figures.free_blocks - reserved : 0;
  figures.inodes = geometry.inode_count;
  figures.free_inodes = volume.groups.free_inodes();
  return figures;
}

}  // namespace iotape::ext3
