// Calls that make, share and end descriptors.
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "replayer/ext3/calls/issuer.h"
#include "replayer/ext3/operations/attribute_operations.h"
#include "replayer/ext3/operations/file_operations.h"

namespace iotape::ext3 {
namespace {

constexpr std::int64_t kTemporary = O_TMPFILE & ~O_DIRECTORY;

int access_wanted(std::int64_t flags) {
  if ((flags & O_TRUNC) != 0 && (flags & O_ACCMODE) == O_RDONLY) return R_OK | W_OK;
  switch (flags & O_ACCMODE) {
    case O_RDONLY:
      return R_OK;
    case O_WRONLY:
      return W_OK;
    default:
      return R_OK | W_OK;
  }
}

// What openat2(2) is stricter about. Nothing is mounted below, and there are no magic links: those rules forbid
// nothing.
Answer<void> check_open_how(const Open& op) {
  constexpr std::int64_t kScoped = RESOLVE_BENEATH | RESOLVE_IN_ROOT;
  constexpr std::int64_t kKnown =
      kScoped | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED;
  const bool creates = (op.flags & (O_CREAT | kTemporary)) != 0;
  if ((op.resolve & ~kKnown) != 0 || (op.resolve & kScoped) == kScoped) return refuse(EINVAL);
  constexpr std::int64_t kWithPath = O_DIRECTORY | O_NOFOLLOW | O_PATH | O_CLOEXEC;
  if ((op.flags & O_PATH) != 0 && (op.flags & ~kWithPath) != 0) return refuse(EINVAL);
  if ((op.mode & ~std::int64_t{07777}) != 0 || (!creates && op.mode != 0)) return refuse(EINVAL);
  if ((op.resolve & RESOLVE_CACHED) != 0 && (creates || (op.flags & O_TRUNC) != 0)) return refuse(EAGAIN);
  return {};
}

FileReference reference_of(const Inode& inode, DeviceId device) {
  FileReference reference;
  reference.identity.device = device;
  reference.identity.inode = iotape::InodeNumber(inode.number.value);
  reference.identity.generation = inode.generation;
  reference.kind = file_kind_of_mode(inode.mode, FileKind::kUnknown);
  return reference;
}

}  // namespace

Answer<InodeReference> Issuer::open_existing(InodeReference inode, std::int64_t flags) {
  const bool creates = (flags & O_CREAT) != 0 && (flags & O_PATH) == 0;
  if (creates && inode->is_directory()) return refuse(EISDIR);
  if ((flags & O_DIRECTORY) != 0 && !inode->is_directory()) return refuse(ENOTDIR);
  if ((flags & O_PATH) != 0) return inode;
  if (inode->is_symlink()) return refuse(ELOOP);
  const bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;
  if (inode->is_directory() && writes) return refuse(EISDIR);
  EXT3_TRY(check_access(*inode, access_wanted(flags), thread_.credentials));
  if (writes) EXT3_TRY(check_flags(*inode, (flags & O_APPEND) != 0 && (flags & O_TRUNC) == 0));
  if (writes && volume_.read_only && inode->is_regular()) return refuse(EROFS);
  if ((flags & O_NOATIME) != 0 && !thread_.credentials.owns(*inode)) return refuse(EPERM);
  // Nobody is at the other end of a fifo or a device here.
  if (!inode->is_regular() && !inode->is_directory()) return refuse(ENXIO);
  if ((flags & O_TRUNC) != 0 && inode->is_regular())
    EXT3_TRY(truncate_file(volume_, *inode, 0, thread_.credentials.caller()));
  return inode;
}

Answer<InodeReference> Issuer::open_inode(const Open& op, std::int64_t flags) {
  if ((flags & kTemporary) == kTemporary) return refuse(EOPNOTSUPP);
  const bool creates = (flags & O_CREAT) != 0 && (flags & O_PATH) == 0;
  const bool keeps = (flags & O_NOFOLLOW) != 0 || (creates && (flags & O_EXCL) != 0);
  if (creates && op.path.bytes.ends_with('/')) {
    EXT3_ASSIGN(const PathEnd parent, end_of(op.path, LastSymlink::kNever));
    if (!parent.dots) return refuse(EISDIR);
  }
  EXT3_ASSIGN(PathEnd end, end_of(op.path, keeps ? LastSymlink::kKeep : LastSymlink::kFollow));
  if (end.inode && creates && (flags & O_EXCL) != 0) return refuse(EEXIST);
  if (end.inode && end.must_be_directory && !end.inode->is_directory()) return refuse(ENOTDIR);
  if (end.inode) return open_existing(std::move(end.inode), flags);
  if (!creates) return refuse(ENOENT);
  if (end.must_be_directory) return refuse(EISDIR);
  if ((flags & O_DIRECTORY) != 0) return refuse(EINVAL);
  if (volume_.read_only) return refuse(EROFS);
  if (end.directory->links == 0) return refuse(ENOENT);
  EXT3_TRY(check_access(*end.directory, W_OK | X_OK, thread_.credentials));
  EXT3_TRY(check_flags(*end.directory, true));
  auto created =
      create_node(volume_, *end.directory, end.name, new_node(S_IFREG, op.mode), thread_.credentials.caller());
  if (created || created.error().value != EEXIST || (flags & O_EXCL) != 0) return created;
  EXT3_ASSIGN(end.inode, look_up(volume_, *end.directory, end.name));  // another thread was quicker
  return open_existing(std::move(end.inode), flags);
}

Issuer::Outcome Issuer::keep_open(InodeReference inode, std::int64_t flags) {
  auto open = std::make_shared<OpenFile>();
  open->inode = std::move(inode);
  open->flags = flags & ~std::int64_t{O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_CLOEXEC};
  answer_.opened = reference_of(*open->inode, device_);
  const int number = thread_.descriptors->add(std::move(open), (flags & O_CLOEXEC) != 0);
  if (number < 0) return refuse(EMFILE);
  return number;
}

Issuer::Outcome Issuer::operator()(const Open& op) {
  if (number_ == SYS_openat2) EXT3_TRY(check_open_how(op));
  resolve_ = op.resolve;
  const std::int64_t flags = number_ == SYS_creat ? op.flags | O_CREAT | O_WRONLY | O_TRUNC : op.flags;
  EXT3_ASSIGN(InodeReference inode, open_inode(op, flags));
  return keep_open(std::move(inode), flags);
}

Issuer::Outcome Issuer::operator()(const Close& op) {
  if (!thread_.descriptors->close(op.descriptor.number)) return refuse(EBADF);
  return 0;
}

Issuer::Outcome Issuer::operator()(const CloseRange& op) {
  if (op.first < 0 || op.last < op.first) return refuse(EINVAL);
  const auto last = std::min<std::int64_t>(op.last, static_cast<std::int64_t>(thread_.descriptors->size()) - 1);
  for (std::int64_t number = op.first; number <= last; ++number) {
    DescriptorSlot* const slot = thread_.descriptors->find(static_cast<int>(number));
    if (slot == nullptr) continue;
    if ((op.flags & CLOSE_RANGE_CLOEXEC) != 0)
      slot->close_on_exec = true;
    else
      thread_.descriptors->close(static_cast<int>(number));
  }
  return 0;
}

Issuer::Outcome Issuer::operator()(const Duplicate& op) {
  const DescriptorSlot* const slot = thread_.descriptors->find(op.descriptor.number);
  if (slot == nullptr) return refuse(EBADF);
  const bool close_on_exec = (op.flags & O_CLOEXEC) != 0 || op.command == F_DUPFD_CLOEXEC;
  const std::shared_ptr<OpenFile> file = slot->file;
  const bool onto = op.target >= 0 && (number_ == SYS_dup2 || number_ == SYS_dup3);
  if (onto && op.target == op.descriptor.number) {
    if (number_ == SYS_dup3) return refuse(EINVAL);
    return op.target;
  }
  if (onto && thread_.descriptors->find(static_cast<int>(op.target)) != nullptr) {
    thread_.descriptors->replace(static_cast<int>(op.target), file, close_on_exec);
    return op.target;
  }
  const int number = thread_.descriptors->add(file, close_on_exec);
  if (number < 0) return refuse(EMFILE);
  return number;
}

Issuer::Outcome Issuer::operator()(const ControlDescriptor& op) {
  DescriptorSlot* const slot = thread_.descriptors->find(op.descriptor.number);
  if (slot == nullptr) return refuse(EBADF);
  constexpr std::int64_t kChangeable = O_APPEND | O_NONBLOCK | O_DIRECT | O_NOATIME;
  switch (op.command) {
    case F_GETFD:
      return slot->close_on_exec ? FD_CLOEXEC : 0;
    case F_SETFD:
      slot->close_on_exec = (op.argument & FD_CLOEXEC) != 0;
      return 0;
    // The kernel adds O_LARGEFILE to whatever a 64-bit process opens.
    case F_GETFL:
      return slot->file->flags | 0100000;
    case F_SETFL:
      slot->file->flags = (slot->file->flags & ~kChangeable) | (op.argument & kChangeable);
      return 0;
    default:
      return 0;
  }
}

Issuer::Outcome Issuer::operator()(const Lock& op) {
  EXT3_TRY(file(op.descriptor));
  return 0;
}

Issuer::Outcome Issuer::operator()(const ControlDevice& op) {
  EXT3_ASSIGN(OpenFile* const open, file(op.descriptor));
  Inode& inode = *open->inode;
  if (!inode.is_regular() && !inode.is_directory()) return refuse(ENOTTY);
  const auto value = static_cast<std::uint32_t>(op.argument);  // what the argument pointed to
  switch (static_cast<std::uint64_t>(op.request)) {
    case FS_IOC_GETFLAGS:
    case FS_IOC_FSGETXATTR:
    case FS_IOC_GETVERSION:
      return 0;
    case FS_IOC_SETFLAGS:
      return set_flags(inode, value);
    case FS_IOC_FSSETXATTR:
      return set_flags(inode, (shown_flags(inode) & ~flags_from_extended(~0U)) | flags_from_extended(value));
    default:
      return refuse(ENOTTY);
  }
}

Issuer::Outcome Issuer::set_flags(Inode& inode, std::uint32_t flags) {
  if (volume_.read_only) return refuse(EROFS);
  if (!thread_.credentials.owns(inode)) return refuse(EPERM);
  EXT3_TRY(change_flags(volume_, inode, flags, thread_.credentials.caller()));
  return 0;
}

Issuer::Outcome Issuer::operator()(const ProcessCall& op) {
  if (number_ == SYS_execve || number_ == SYS_execveat) {
    thread_.descriptors = std::make_shared<DescriptorTable>(*thread_.descriptors);
    thread_.descriptors->close_on_exec();
    return 0;
  }
  if (number_ != SYS_unshare) return skip(SkipReason::kProcessOnly);
  constexpr std::int64_t kCloneFs = 0x200;
  constexpr std::int64_t kCloneFiles = 0x400;
  if ((op.flags & kCloneFiles) != 0) thread_.descriptors = std::make_shared<DescriptorTable>(*thread_.descriptors);
  if ((op.flags & kCloneFs) != 0) thread_.view = std::make_shared<FilesystemView>(*thread_.view);
  return 0;
}

}  // namespace iotape::ext3
