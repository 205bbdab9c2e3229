// What reads and changes a file's attributes, and the volume's figures.
//
// REQUIRES of every call: inside the monitor, no lock and no handle held. All may wait. Permission is checked above.
#pragma once

#include <cstdint>
#include <optional>

#include "replayer/ext3/inode.h"
#include "replayer/ext3/operations/caller.h"

namespace iotape::ext3 {

struct Volume;

struct AttributeChange {
  std::optional<std::uint32_t> permissions;  // the low twelve bits of the mode
  std::optional<std::uint32_t> user;
  std::optional<std::uint32_t> group;
  bool by_stranger_to_group = false;  // with user or group: who is neither privileged nor in the file's group
  std::optional<FileTime> access_time;
  std::optional<FileTime> modification_time;
};
// Also the change time. A change of owner takes the set-id bits off anything but a directory.
Answer<void> change_attributes(Volume& volume, Inode& inode, const AttributeChange& change);

// What chattr(1) shows and sets, as numbers of FS_IOC_GETFLAGS: the bits of InodeFlag.
std::uint32_t shown_flags(const Inode& inode);
// Sets those that ext3 lets be set on such a file. EOPNOTSUPP for bits that it does not show; EPERM where IMMUTABLE or
// APPEND change, or JOURNAL_DATA, and the caller is not privileged, or while an immutable file stays so.
Answer<void> change_flags(Volume& volume, Inode& inode, std::uint32_t flags, const Caller& caller);
// The same bits as FS_IOC_FSGETXATTR has them, for those that it has; and back.
std::uint32_t extended_flags(std::uint32_t flags);
std::uint32_t flags_from_extended(std::uint32_t extended);

// The access time after a read, by the mount's rule; quiet on a read-only volume.
Answer<void> touch_access_time(Volume& volume, Inode& inode);

struct VolumeFigures {  // statfs
  std::uint32_t block_size = 0;
  std::uint64_t blocks = 0;  // without the volume's own structures, as ext3's default (minixdf off) reports them
  std::uint64_t free_blocks = 0;
  std::uint64_t available_blocks = 0;  // to those who may not use the reserved ones
  std::uint64_t inodes = 0;
  std::uint64_t free_inodes = 0;
};
VolumeFigures volume_figures(const Volume& volume);

}  // namespace iotape::ext3
