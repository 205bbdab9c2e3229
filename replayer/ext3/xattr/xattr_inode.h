// Extended attributes in an inode's own record, behind its extra fields.
#pragma once

#include "replayer/ext3/inode.h"
#include "replayer/ext3/journal/journal.h"
#include "replayer/ext3/xattr/xattr_entries.h"

namespace iotape::ext3 {

struct Volume;

// Nothing when the record has no room for any. EUCLEAN. May wait. REQUIRES of both: the inode's lock.
Answer<XattrList> read_inode_xattrs(Volume& volume, Inode& inode);
// ENOSPC: no room; nothing is changed. One credit, which is also that of the inode's record. May wait.
Answer<void> write_inode_xattrs(Volume& volume, Handle& handle, Inode& inode, const XattrList& list);

}  // namespace iotape::ext3
