#include "replayer/ext3/path/permission.h"

#include <unistd.h>

namespace iotape::ext3 {

Answer<void> check_access(const Inode& inode, int wanted, const Credentials& credentials) {
  if (credentials.privileged) {
    // Nobody executes a file that nobody may execute.
    if ((wanted & X_OK) != 0 && !inode.is_directory() && (inode.mode & 0111U) == 0) return refuse(EACCES);
    return {};
  }
  std::uint32_t granted = inode.mode & 7U;
  if (credentials.user == inode.user)
    granted = inode.mode >> 6U & 7U;
  else if (credentials.in_group(inode.group))
    granted = inode.mode >> 3U & 7U;
  if ((static_cast<std::uint32_t>(wanted) & ~granted & 7U) != 0) return refuse(EACCES);
  return {};
}

Answer<void> check_removal(const Inode& directory, const Inode& victim, const Credentials& credentials) {
  EXT3_TRY(check_access(directory, W_OK | X_OK, credentials));
  EXT3_TRY(check_flags(directory, false));
  EXT3_TRY(check_flags(victim, false));
  const bool sticky = (directory.mode & S_ISVTX) != 0;
  if (sticky && !credentials.owns(directory) && !credentials.owns(victim)) return refuse(EPERM);
  return {};
}

Answer<void> check_flags(const Inode& inode, bool append_only_is_enough) {
  if (inode.has_flag(kInodeImmutable)) return refuse(EPERM);
  if (inode.has_flag(kInodeAppendOnly) && !append_only_is_enough) return refuse(EPERM);
  return {};
}

}  // namespace iotape::ext3
