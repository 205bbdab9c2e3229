// What a mount of the built-in ext3 can be told. Defaults are ext3's own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "replayer/ext3/journal/journal.h"

namespace iotape::ext3 {

enum class InodePlacement : std::uint8_t {
  kOrlov,    // directories spread from the top, clustered below
  kClassic,  // before Orlov: the group with the most free blocks among those with average free inodes
  kLeaf,     // inodes in runs tied to the directory leaf block that holds the name
};
enum class AccessTimes : std::uint8_t { kStrict, kRelative, kOff };

struct MountOptions {
  bool read_only = false;
  bool journaled = true;          // false: data=none, plain ext2
  bool journal_required = false;  // a way of journaling was asked for: a volume without a journal is refused
  DataMode data = DataMode::kOrdered;
  bool htree = true;  // make indexes for new large directories and use those that exist
  InodePlacement placement = InodePlacement::kOrlov;
  bool reservation = true;  // reservation windows
  AccessTimes access_times = AccessTimes::kRelative;
  Nanoseconds commit_interval{5'000'000'000};
  Nanoseconds writeback_age{30'000'000'000};  // file data older than this is written back
  std::size_t cache_bytes = std::size_t{256} << 20U;
  std::uint32_t readahead_bytes = 128 << 10;
  bool barriers = true;        // flush the device around the commit block
  bool short_cookies = false;  // directory cookies of 31 bits, as before Linux 3.4
  std::uint64_t seed = 1;      // of what ext3 draws at random: Orlov's first group, inode generations
};

}  // namespace iotape::ext3
