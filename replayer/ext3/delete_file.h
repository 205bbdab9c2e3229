// What happens to a file when its last name and its last user are gone.
#pragma once

#include "replayer/ext3/inode.h"
#include "replayer/ext3/types.h"

namespace iotape::ext3 {

struct Volume;

// Frees the file's blocks, attributes and number. REQUIRES: the inode is on the orphan list, nobody else uses it, no
// handle is open. May wait. When it fails the inode stays an orphan.
Answer<void> delete_file(Volume& volume, Inode& inode);

}  // namespace iotape::ext3
