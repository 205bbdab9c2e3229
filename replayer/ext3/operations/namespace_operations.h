// What changes names: create, link, unlink, mkdir, rmdir, rename. Each is one transaction: after a crash it has
// happened or not.
//
// REQUIRES of every call: inside the monitor, no lock and no handle held; the caller's references keep the inodes. All
// may wait. Errnos are those of the system calls. A name is 1 to 255 bytes without '/' and NUL; "." and ".." are the
// path layer's and are refused.
#pragma once

#include <cstdint>
#include <string_view>

#include "replayer/ext3/inode.h"
#include "replayer/ext3/operations/caller.h"

namespace iotape::ext3 {

struct Volume;

struct NewNode {
  std::uint32_t mode = 0;        // type and permission bits
  std::uint64_t device = 0;      // of character and block devices: major << 20 | minor
  std::string_view link_target;  // of symbolic links
  std::uint32_t umask = 0;       // taken off the mode, unless the directory has a default access control list
};

Answer<InodeReference> look_up(Volume& volume, Inode& directory, std::string_view name);
Answer<InodeReference> create_node(Volume& volume, Inode& directory, std::string_view name, const NewNode& node,
                                   const Caller& caller);
Answer<void> link_node(Volume& volume, Inode& directory, std::string_view name, Inode& existing);
Answer<void> unlink_name(Volume& volume, Inode& directory, std::string_view name);
Answer<void> remove_directory(Volume& volume, Inode& directory, std::string_view name);
// flags: RENAME_NOREPLACE, RENAME_EXCHANGE, or RENAME_WHITEOUT, alone or with the first: a character device 0:0 of the
// caller's takes the old name's place. Anything else is EINVAL.
Answer<void> rename_node(Volume& volume, Inode& from_directory, std::string_view from, Inode& to_directory,
                         std::string_view to, std::uint32_t flags, const Caller& caller);

// Whether the flags of renameat2(2) go together.
bool renames_with(std::uint64_t flags);

// A device's number as NewNode has it.
std::uint64_t device_number(const Inode& inode);

}  // namespace iotape::ext3
