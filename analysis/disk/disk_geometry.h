// DiskGeometry: where a sector lies: its cylinder, its head, and the moment of a turn at which it passes.
//
// Everything about rotation and transfer is one number, the sector's position: the nanoseconds an ideal read from
// sector 0 without any delay would have needed to reach it, all track and cylinder switches included. The platter's
// angle at time t being t modulo one turn, a sector passes the head when t and its position agree modulo one turn; and
// the difference of two positions is the time to read from one sector to the other without a lost turn. Skews are what
// makes a switch fit: where the skew is shorter than the switch, the position moves on by whole turns, and every
// crossing costs them.
//
// Sectors go round a track, then through the heads of a cylinder, then inwards. Drives of later years fold this
// differently; distances in cylinders and rates by zone stay what they are.
#pragma once

#include <cstdint>
#include <vector>

#include "format/base/result.h"

namespace iotape {

// Division by a number that stays: a multiplication, then put right where it was one off. Exact for every dividend, as
// the quotient of a double is off by far less than one while it is below 2^48.
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(std::int64_t divisor) : divisor_(divisor), inverse_(1.0 / static_cast<double>(divisor)) {}
  // Rounded towards minus infinity.
  [[nodiscard]] std::int64_t quotient(std::int64_t dividend) const {
    const auto near = static_cast<std::int64_t>(static_cast<double>(dividend) * inverse_);
    const std::int64_t rest = dividend - near * divisor_;
    return near - (rest < 0 ? 1 : 0) + (rest >= divisor_ ? 1 : 0);
  }
  [[nodiscard]] std::int64_t remainder(std::int64_t dividend) const { return dividend - quotient(dividend) * divisor_; }

 private:
  std::int64_t divisor_ = 1;
  double inverse_ = 1;
};

struct ZoneSpec {
  std::int64_t cylinders = 0;
  std::int64_t sectors_per_track = 0;
  std::int64_t track_skew = -1;     // sectors; -1: from the disk's own
  std::int64_t cylinder_skew = -1;  // sectors
};

struct GeometrySpec {
  std::int64_t turn = 0;  // nanoseconds per revolution
  std::int64_t heads = 0;
  std::int64_t head_switch = 0;      // nanoseconds
  std::int64_t cylinder_switch = 0;  // nanoseconds: the seek over one cylinder
  // Nanoseconds, -1 when not stated: then just what a switch (of a write, which settles longer) needs.
  std::int64_t track_skew = -1;
  std::int64_t cylinder_skew = -1;
  std::int64_t write_settle = 0;
  std::vector<ZoneSpec> zones;  // from the outermost
};

struct SectorPlace {
  std::int64_t cylinder = 0;
  std::int64_t head = 0;
  std::int64_t position = 0;                 // nanoseconds
  std::int64_t track_end = 0;                // the first sector after this track
  const Divisor* zone_by_sectors = nullptr;  // the geometry's own
};

// A run of sectors read without a lost turn.
struct SectorRun {
  SectorPlace first;
  std::int64_t last_cylinder = 0;
  std::int64_t last_head = 0;
  std::int64_t last_track_end = 0;  // the first sector after the last one's track
  std::int64_t end_position = 0;    // when its last sector has passed
  [[nodiscard]] std::int64_t time() const { return end_position - first.position; }
};

class DiskGeometry {
 public:
  static constexpr std::size_t kMaximumZones = 1024;

  DiskGeometry() = default;
  // Errors: kUsage, saying which number is impossible.
  static Result<DiskGeometry> make(const GeometrySpec& spec);

  [[nodiscard]] std::int64_t turn() const { return turn_; }
  [[nodiscard]] std::int64_t cylinders() const { return cylinders_; }
  [[nodiscard]] std::int64_t capacity() const { return capacity_; }  // sectors

  // The last sectors are not used; sectors must be at most capacity().
  void limit(std::int64_t sectors) { capacity_ = sectors; }

  // sector must be below capacity().
  [[nodiscard]] SectorPlace locate(std::int64_t sector) const;
  // count is at least 1 and the sectors lie on the disk.
  [[nodiscard]] SectorRun run(std::int64_t sector, std::int64_t count) const;
  // How many sectors from `sector` on pass in this time, at the zone's mean rate.
  [[nodiscard]] std::int64_t sectors_in(std::int64_t sector, std::int64_t nanoseconds) const;
  // What is left of the turn at `time` until `position` is under the head.
  [[nodiscard]] std::int64_t rotation(std::int64_t position, std::int64_t time) const {
    return by_turn_.remainder(position - time);
  }

 private:
  struct Zone {
    std::int64_t first_sector = 0;
    std::int64_t first_cylinder = 0;
    std::int64_t sectors_per_track = 0;
    Divisor by_sectors;
    Divisor by_cylinder_time;        // in microseconds
    std::int64_t track_step = 0;     // position from one track's start to the next one's, same cylinder
    std::int64_t cylinder_step = 0;  // position from one cylinder's start to the next one's
    std::int64_t position = 0;       // of the first sector
  };
  [[nodiscard]] const Zone& zone_of(std::int64_t sector) const;

  std::vector<Zone> zones_;
  std::vector<std::int64_t> starts_;  // first sectors, and one past all
  std::vector<std::uint16_t> hints_;  // by sector >> hint_shift_: the zone to begin the search at
  unsigned hint_shift_ = 0;
  Divisor by_turn_;
  Divisor by_heads_;
  std::int64_t turn_ = 1;
  std::int64_t heads_ = 1;
  std::int64_t cylinders_ = 0;
  std::int64_t capacity_ = 0;
};

}  // namespace iotape
