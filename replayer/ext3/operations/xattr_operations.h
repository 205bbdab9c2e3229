// Extended attributes as calls of their own: locks, transactions, and the retry when space is only waiting to be
// committed.
//
// REQUIRES of every call: inside the monitor, no lock and no handle held. All may wait. Permission, and which kinds of
// file may have user.* attributes, are checked above. Errors are those of xattr/xattr.h; EROFS.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "replayer/ext3/operations/caller.h"
#include "replayer/ext3/xattr/xattr.h"

namespace iotape::ext3 {

Answer<std::string> read_xattr(Volume& volume, Inode& inode, std::string_view name);
Answer<std::vector<std::string>> read_xattr_names(Volume& volume, Inode& inode);
Answer<void> write_xattr(Volume& volume, Inode& inode, std::string_view name, std::string_view value, XattrMode mode,
                         const Caller& caller);
Answer<void> erase_xattr(Volume& volume, Inode& inode, std::string_view name, const Caller& caller);

}  // namespace iotape::ext3
