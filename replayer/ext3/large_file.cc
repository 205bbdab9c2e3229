#include "replayer/ext3/large_file.h"

#include "replayer/ext3/volume.h"

namespace iotape::ext3 {

Answer<void> allow_file_size(Volume& volume, std::uint64_t bytes) {
  constexpr std::uint64_t kLargestPlainFile = 0x7FFFFFFF;
  Superblock& superblock = volume.superblock();
  if (bytes <= kLargestPlainFile || (superblock.read_only_features & kFeatureLargeFile) != 0) return {};
  if (superblock.revision == 0u) return refuse(EFBIG);
  EXT3_ASSIGN(Handle handle, volume.journal->start(1));
  EXT3_TRY(volume.journal->get_write_access(handle, *volume.superblock_buffer));
  superblock.read_only_features = superblock.read_only_features | kFeatureLargeFile;
  volume.journal->dirty_metadata(handle, *volume.superblock_buffer);
  return handle.stop();
}

}  // namespace iotape::ext3
