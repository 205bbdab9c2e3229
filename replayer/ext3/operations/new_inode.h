// The first half of making a node: an inode of its kind, with what it holds, before it has a name.
//
// REQUIRES of every call: inside the monitor, the directory's lock held, and a handle with new_inode_credits. May wait.
#pragma once

#include <cstdint>
#include <string_view>

#include "replayer/ext3/inode.h"
#include "replayer/ext3/journal/journal.h"
#include "replayer/ext3/operations/caller.h"
#include "replayer/ext3/operations/namespace_operations.h"

namespace iotape::ext3 {

std::uint32_t new_inode_credits(const Volume& volume, std::uint32_t mode);

// Where its name will be.
struct NewPlace {
  Inode& directory;
  std::string_view name;
  FileBlock leaf;  // the directory's block that the name goes into
};
// Fills in `inode`, which the caller drops after the handle and the lock: one that came to nothing is deleted then, as
// on failure here. ENOSPC.
Answer<void> make_inode(Volume& volume, Handle& handle, const NewPlace& place, const NewNode& node,
                        const Caller& caller, InodeReference& inode);
// It did not get its name.
Answer<void> unmake_inode(Volume& volume, Handle& handle, Inode& inode);

}  // namespace iotape::ext3
