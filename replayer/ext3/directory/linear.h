// Directories without an index: every block is looked through.
#pragma once

#include <string_view>

#include "replayer/ext3/directory/directory.h"

namespace iotape::ext3 {

// Looks through all blocks, from where the last name was found on and round; the lowest block with room is where the
// name would go. Also the way out when an index is damaged: an index block reads as a block of free space.
Answer<void> probe_linear(Volume& volume, Inode& directory, std::string_view name, DirectoryProbe& probe);
// "." and ".." lie in the first block, also under an index.
Answer<void> probe_first_block(Volume& volume, Inode& directory, std::string_view name, DirectoryProbe& probe);

}  // namespace iotape::ext3
