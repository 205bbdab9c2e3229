// DiskModel: what one request costs on one disk. Pure: no clock, no I/O, no allocation; the same state and request give
// the same cost on every machine, in whole nanoseconds.
//
// One request at a time, in the order given (a queue and its elevator are the caller's). A read that misses pays
// overhead, seek (or head switch, whichever is longer), the wait for its sector, and the transfer; afterwards the disk
// reads on into the request's cache segment until the segment is full or something else needs the arm. A read of what
// is cached, or about to pass under the head, pays overhead and the bus, and waits for the platter where it is behind.
// A write is answered from the write cache while that has room, and destaged in order of arrival when the arm is idle;
// when there is no room, the request waits for destaging, and that seek, rotation and transfer are its cost.
//
// After Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994. How well it does is
// tested against measured service times of two drives (tests/analysis/disk_validation_test.cc).
#pragma once

#include <array>
#include <cstdint>

#include "analysis/disk/disk_profile.h"
#include "analysis/disk/written_extents.h"
#include "format/base/strong_id.h"

namespace iotape {

enum class DiskAction : std::uint8_t { kRead, kWrite, kFlush };

struct DiskRequest {
  Nanoseconds time;  // when the disk gets it; one that comes while another is served waits its turn
  Sectors start;     // taken modulo the disk's capacity
  Sectors length;    // at most kLargestRequest of them count
  DiskAction action = DiskAction::kRead;
  bool through = false;  // a write that must be on the platter before it is answered (FUA)
};

struct MechanicalCost {
  std::int64_t seek = 0;
  std::int64_t rotation = 0;
  std::int64_t transfer = 0;
  [[nodiscard]] std::int64_t total() const { return seek + rotation + transfer; }
};

struct RequestCost {
  std::int64_t overhead = 0;
  std::int64_t seek = 0;
  std::int64_t rotation = 0;
  std::int64_t transfer = 0;
  std::int64_t wait = 0;  // a read's, for a destage that was under way
  Nanoseconds begin;      // when the disk turned to it
  std::int64_t bus = 0;   // the part of a cached write's transfer in which the platter had no part
  bool cached = false;    // answered without waiting for the platter
  [[nodiscard]] std::int64_t total() const { return overhead + seek + rotation + transfer + wait; }
  [[nodiscard]] Nanoseconds end() const { return begin + Nanoseconds(total()); }
};

// A plain value: a copy is a snapshot of the disk. A fresh one is a disk at rest with empty caches, its arm at the
// outermost cylinder, sector 0 under the head at time 0.
struct DiskState {
  static constexpr std::size_t kMaximumSegments = 32;
  struct Segment {
    std::int64_t start = 0;  // cached: [start, end)
    std::int64_t end = 0;
    std::uint64_t used = 0;  // order of use
  };

  std::int64_t answered = 0;  // when the last answer was given
  std::int64_t arm_free = 0;
  std::int64_t cylinder = 0;
  std::int64_t head = 0;
  std::int64_t track_end = 0;  // the first sector after the arm's track

  std::array<Segment, kMaximumSegments> segments;
  std::uint64_t uses = 0;
  std::int32_t ahead = -1;       // the segment that is being read ahead into, -1: none
  std::int64_t ahead_since = 0;  // when its sector `ahead_from` came under the head
  std::int64_t ahead_from = 0;
  std::int64_t ahead_limit = 0;  // where it stops
  std::int64_t ahead_done = 0;   // when it stops

  WrittenExtents written;  // not yet destaged

  std::int64_t flying = 0;     // sectors that the destage under way until arm_free still holds in the cache
  MechanicalCost flying_cost;  // of that destage

  MechanicalCost destaged;   // all that destaging has cost so far
  MechanicalCost awaited;    // the part of it that requests waited for and have in their cost
  std::uint64_t beyond = 0;  // requests that were beyond the disk's end
};

class DiskModel {
 public:
  static constexpr std::int64_t kLargestRequest = std::int64_t{1} << 24U;  // sectors: 8 GiB

  // The profile is one that parse_disk_profile accepted.
  explicit DiskModel(DiskProfile profile);

  [[nodiscard]] const DiskProfile& profile() const { return profile_; }
  // Answers the request and moves the state on.
  RequestCost serve(DiskState& state, const DiskRequest& request) const;
  // How long after `time` the platter would be ready at a sector, in seek and rotation, with the arm as it stands: what
  // a disk that holds several commands chooses by. 0 for flash.
  [[nodiscard]] std::int64_t positioning(const DiskState& state, Nanoseconds time, Sectors start) const;

 private:
  void flash(const DiskRequest& request, std::int64_t length, RequestCost& cost) const;
  void read(DiskState& state, std::int64_t start, std::int64_t length, RequestCost& cost) const;
  bool read_ahead(DiskState& state, std::int64_t start, std::int64_t length, RequestCost& cost) const;
  [[nodiscard]] bool cached(DiskState& state, std::int64_t start, std::int64_t end) const;
  void write(DiskState& state, std::int64_t start, std::int64_t length, bool through, RequestCost& cost) const;
  static void await_destage(DiskState& state, RequestCost& cost);
  void drain(DiskState& state, std::int64_t sectors, std::size_t extents, RequestCost& cost) const;
  void idle_until(DiskState& state, std::int64_t now) const;
  void destage(DiskState& state, std::int64_t begin) const;
  MechanicalCost move(DiskState& state, std::int64_t begin, std::int64_t start, std::int64_t length, bool write) const;
  void start_ahead(DiskState& state, std::int64_t start, std::int64_t end) const;
  void stop_ahead(DiskState& state, std::int64_t now) const;
  void set_ahead(DiskState& state, std::int64_t from, std::int64_t since, std::int64_t limit) const;
  // Nanoseconds from the moment sector `from` passes until all before `end` have; 0 when end is not after from.
  [[nodiscard]] std::int64_t passing(std::int64_t from, std::int64_t end) const {
    return end <= from ? 0 : profile_.geometry.run(from, end - from).time();
  }
  [[nodiscard]] std::int64_t bus_time(std::int64_t sectors) const { return sectors * bus_picoseconds_ / 1000; }

  DiskProfile profile_;
  std::int64_t bus_picoseconds_;  // per sector
};

}  // namespace iotape
