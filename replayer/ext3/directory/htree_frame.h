// Access to the entries of one index block.
#pragma once

#include <cstdint>

#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/disk_format/htree_record.h"

namespace iotape::ext3 {

inline HtreeEntry* entries_of(const HtreeFrame& frame) { return frame.buffer->at<HtreeEntry>(frame.entries_offset); }
inline HtreeCountLimit* count_limit_of(const HtreeFrame& frame) {
  return frame.buffer->at<HtreeCountLimit>(frame.entries_offset);
}
inline std::uint32_t entry_count(const HtreeFrame& frame) { return count_limit_of(frame)->count; }
inline std::uint32_t entry_limit(const HtreeFrame& frame) { return count_limit_of(frame)->limit; }
constexpr std::uint32_t limit_for(std::uint32_t block_size, std::uint32_t entries_offset) {
  return (block_size - entries_offset) / static_cast<std::uint32_t>(sizeof(HtreeEntry));
}

}  // namespace iotape::ext3
