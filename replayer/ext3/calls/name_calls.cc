// Calls that change and read names.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>

#include "replayer/ext3/calls/issuer.h"
#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/operations/attribute_operations.h"
#include "replayer/ext3/operations/file_operations.h"

namespace iotape::ext3 {
namespace {

// What one entry takes in a caller's buffer: linux_dirent64 (8 + 8 + 2 + 1 and the name with its NUL), or the old form
// (8 + 8 + 2, the name with its NUL, and a type byte), in steps of 8.
std::int64_t entry_bytes(std::size_t name_length, bool old_layout) {
  const std::size_t raw = old_layout ? 18 + name_length + 2 : 19 + name_length + 1;
  return static_cast<std::int64_t>((raw + 7) & ~std::size_t{7});
}

// Why a directory called like this cannot be removed: it holds another one, or it is in use, or it is the root.
int errno_of_dots(std::string_view path) {
  path = path.substr(0, path.find_last_not_of('/') + 1);
  if (path.ends_with("..")) return ENOTEMPTY;
  return path.ends_with('.') ? EINVAL : EBUSY;
}

// The name an inode has in its directory, by reading it through.
Answer<std::string> name_in(Volume& volume, Inode& directory, InodeNumber wanted) {
  std::string name;
  const SleepLockGuard locked(volume.host, directory.lock);
  const auto answer = read_directory(volume, directory, 0, [&](const DirectoryListing& entry) {
    if (entry.inode != wanted || entry.name == "." || entry.name == "..") return true;
    name = entry.name;
    return false;
  });
  EXT3_TRY(answer);
  if (name.empty()) return refuse(ENOENT);
  return name;
}

}  // namespace

// In all of these the order of the checks is the kernel's: it decides which of several errors is told.

Answer<PathEnd> Issuer::new_name(const PathArgument& path, bool slash_is_fine) {
  EXT3_ASSIGN(PathEnd end, end_of(path, LastSymlink::kNever));
  if (end.inode || end.dots) return refuse(EEXIST);
  if (end.name.size() > kNameLimit) return refuse(ENAMETOOLONG);
  if (end.must_be_directory && !slash_is_fine) return refuse(ENOENT);
  if (volume_.read_only) return refuse(EROFS);
  if (end.directory->links == 0) return refuse(ENOENT);
  EXT3_TRY(check_access(*end.directory, W_OK | X_OK, thread_.credentials));
  EXT3_TRY(check_flags(*end.directory, true));
  return end;
}

Answer<InodeReference> Issuer::make(const PathArgument& path, const NewNode& node, bool slash_is_fine) {
  EXT3_ASSIGN(const PathEnd end, new_name(path, slash_is_fine));
  const bool device = S_ISCHR(node.mode) || S_ISBLK(node.mode);
  if (device && !thread_.credentials.privileged) return refuse(EPERM);
  return create_node(volume_, *end.directory, end.name, node, thread_.credentials.caller());
}

Answer<PathEnd> Issuer::removable(const PathArgument& path, bool directory) {
  EXT3_ASSIGN(PathEnd end, end_of(path, LastSymlink::kNever));
  if (end.dots) return end;
  if (volume_.read_only) return refuse(EROFS);
  if (!end.inode) return refuse(end.name.size() > kNameLimit ? ENAMETOOLONG : ENOENT);
  if (!directory && end.must_be_directory) return refuse(end.inode->is_directory() ? EISDIR : ENOTDIR);
  EXT3_TRY(check_removal(*end.directory, *end.inode, thread_.credentials));
  return end;
}

namespace {

Answer<void> check_rename_names(const PathEnd& from, const PathEnd& to, std::int64_t flags) {
  if (!from.inode) return refuse(from.name.size() > kNameLimit ? ENAMETOOLONG : ENOENT);
  if (to.name.size() > kNameLimit) return refuse(ENAMETOOLONG);
  if ((flags & RENAME_NOREPLACE) != 0 && to.inode) return refuse(EEXIST);
  if (flags == RENAME_EXCHANGE && !to.inode) return refuse(ENOENT);
  if (flags == RENAME_EXCHANGE && to.must_be_directory && !to.inode->is_directory()) return refuse(ENOTDIR);
  if (from.inode->is_directory()) return {};
  if (from.must_be_directory || (flags != RENAME_EXCHANGE && to.must_be_directory)) return refuse(ENOTDIR);
  return {};
}

// Whoever moves a directory elsewhere writes to it: its ".." changes.
Answer<void> check_rename_rights(const PathEnd& from, const PathEnd& to, std::int64_t flags, const Credentials& mine) {
  const bool directory = from.inode->is_directory();
  EXT3_TRY(check_removal(*from.directory, *from.inode, mine));
  if (to.inode) {
    EXT3_TRY(check_removal(*to.directory, *to.inode, mine));
  } else {
    if (to.directory->links == 0) return refuse(ENOENT);
    EXT3_TRY(check_access(*to.directory, W_OK | X_OK, mine));
  }
  if (from.directory.get() == to.directory.get()) return {};
  if (directory) EXT3_TRY(check_access(*from.inode, W_OK, mine));
  if (flags == RENAME_EXCHANGE && to.inode->is_directory()) EXT3_TRY(check_access(*to.inode, W_OK, mine));
  return {};
}

}  // namespace

Issuer::Outcome Issuer::operator()(const Rename& op) {
  if (!renames_with(static_cast<std::uint64_t>(op.flags))) return refuse(EINVAL);
  EXT3_ASSIGN(PathEnd from, end_of(op.from, LastSymlink::kNever));
  EXT3_ASSIGN(PathEnd to, end_of(op.to, LastSymlink::kNever));
  if (from.dots) return refuse(EBUSY);
  if (to.dots) return refuse((op.flags & RENAME_NOREPLACE) != 0 ? EEXIST : EBUSY);
  if (volume_.read_only) return refuse(EROFS);
  EXT3_TRY(check_rename_names(from, to, op.flags));
  if (from.inode.get() == to.inode.get()) return 0;
  EXT3_TRY(check_rename_rights(from, to, op.flags, thread_.credentials));
  from.inode = {};  // the last name may go: nobody but the filesystem holds what it was
  to.inode = {};
  EXT3_TRY(rename_node(volume_, *from.directory, from.name, *to.directory, to.name,
                       static_cast<std::uint32_t>(op.flags), thread_.credentials.caller()));
  return 0;
}

Issuer::Outcome Issuer::operator()(const HardLink& op) {
  const bool follows = (op.flags & AT_SYMLINK_FOLLOW) != 0;
  EXT3_ASSIGN(const InodeReference existing,
              inode_of(op.existing, (follows ? 0 : AT_SYMLINK_NOFOLLOW) | (op.flags & AT_EMPTY_PATH)));
  EXT3_ASSIGN(const PathEnd end, new_name(op.created, false));
  EXT3_TRY(check_flags(*existing, false));
  EXT3_TRY(link_node(volume_, *end.directory, end.name, *existing));
  return 0;
}

Issuer::Outcome Issuer::operator()(const SymbolicLink& op) {
  EXT3_ASSIGN(const std::string_view target, text_of(op.target));
  if (target.empty()) return refuse(ENOENT);
  if (target.size() >= kPathLimit) return refuse(ENAMETOOLONG);
  EXT3_TRY(make(op.created, {S_IFLNK | 0777U, 0, target, 0}, false));
  return 0;
}

Issuer::Outcome Issuer::operator()(const ReadLink& op) {
  if (op.length <= 0) return refuse(EINVAL);
  EXT3_ASSIGN(const InodeReference inode, inode_of(op.path, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
  if (op.path.bytes.empty() && !inode->is_symlink()) return refuse(ENOENT);
  EXT3_ASSIGN(const std::string target, read_symlink(volume_, *inode));
  EXT3_TRY(touch_access_time(volume_, *inode));
  return std::min<std::int64_t>(op.length, static_cast<std::int64_t>(target.size()));
}

Issuer::Outcome Issuer::operator()(const Unlink& op) {
  const bool directory = number_ == SYS_rmdir || (number_ == SYS_unlinkat && (op.flags & AT_REMOVEDIR) != 0);
  EXT3_ASSIGN(PathEnd end, removable(op.path, directory));
  if (end.dots && !directory) return refuse(EISDIR);
  if (end.dots) return refuse(errno_of_dots(op.path.bytes));
  const bool is_directory = end.inode->is_directory();
  end.inode = {};  // else its last reference would go only after the call
  if (!directory && is_directory) return refuse(EISDIR);
  EXT3_TRY(directory ? remove_directory(volume_, *end.directory, end.name)
                     : unlink_name(volume_, *end.directory, end.name));
  return 0;
}

Issuer::Outcome Issuer::operator()(const MakeDirectory& op) {
  EXT3_TRY(make(op.path, new_node(S_IFDIR, op.mode & 01777), true));
  return 0;
}

Issuer::Outcome Issuer::operator()(const MakeNode& op) {
  const auto type = static_cast<std::uint32_t>(op.mode) & S_IFMT;
  if (type == S_IFDIR) return refuse(EPERM);
  if (type == S_IFLNK) return refuse(EINVAL);
  const auto device = static_cast<dev_t>(op.device);
  const std::uint64_t number = std::uint64_t{gnu_dev_major(device)} << 20U | gnu_dev_minor(device);
  NewNode node = new_node(type == 0 ? S_IFREG : type, op.mode);
  node.device = number;
  EXT3_TRY(make(op.path, node, false));
  return 0;
}

Issuer::Outcome Issuer::operator()(const ReadDirectory& op) {
  EXT3_ASSIGN(OpenFile* const open, file(op.descriptor));
  if (!open->inode->is_directory()) return refuse(ENOTDIR);
  const bool old_layout = number_ == SYS_getdents;
  const std::int64_t room = std::clamp<std::int64_t>(op.length, 0, 1 << 30U);
  std::int64_t used = 0;
  bool too_small = false;
  {
    const SleepLockGuard locked(volume_.host, open->inode->lock);
    if (open->inode->links == 0) return refuse(ENOENT);
    EXT3_ASSIGN(open->offset, read_directory(volume_, *open->inode, open->directory, open->offset,
                                             [&](const DirectoryListing& entry) {
                                               const std::int64_t bytes = entry_bytes(entry.name.size(), old_layout);
                                               too_small = used + bytes > room;
                                               if (too_small) return false;
                                               used += bytes;
                                               answer_.directory_names.emplace_back(entry.name);
                                               return true;
                                             }));
  }
  EXT3_TRY(touch_access_time(volume_, *open->inode));  // an access also when the buffer is too small
  if (used == 0 && too_small) return refuse(EINVAL);
  return used;
}

Issuer::Outcome Issuer::operator()(const GetWorkingDirectory& op) {
  std::int64_t length = 1;  // the NUL
  InodeReference at = thread_.view->start.current;
  if (at->links == 0) return refuse(ENOENT);
  while (at.get() != thread_.view->start.root.get() && at->number != kRootInode) {
    InodeNumber parent;
    {
      const SleepLockGuard locked(volume_.host, at->lock);
      EXT3_ASSIGN(parent, directory_parent(volume_, *at));
    }
    EXT3_ASSIGN(InodeReference above, volume_.inodes->get(parent));
    EXT3_ASSIGN(const std::string name, name_in(volume_, *above, at->number));
    length += static_cast<std::int64_t>(name.size()) + 1;
    if (length > static_cast<std::int64_t>(kPathLimit)) return refuse(ENAMETOOLONG);
    at = std::move(above);
  }
  length = std::max<std::int64_t>(length, 2);
  if (op.length < length) return refuse(ERANGE);
  return length;
}

Issuer::Outcome Issuer::operator()(const ChangeDirectoryPath& op) {
  EXT3_ASSIGN(InodeReference inode, inode_of(op.path, 0));
  if (!inode->is_directory()) return refuse(ENOTDIR);
  EXT3_TRY(check_access(*inode, X_OK, thread_.credentials));
  if (number_ == SYS_chroot && !thread_.credentials.privileged) return refuse(EPERM);
  (number_ == SYS_chroot ? thread_.view->start.root : thread_.view->start.current) = std::move(inode);
  return 0;
}

Issuer::Outcome Issuer::operator()(const ChangeDirectoryDescriptor& op) {
  EXT3_ASSIGN(const OpenFile* const open, file(op.descriptor, true));
  if (!open->inode->is_directory()) return refuse(ENOTDIR);
  EXT3_TRY(check_access(*open->inode, X_OK, thread_.credentials));
  thread_.view->start.current = open->inode;
  return 0;
}

}  // namespace iotape::ext3
