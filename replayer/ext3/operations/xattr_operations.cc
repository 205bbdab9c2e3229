#include "replayer/ext3/operations/xattr_operations.h"

#include "replayer/ext3/operations/retry_allocation.h"

namespace iotape::ext3 {
namespace {

// change: (Handle&) -> Answer<void>
template <typename Change>
Answer<void> change_locked(Volume& volume, Inode& inode, const Change& change) {
  if (volume.read_only || volume.journal->aborted() != 0) return refuse(EROFS);
  return retry_allocation(volume, [&]() -> Answer<void> {
    const SleepLockGuard locked(volume.host, inode.lock);
    EXT3_ASSIGN(Handle handle, volume.journal->start(xattr_credits()));
    EXT3_TRY(change(handle));
    return handle.stop();
  });
}

}  // namespace

Answer<std::string> read_xattr(Volume& volume, Inode& inode, std::string_view name) {
  const SleepLockGuard locked(volume.host, inode.lock);
  return get_xattr(volume, inode, name);
}

Answer<std::vector<std::string>> read_xattr_names(Volume& volume, Inode& inode) {
  const SleepLockGuard locked(volume.host, inode.lock);
  return list_xattrs(volume, inode);
}

Answer<void> write_xattr(Volume& volume, Inode& inode, std::string_view name, std::string_view value, XattrMode mode,
                         const Caller& caller) {
  return change_locked(volume, inode, [&](Handle& handle) {
    return set_xattr(volume, handle, inode, name, value, mode, caller.privileged);
  });
}

Answer<void> erase_xattr(Volume& volume, Inode& inode, std::string_view name, const Caller& caller) {
  return change_locked(volume, inode,
                       [&](Handle& handle) { return remove_xattr(volume, handle, inode, name, caller.privileged); });
}

}  // namespace iotape::ext3
