#include "replayer/fuse_mount/served_volume.h"

#include <sys/sysmacros.h>

#include <algorithm>

#include "replayer/ext3/operations/namespace_operations.h"

namespace iotape::fuse_mount {
namespace {

timespec time_of(const ext3::FileTime& time) { return {time.seconds, static_cast<long>(time.nanoseconds)}; }

}  // namespace

struct stat status_of(const ext3::Inode& inode, const ext3::Volume& volume) {
  struct stat status {};
  status.st_ino = inode.number.value;
  status.st_mode = inode.mode;
  status.st_nlink = inode.links;
  status.st_uid = inode.user;
  status.st_gid = inode.group;
  status.st_size = static_cast<off_t>(inode.size);
  status.st_blocks = static_cast<blkcnt_t>(inode.sectors);
  status.st_blksize = static_cast<blksize_t>(volume.geometry.block_size);
  status.st_atim = time_of(inode.access_time);
  status.st_mtim = time_of(inode.modification_time);
  status.st_ctim = time_of(inode.change_time);
  if (S_ISCHR(inode.mode) || S_ISBLK(inode.mode)) {
    constexpr unsigned kMinorBits = 20;
    const std::uint64_t device = ext3::device_number(inode);
    status.st_rdev =
        makedev(static_cast<unsigned>(device >> kMinorBits), static_cast<unsigned>(device & ((1U << kMinorBits) - 1)));
  }
  return status;
}

fuse_entry_param entry_of(ServedVolume& served, ext3::Inode& inode) {
  served.nodes.count(inode);
  fuse_entry_param entry{};
  entry.ino = NodeTable::id_of(inode.number);
  entry.generation = inode.generation;
  entry.attr = status_of(inode, served.volume);
  entry.attr_timeout = entry.entry_timeout = kForever;
  return entry;
}

GroupedCaller::GroupedCaller(fuse_req_t request, bool wanted) : caller_(caller_of(request)) {
  if (!wanted || caller_.privileged) return;
  static_assert(sizeof(gid_t) == sizeof(std::uint32_t));
  groups_.resize(32);
  for (int found = 0;;) {
    found = fuse_req_getgroups(request, static_cast<int>(groups_.size()), groups_.data());
    const auto count = static_cast<std::size_t>(std::max(found, 0));
    const bool fits = count <= groups_.size();
    groups_.resize(count);
    if (fits) break;
  }
  caller_.groups = groups_;
}

void reply_entry(fuse_req_t request, const ext3::Answer<fuse_entry_param>& entry) {
  ServedVolume& served = served_by(request);
  if (!entry) {
    fuse_reply_err(request, entry.error().value);
  } else if (fuse_reply_entry(request, &*entry) != 0) {
    inside(served, [&] { served.nodes.forget(entry->ino, 1); });
  }
}

void reply_attributes(fuse_req_t request, const ext3::Answer<struct stat>& status) {
  if (status)
    fuse_reply_attr(request, &*status, kForever);
  else
    fuse_reply_err(request, status.error().value);
}

}  // namespace iotape::fuse_mount
