#include "analysis/disk/disk_geometry.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "analysis/disk/seek_curve.h"

namespace iotape {
namespace {

constexpr std::int64_t kLongestTurn = 200'000'000;  // 300 rpm
constexpr std::int64_t kLongestSwitch = 4'000'000'000;
constexpr std::int64_t kLongestPosition = 10'000'000'000'000'000;  // 115 days to read it all
constexpr std::int64_t kHints = 1024;
constexpr std::int64_t kLargestCapacity = std::int64_t{1} << 43U;  // sectors: 4 PiB
constexpr std::int64_t kMaximumHeads = 256;
constexpr std::int64_t kMaximumSectorsPerTrack = 1'000'000;

tl::unexpected<Error> impossible(std::string_view what, std::int64_t value) {
  return failure(ErrorCode::kUsage, fmt::format("an impossible disk: {} {}", value, what));
}

// The skew as time, in whole sectors, and with the turns that are lost when it is shorter than the switch.
std::int64_t crossing(std::int64_t sectors, std::int64_t stated, std::int64_t needed, std::int64_t switch_time,
                      const ZoneSpec& zone, std::int64_t turn) {
  const std::int64_t wanted = stated >= 0 ? stated : needed;
  const std::int64_t skew =
      sectors >= 0 ? sectors : (wanted * zone.sectors_per_track + turn - 1) / turn;  // rounded up to a sector
  const std::int64_t time = skew * turn / zone.sectors_per_track;
  const std::int64_t lost = time >= switch_time ? 0 : (switch_time - time + turn - 1) / turn;
  return time + lost * turn;
}

Result<void> check(const GeometrySpec& spec) {
  if (spec.turn < 10'000 || spec.turn > kLongestTurn) return impossible("ns for one turn", spec.turn);
  if (spec.heads < 1 || spec.heads > kMaximumHeads) return impossible("heads", spec.heads);
  for (const std::int64_t time : {spec.head_switch, spec.cylinder_switch, spec.write_settle})
    if (time > kLongestSwitch) return impossible("ns for a switch", time);
  for (const std::int64_t skew : {spec.track_skew, spec.cylinder_skew})
    if (skew > spec.turn) return impossible("ns of skew, more than a turn", skew);
  if (spec.zones.empty() || spec.zones.size() > DiskGeometry::kMaximumZones)
    return impossible("zones", static_cast<std::int64_t>(spec.zones.size()));
  return {};
}

Result<void> check(const ZoneSpec& zone) {
  if (zone.cylinders < 1 || zone.cylinders > SeekCurve::kMaximumCylinders)
    return impossible("cylinders in a zone", zone.cylinders);
  if (zone.sectors_per_track < 1 || zone.sectors_per_track > kMaximumSectorsPerTrack)
    return impossible("sectors per track", zone.sectors_per_track);
  for (const std::int64_t skew : {zone.track_skew, zone.cylinder_skew})
    if (skew > zone.sectors_per_track) return impossible("sectors of skew, more than a turn", skew);
  return {};
}

}  // namespace

Result<DiskGeometry> DiskGeometry::make(const GeometrySpec& spec) {
  IOTAPE_TRY(check(spec));
  DiskGeometry made;
  made.turn_ = spec.turn;
  made.heads_ = spec.heads;
  made.by_turn_ = Divisor(spec.turn);
  made.by_heads_ = Divisor(spec.heads);
  const std::int64_t cylinder_switch = std::max(spec.cylinder_switch, spec.head_switch);
  std::int64_t position = 0;
  for (const ZoneSpec& zone : spec.zones) {
    IOTAPE_TRY(check(zone));
    const std::int64_t track =
        crossing(zone.track_skew, spec.track_skew, spec.head_switch, spec.head_switch, zone, spec.turn);
    const std::int64_t cylinder = crossing(zone.cylinder_skew, spec.cylinder_skew, cylinder_switch + spec.write_settle,
                                           cylinder_switch, zone, spec.turn);
    Zone& added = made.zones_.emplace_back();
    made.starts_.push_back(made.capacity_);
    added.first_sector = made.capacity_;
    added.first_cylinder = made.cylinders_;
    added.sectors_per_track = zone.sectors_per_track;
    added.track_step = spec.turn + track;
    added.cylinder_step = spec.heads * added.track_step - track + cylinder;
    added.position = position;
    added.by_sectors = Divisor(zone.sectors_per_track);
    added.by_cylinder_time = Divisor(std::max<std::int64_t>(added.cylinder_step / 1000, 1));
    position += zone.cylinders * added.cylinder_step;
    made.cylinders_ += zone.cylinders;
    made.capacity_ += zone.cylinders * spec.heads * zone.sectors_per_track;
    if (made.cylinders_ > SeekCurve::kMaximumCylinders) return impossible("cylinders", made.cylinders_);
    if (made.capacity_ > kLargestCapacity) return impossible("sectors", made.capacity_);
    if (position > kLongestPosition) return impossible("ns to read it all", position);
  }
  made.starts_.push_back(std::numeric_limits<std::int64_t>::max());
  while (made.capacity_ >> made.hint_shift_ > kHints) ++made.hint_shift_;
  std::size_t zone = 0;
  for (std::int64_t hint = 0; hint <= made.capacity_ >> made.hint_shift_; ++hint) {
    while (made.starts_[zone + 1] <= hint << made.hint_shift_) ++zone;
    made.hints_.push_back(static_cast<std::uint16_t>(zone));
  }
  return made;
}

const DiskGeometry::Zone& DiskGeometry::zone_of(std::int64_t sector) const {
  std::size_t zone = hints_[static_cast<std::size_t>(sector >> hint_shift_)];
  while (starts_[zone + 1] <= sector) ++zone;
  return zones_[zone];
}

SectorPlace DiskGeometry::locate(std::int64_t sector) const {
  const Zone& zone = zone_of(sector);
  const std::int64_t offset = sector - zone.first_sector;
  const std::int64_t track = zone.by_sectors.quotient(offset);
  const std::int64_t in_track = offset - track * zone.sectors_per_track;
  const std::int64_t cylinder = by_heads_.quotient(track);
  const std::int64_t head = track - cylinder * heads_;
  SectorPlace place;
  place.cylinder = zone.first_cylinder + cylinder;
  place.head = head;
  place.position = zone.position + cylinder * zone.cylinder_step + head * zone.track_step +
                   zone.by_sectors.quotient(in_track * turn_);
  place.track_end = sector - in_track + zone.sectors_per_track;
  place.zone_by_sectors = &zone.by_sectors;
  return place;
}

SectorRun DiskGeometry::run(std::int64_t sector, std::int64_t count) const {
  SectorRun made;
  made.first = locate(sector);
  if (sector + count <= made.first.track_end) {
    made.last_cylinder = made.first.cylinder;
    made.last_head = made.first.head;
    made.last_track_end = made.first.track_end;
    made.end_position = made.first.position + made.first.zone_by_sectors->quotient(count * turn_);
    return made;
  }
  const SectorPlace last = locate(sector + count - 1);
  made.last_cylinder = last.cylinder;
  made.last_head = last.head;
  made.last_track_end = last.track_end;
  made.end_position = last.position + last.zone_by_sectors->quotient(turn_);
  return made;
}

std::int64_t DiskGeometry::sectors_in(std::int64_t sector, std::int64_t nanoseconds) const {
  constexpr std::int64_t kLongest = 10'000'000'000;  // ten seconds: more than any read-ahead, and no overflow
  const Zone& zone = zone_of(sector);
  const std::int64_t microseconds = std::clamp<std::int64_t>(nanoseconds, 0, kLongest) / 1000;
  return zone.by_cylinder_time.quotient(microseconds * heads_ * zone.sectors_per_track);
}

}  // namespace iotape
