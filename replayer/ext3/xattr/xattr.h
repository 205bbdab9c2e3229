// Extended attributes of an inode: user.*, trusted.*, security.*, and access control lists as system.posix_acl_*.
//
// An attribute lies in the inode's record when it fits, else in a block that inodes with equal attributes share.
// REQUIRES of every call: the inode's lock is held. All may wait.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/ext3/inode.h"
#include "replayer/ext3/journal/journal.h"

namespace iotape::ext3 {

struct Volume;

enum class XattrMode : std::uint8_t { kEither, kCreate, kReplace };

// The value, bytes. ENODATA; EOPNOTSUPP for a namespace that ext3 does not keep; EINVAL for a prefix alone; ERANGE for
// a name longer than 255 bytes. (A caller whose buffer is too small is told ERANGE by whoever knows the buffer.)
Answer<std::string> get_xattr(Volume& volume, Inode& inode, std::string_view full_name);
// Full names: those of the record, then those of the block.
Answer<std::vector<std::string>> list_xattrs(Volume& volume, Inode& inode);

// Of set, remove and release together with the inode's record.
std::uint32_t xattr_credits();
// Beside what get_xattr says: EEXIST, ENODATA by mode; ENOSPC when neither place or the volume has room, and nothing
// has changed then. An access control list is checked (EINVAL), changes the mode, and is kept only where it says more
// than the mode does; EACCES for a default one of what is no directory, EOPNOTSUPP for a symbolic link's. Sets the
// change time and writes the record.
Answer<void> set_xattr(Volume& volume, Handle& handle, Inode& inode, std::string_view full_name, std::string_view value,
                       XattrMode mode, bool privileged);
// ENODATA. Removing an access control list that is not there is no error.
Answer<void> remove_xattr(Volume& volume, Handle& handle, Inode& inode, std::string_view full_name, bool privileged);
// Lets go of the block, for an inode that is being deleted. The caller writes the record.
Answer<void> release_xattrs(Volume& volume, Handle& handle, Inode& inode);

// After the permission bits of an inode changed (chmod): its access control list says the same. Same credits.
Answer<void> update_acl_after_chmod(Volume& volume, Handle& handle, Inode& inode, bool privileged);
// A new inode's lists, from the default one of the directory it is made in. inode.mode is what the creator asked for:
// it takes off what the list does not allow, or, without a list, the umask. Twice the credits. ENOSPC.
Answer<void> inherit_acl(Volume& volume, Handle& handle, Inode& parent, Inode& inode, std::uint32_t umask,
                         bool privileged);

}  // namespace iotape::ext3
