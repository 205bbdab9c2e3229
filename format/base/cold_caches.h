// Makes the machine forget what it has cached of its filesystems, as far as the kernel can be asked to.
#pragma once

#include "format/base/result.h"

namespace iotape {

// Writes everything back, empties the journals of mounted ext3 and ext4 filesystems (blocks that wait for their
// checkpoint are pinned: dropping caches alone leaves them, and a "cold" run then reads hardly any inode table), and
// drops the page cache, dentries and inodes. Needs root. Affects the whole machine.
Result<void> make_caches_cold();

}  // namespace iotape
