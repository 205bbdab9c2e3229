// Calls that read and change attributes.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "replayer/ext3/calls/issuer.h"
#include "replayer/ext3/operations/attribute_operations.h"
#include "replayer/ext3/operations/xattr_operations.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint32_t kPermissionBits = 07777;
constexpr std::uint32_t kListxattrat = 465;
constexpr std::int64_t kLargestXattr = 65'536;

bool lists(std::uint32_t number) {
  return number == SYS_listxattr || number == SYS_llistxattr || number == SYS_flistxattr || number == kListxattrat;
}
std::int64_t follow_flag(std::uint32_t number, std::uint32_t link_form, std::int64_t flags) {
  return number == link_form ? flags | AT_SYMLINK_NOFOLLOW : flags;
}

// UTIME_NOW and UTIME_OMIT as utimensat(2) has them. nullopt: leave it.
Answer<std::optional<FileTime>> time_of(const TimeArgument& argument, const FileTime& now) {
  if (argument.nanoseconds == UTIME_OMIT) return std::nullopt;
  if (argument.nanoseconds == UTIME_NOW) return now;
  if (argument.nanoseconds < 0 || argument.nanoseconds > 999'999'999) return refuse(EINVAL);
  return FileTime{argument.seconds, static_cast<std::uint32_t>(argument.nanoseconds)};
}

}  // namespace

Issuer::Outcome Issuer::operator()(const StatPath& op) {
  const std::int64_t flags =
      follow_flag(number_, SYS_lstat, number_ == SYS_stat || number_ == SYS_lstat ? 0 : op.flags);
  EXT3_TRY(inode_of(op.path, flags));
  return 0;
}

Issuer::Outcome Issuer::operator()(const StatDescriptor& op) {
  EXT3_TRY(file(op.descriptor, true));
  return 0;
}

Issuer::Outcome Issuer::operator()(const CheckAccess& op) {
  EXT3_ASSIGN(const InodeReference inode, inode_of(op.path, op.flags));
  EXT3_TRY(check_access(*inode, static_cast<int>(op.mode), thread_.credentials));
  if ((op.mode & W_OK) != 0 && volume_.read_only) return refuse(EROFS);
  return 0;
}

Issuer::Outcome Issuer::operator()(const StatFilesystemPath& op) {
  EXT3_TRY(inode_of(op.path, 0));
  return 0;
}

Issuer::Outcome Issuer::operator()(const StatFilesystemDescriptor& op) {
  EXT3_TRY(file(op.descriptor, true));
  return 0;
}

Issuer::Outcome Issuer::change_mode(Inode& inode, std::int64_t mode) {
  if (inode.is_symlink()) return refuse(EOPNOTSUPP);
  if (volume_.read_only) return refuse(EROFS);
  if (!thread_.credentials.owns(inode)) return refuse(EPERM);
  EXT3_TRY(check_flags(inode, false));
  AttributeChange change;
  change.permissions = static_cast<std::uint32_t>(mode) & kPermissionBits;
  if (!thread_.credentials.privileged && !thread_.credentials.in_group(inode.group))
    *change.permissions &= ~static_cast<std::uint32_t>(S_ISGID);
  EXT3_TRY(change_attributes(volume_, inode, change));
  return 0;
}

Issuer::Outcome Issuer::operator()(const ChangeModePath& op) {
  EXT3_ASSIGN(const InodeReference inode, inode_of(op.path, number_ == SYS_chmod ? 0 : op.flags));
  return change_mode(*inode, op.mode);
}

Issuer::Outcome Issuer::operator()(const ChangeModeDescriptor& op) {
  EXT3_ASSIGN(OpenFile* const open, file(op.descriptor));
  return change_mode(*open->inode, op.mode);
}

// Also a chown that names nobody takes the set-id bits off, which a stranger may not do.
Issuer::Outcome Issuer::change_owner(Inode& inode, std::int64_t user, std::int64_t group) {
  if (volume_.read_only) return refuse(EROFS);
  EXT3_TRY(check_flags(inode, false));
  AttributeChange change;
  if (static_cast<std::uint32_t>(user) != ~0U) change.user = static_cast<std::uint32_t>(user);
  if (static_cast<std::uint32_t>(group) != ~0U) change.group = static_cast<std::uint32_t>(group);
  const Credentials& mine = thread_.credentials;
  const bool member = mine.privileged || mine.in_group(inode.group);
  const std::uint32_t set_id = S_ISUID | ((inode.mode & S_IXGRP) != 0 || !member ? S_ISGID : 0U);
  const bool names_nobody = !change.user && !change.group;
  const bool allowed =
      names_nobody
          ? mine.owns(inode) || inode.is_directory() || (inode.mode & set_id) == 0
          : mine.privileged || (mine.owns(inode) && change.user.value_or(inode.user) == inode.user &&
                                (!change.group || *change.group == inode.group || mine.in_group(*change.group)));
  if (!allowed) return refuse(EPERM);
  if (!change.user) change.user = inode.user;
  change.by_stranger_to_group = !member;
  EXT3_TRY(change_attributes(volume_, inode, change));
  return 0;
}

Issuer::Outcome Issuer::operator()(const ChangeOwnerPath& op) {
  EXT3_ASSIGN(const InodeReference inode,
              inode_of(op.path, follow_flag(number_, SYS_lchown, number_ == SYS_chown ? 0 : op.flags)));
  return change_owner(*inode, op.user, op.group);
}

Issuer::Outcome Issuer::operator()(const ChangeOwnerDescriptor& op) {
  EXT3_ASSIGN(OpenFile* const open, file(op.descriptor));
  return change_owner(*open->inode, op.user, op.group);
}

Issuer::Outcome Issuer::operator()(const SetTimes& op) {
  // Nothing to do: not even the path is looked at.
  if (!op.now && op.access.nanoseconds == UTIME_OMIT && op.modification.nanoseconds == UTIME_OMIT) return 0;
  EXT3_ASSIGN(const InodeReference inode, inode_of(op.path, op.flags));
  if (volume_.read_only) return refuse(EROFS);
  const FileTime now = volume_.now();
  AttributeChange change;
  if (op.now) {
    change.access_time = change.modification_time = now;
  } else {
    EXT3_ASSIGN(change.access_time, time_of(op.access, now));
    EXT3_ASSIGN(change.modification_time, time_of(op.modification, now));
  }
  if (!change.access_time && !change.modification_time) return 0;
  const bool to_now = op.now || (op.access.nanoseconds == UTIME_NOW && op.modification.nanoseconds == UTIME_NOW);
  if (!thread_.credentials.owns(*inode)) {
    if (!to_now) return refuse(EPERM);
    EXT3_TRY(check_access(*inode, W_OK, thread_.credentials));
  }
  EXT3_TRY(check_flags(*inode, to_now));
  EXT3_TRY(change_attributes(volume_, *inode, change));
  return 0;
}

Issuer::Outcome Issuer::operator()(const SetFileCreationMask& op) {
  const std::uint32_t before = thread_.view->umask;
  thread_.view->umask = static_cast<std::uint32_t>(op.mask) & 0777U;
  return before;
}

// ---- extended attributes ----

namespace {

Answer<void> check_xattr_name(const Text& name) {
  const bool readable = name.state == TextState::kPresent || name.state == TextState::kTruncated;
  if (readable && (name.bytes.empty() || name.bytes.size() > kNameLimit)) return refuse(ERANGE);
  return {};
}

Answer<void> check_set_xattr(const Text& name, std::int64_t size, std::int64_t flags) {
  if ((flags & ~std::int64_t{XATTR_CREATE | XATTR_REPLACE}) != 0) return refuse(EINVAL);
  EXT3_TRY(check_xattr_name(name));
  if (size < 0 || size > kLargestXattr) return refuse(E2BIG);
  return {};
}

}  // namespace

// Who may see and set what, by the name's first part, as the kernel has it for all filesystems.
Answer<void> Issuer::check_xattr_access(const Inode& inode, std::string_view name, bool write) {
  const Credentials& mine = thread_.credentials;
  if (write && volume_.read_only) return refuse(EROFS);
  if (write) EXT3_TRY(check_flags(inode, false));
  if (name.starts_with("security.")) return write && !mine.privileged ? Answer<void>(refuse(EPERM)) : Answer<void>();
  if (name.starts_with("system.") && !name.starts_with("system.posix_acl_")) return {};
  if (name.starts_with("system.")) return write && !mine.owns(inode) ? Answer<void>(refuse(EPERM)) : Answer<void>();
  if (name.starts_with("trusted."))
    return mine.privileged ? Answer<void>() : Answer<void>(refuse(write ? EPERM : ENODATA));
  if (name.starts_with("user.")) {
    if (!inode.is_regular() && !inode.is_directory()) return refuse(write ? EPERM : ENODATA);
    const bool sticky = inode.is_directory() && (inode.mode & S_ISVTX) != 0;
    if (sticky && write && !mine.owns(inode)) return refuse(EPERM);
  }
  return check_access(inode, write ? W_OK : R_OK, mine);
}

// A value recorded only in part is continued with the replay's own bytes.
Issuer::Outcome Issuer::set_xattr(Inode& inode, const Text& name, const Text& value, std::int64_t size,
                                  std::int64_t flags) {
  EXT3_ASSIGN(const std::string_view full_name, text_of(name));
  EXT3_TRY(check_xattr_access(inode, full_name, true));
  std::string bytes = value.bytes;
  if (bytes.size() < static_cast<std::size_t>(size)) {
    const auto rest = data_.to_write(static_cast<std::size_t>(size) - bytes.size());
    bytes.append(reinterpret_cast<const char*>(rest.data()), rest.size());
  }
  bytes.resize(static_cast<std::size_t>(size));
  const XattrMode mode = (flags & XATTR_CREATE) != 0    ? XattrMode::kCreate
                         : (flags & XATTR_REPLACE) != 0 ? XattrMode::kReplace
                                                        : XattrMode::kEither;
  EXT3_TRY(write_xattr(volume_, inode, full_name, bytes, mode, thread_.credentials.caller()));
  return 0;
}

Issuer::Outcome Issuer::list_xattrs(Inode& inode, std::int64_t size) {
  std::int64_t length = 0;
  EXT3_ASSIGN(const std::vector<std::string> names, read_xattr_names(volume_, inode));
  for (const std::string& each : names)
    if (thread_.credentials.privileged || !each.starts_with("trusted."))
      length += static_cast<std::int64_t>(each.size()) + 1;
  if (size != 0 && size < length) return refuse(ERANGE);
  return length;
}

Issuer::Outcome Issuer::query_xattr(Inode& inode, const Text& name, std::int64_t size) {
  EXT3_ASSIGN(const std::string_view full_name, text_of(name));
  EXT3_TRY(check_xattr_access(inode, full_name, false));
  EXT3_ASSIGN(const std::string value, read_xattr(volume_, inode, full_name));
  const auto length = static_cast<std::int64_t>(value.size());
  if (size != 0 && size < length) return refuse(ERANGE);
  return length;
}

Issuer::Outcome Issuer::remove_xattr(Inode& inode, const Text& name) {
  EXT3_ASSIGN(const std::string_view full_name, text_of(name));
  EXT3_TRY(check_xattr_access(inode, full_name, true));
  EXT3_TRY(erase_xattr(volume_, inode, full_name, thread_.credentials.caller()));
  return 0;
}

// Name, flags and size are looked at before the path.

Issuer::Outcome Issuer::operator()(const SetXattrPath& op) {
  EXT3_TRY(check_set_xattr(op.name, op.size, op.flags));
  EXT3_ASSIGN(const InodeReference inode, inode_of(op.path, follow_flag(number_, SYS_lsetxattr, 0)));
  return set_xattr(*inode, op.name, op.value, op.size, op.flags);
}
Issuer::Outcome Issuer::operator()(const SetXattrDescriptor& op) {
  EXT3_TRY(check_set_xattr(op.name, op.size, op.flags));
  EXT3_ASSIGN(OpenFile* const open, file(op.descriptor));
  return set_xattr(*open->inode, op.name, op.value, op.size, op.flags);
}
Issuer::Outcome Issuer::operator()(const QueryXattrPath& op) {
  const bool link_form = number_ == SYS_lgetxattr || number_ == SYS_llistxattr;
  if (!lists(number_)) EXT3_TRY(check_xattr_name(op.name));
  EXT3_ASSIGN(const InodeReference inode, inode_of(op.path, link_form ? AT_SYMLINK_NOFOLLOW : 0));
  return lists(number_) ? list_xattrs(*inode, op.size) : query_xattr(*inode, op.name, op.size);
}
Issuer::Outcome Issuer::operator()(const QueryXattrDescriptor& op) {
  if (!lists(number_)) EXT3_TRY(check_xattr_name(op.name));
  EXT3_ASSIGN(OpenFile* const open, file(op.descriptor));
  return lists(number_) ? list_xattrs(*open->inode, op.size) : query_xattr(*open->inode, op.name, op.size);
}
Issuer::Outcome Issuer::operator()(const RemoveXattrPath& op) {
  EXT3_TRY(check_xattr_name(op.name));
  EXT3_ASSIGN(const InodeReference inode, inode_of(op.path, follow_flag(number_, SYS_lremovexattr, 0)));
  return remove_xattr(*inode, op.name);
}
Issuer::Outcome Issuer::operator()(const RemoveXattrDescriptor& op) {
  EXT3_TRY(check_xattr_name(op.name));
  EXT3_ASSIGN(OpenFile* const open, file(op.descriptor));
  return remove_xattr(*open->inode, op.name);
}

}  // namespace iotape::ext3
