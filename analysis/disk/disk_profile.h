// DiskProfile: everything the model knows about one disk. Times are nanoseconds, lengths sectors of 512 bytes, rates
// bytes per second.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/disk/disk_geometry.h"
#include "analysis/disk/seek_curve.h"

namespace iotape {

enum class DiskKind : std::uint8_t { kDisk, kFlash };

struct DiskProfile {
  std::string name;
  std::vector<std::string> sources;  // where its numbers come from
  DiskKind kind = DiskKind::kDisk;

  // How it is driven
  std::int64_t queue_depth = 1;        // commands it holds and orders itself
  std::int64_t largest_request = 256;  // sectors of one command, as its adapter takes them

  // kDisk
  DiskGeometry geometry;
  SeekCurve seek;
  std::int64_t write_settle = 0;
  std::int64_t head_switch = 0;
  std::int64_t miss_overhead = 300'000;   // from a command's arrival until the arm starts
  std::int64_t hit_overhead = 200'000;    // until the first byte of a cached read leaves
  std::int64_t write_overhead = 400'000;  // of a write that the cache takes
  std::int64_t bus_rate = 0;
  std::int64_t segments = 3;        // read-ahead segments; 0: no read cache
  std::int64_t segment_size = 400;  // sectors kept per segment
  std::int64_t readahead = 400;     // sectors read on after a read
  std::int64_t write_cache = 512;   // sectors; 0: every write goes to the platter before it is answered
  std::int64_t write_extents = 16;  // separate places the write cache can hold

  // kFlash
  std::int64_t read_latency = 0;
  std::int64_t write_latency = 0;
  std::int64_t read_rate = 0;
  std::int64_t write_rate = 0;
  std::int64_t flash_capacity = 0;  // sectors; 0: as large as it takes

  [[nodiscard]] std::int64_t capacity() const { return kind == DiskKind::kDisk ? geometry.capacity() : flash_capacity; }
};

}  // namespace iotape
