// The kernel's requests about attributes and the volume: getattr, setattr, statfs.
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cstring>

#include "replayer/ext3/operations/attribute_operations.h"
#include "replayer/ext3/operations/file_operations.h"
#include "replayer/ext3/path/permission.h"
#include "replayer/fuse_mount/served_volume.h"

namespace iotape::fuse_mount {
namespace {

using ext3::Answer;
using ext3::InodeReference;

void get_attributes(fuse_req_t request, fuse_ino_t node, fuse_file_info* /*file*/) {
  ServedVolume& served = served_by(request);
  reply_attributes(request, inside(
                                served, [&]() -> Answer<struct stat> {
                                  EXT3_ASSIGN(const InodeReference inode, served.nodes.get(node));
                                  return status_of(*inode, served.volume);
                                }));
}

ext3::FileTime file_time(const timespec& time) { return {time.tv_sec, static_cast<std::uint32_t>(time.tv_nsec)}; }

ext3::AttributeChange change_of(const struct stat& wanted, int which, const ext3::Volume& volume) {
  ext3::AttributeChange change;
  if ((which & FUSE_SET_ATTR_MODE) != 0) change.permissions = wanted.st_mode & 07777U;
  if ((which & FUSE_SET_ATTR_UID) != 0) change.user = wanted.st_uid;
  if ((which & FUSE_SET_ATTR_GID) != 0) change.group = wanted.st_gid;
  if ((which & FUSE_SET_ATTR_ATIME_NOW) != 0)
    change.access_time = volume.now();
  else if ((which & FUSE_SET_ATTR_ATIME) != 0)
    change.access_time = file_time(wanted.st_atim);
  if ((which & FUSE_SET_ATTR_MTIME_NOW) != 0)
    change.modification_time = volume.now();
  else if ((which & FUSE_SET_ATTR_MTIME) != 0)
    change.modification_time = file_time(wanted.st_mtim);
  return change;
}

Answer<struct stat> set(ServedVolume& served, ext3::Inode& inode, const struct stat& wanted, int which,
                        const ext3::Caller& caller) {
  constexpr int kRest = FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID | FUSE_SET_ATTR_ATIME |
                        FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW;
  constexpr int kOnlyNow = FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW | FUSE_SET_ATTR_ATIME |
                           FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_CTIME;
  const bool only_now = (which & ~kOnlyNow) == 0 && (which & FUSE_SET_ATTR_ATIME_NOW) != 0;
  EXT3_TRY(ext3::check_flags(inode, only_now));
  if ((which & FUSE_SET_ATTR_SIZE) != 0) {
    EXT3_TRY(ext3::truncate_file(served.volume, inode, static_cast<std::uint64_t>(wanted.st_size), caller));
    which &= ~FUSE_SET_ATTR_MTIME_NOW;  // done
  }
  // Nothing at all is a chown(2) of nothing, which changes the change time alone.
  if ((which & kRest) != 0 || which == 0)
    EXT3_TRY(ext3::change_attributes(served.volume, inode, change_of(wanted, which, served.volume)));
  return status_of(inode, served.volume);
}

void set_attributes(fuse_req_t request, fuse_ino_t node, struct stat* wanted, int which, fuse_file_info* /*file*/) {
  ServedVolume& served = served_by(request);
  // What a truncation takes off the mode depends on the caller's groups.
  const GroupedCaller grouped(request, (which & FUSE_SET_ATTR_SIZE) != 0);
  reply_attributes(request, inside(
                                served, [&]() -> Answer<struct stat> {
                                  EXT3_ASSIGN(const InodeReference inode, served.nodes.get(node));
                                  return set(served, *inode, *wanted, which, grouped.caller());
                                }));
}

void volume_status(fuse_req_t request, fuse_ino_t /*node*/) {
  ServedVolume& served = served_by(request);
  struct statvfs status {};
  inside(served, [&] {
    const ext3::VolumeFigures figures = ext3::volume_figures(served.volume);
    status.f_bsize = status.f_frsize = figures.block_size;
    status.f_blocks = figures.blocks;
    status.f_bfree = figures.free_blocks;
    status.f_bavail = figures.available_blocks;
    status.f_files = figures.inodes;
    status.f_ffree = status.f_favail = figures.free_inodes;
    status.f_namemax = ext3::kNameLimit;
  });
  fuse_reply_statfs(request, &status);
}

}  // namespace

void add_attribute_requests(fuse_lowlevel_ops& requests) {
  requests.getattr = &get_attributes;
  requests.setattr = &set_attributes;
  requests.statfs = &volume_status;
}

}  // namespace iotape::fuse_mount
