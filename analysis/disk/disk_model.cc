#include "analysis/disk/disk_model.h"

#include <algorithm>
#include <utility>

namespace iotape {
namespace {

constexpr std::int64_t kBytes = 512;
constexpr std::int64_t kPicoseconds = 1'000'000'000'000;

// Where a disk's clock stops: a trace may hold any time, and sums must not run over.
constexpr std::int64_t kLatest = std::int64_t{1} << 61U;

// One jump that is almost never taken, where two would each be a coin's toss to the processor.
bool within(std::int64_t start, std::int64_t end, std::int64_t outer_start, std::int64_t outer_end) {
  return (static_cast<int>(start >= outer_start) & static_cast<int>(end <= outer_end)) != 0;
}

void add(RequestCost& cost, const MechanicalCost& work) {
  cost.seek += work.seek;
  cost.rotation += work.rotation;
  cost.transfer += work.transfer;
}

}  // namespace

DiskModel::DiskModel(DiskProfile profile)
    : profile_(std::move(profile)),
      bus_picoseconds_(profile_.bus_rate > 0 ? kBytes * kPicoseconds / profile_.bus_rate : 0) {}

RequestCost DiskModel::serve(DiskState& state, const DiskRequest& request) const {
  RequestCost cost;
  const std::int64_t begin = std::min(std::max(request.time.value, state.answered), kLatest);
  cost.begin = Nanoseconds(begin);
  const std::int64_t capacity = profile_.capacity();
  std::int64_t start = std::max<std::int64_t>(request.start.value, 0);
  std::int64_t length = std::clamp<std::int64_t>(request.length.value, 1, kLargestRequest);
  if (capacity > 0 && (start >= capacity || length > capacity - start)) {
    ++state.beyond;
    start %= capacity;
    length = std::min(length, capacity - start);
  }
  if (profile_.kind == DiskKind::kFlash) {
    flash(request, length, cost);
  } else {
    idle_until(state, begin);
    if (request.action == DiskAction::kRead)
      read(state, start, length, cost);
    else if (request.action == DiskAction::kWrite)
      write(state, start, length, request.through, cost);
    else
      drain(state, 0, 0, cost);
  }
  state.answered = cost.end().value;
  return cost;
}

void DiskModel::flash(const DiskRequest& request, std::int64_t length, RequestCost& cost) const {
  if (request.action == DiskAction::kFlush) return;
  const bool read = request.action == DiskAction::kRead;
  cost.overhead = read ? profile_.read_latency : profile_.write_latency;
  const std::int64_t picoseconds = kBytes * kPicoseconds / (read ? profile_.read_rate : profile_.write_rate);
  cost.transfer = length * picoseconds / 1000;
}

// ---- reads ----

void DiskModel::read(DiskState& state, std::int64_t start, std::int64_t length, RequestCost& cost) const {
  if (read_ahead(state, start, length, cost)) return;
  if (cached(state, start, start + length)) {
    cost.overhead = profile_.hit_overhead;
    cost.transfer = bus_time(length);
    cost.cached = true;
    return;
  }
  cost.overhead = profile_.miss_overhead;
  const std::int64_t ready = cost.begin.value + cost.overhead;
  stop_ahead(state, ready);
  cost.wait = std::max<std::int64_t>(state.arm_free - ready, 0);
  add(cost, move(state, ready + cost.wait, start, length, false));
  // The bus carries a sector as soon as the platter has given it; the slower of the two sets the pace.
  cost.transfer = std::max(cost.transfer, bus_time(length)) + bus_time(1);
  if (profile_.segments > 0) start_ahead(state, start, start + length);
}

// What the running read-ahead holds, or will have passed within a turn.
bool DiskModel::read_ahead(DiskState& state, std::int64_t start, std::int64_t length, RequestCost& cost) const {
  if (state.ahead < 0) return false;
  DiskState::Segment& segment = state.segments[static_cast<std::size_t>(state.ahead)];
  if (start < segment.start || start > state.ahead_limit) return false;
  const std::int64_t begin = cost.begin.value;
  const std::int64_t end = start + length;
  const bool stopped = begin >= state.ahead_done;
  if (!stopped && start > state.ahead_from &&
      state.ahead_since + passing(state.ahead_from, start) - begin > profile_.geometry.turn())
    return false;
  const std::int64_t wanted = std::min(end + profile_.readahead, profile_.capacity());
  std::int64_t turned = 0;
  if (stopped && wanted > state.ahead_limit) {
    // It had stopped where its segment was full: the next sector has to come round again.
    const std::int64_t from = state.ahead_limit;
    turned = profile_.geometry.rotation(profile_.geometry.locate(from).position, begin);
    set_ahead(state, from, begin + turned, wanted);
  } else if (wanted > state.ahead_limit) {
    set_ahead(state, state.ahead_from, state.ahead_since, wanted);
  }
  segment.start = std::max(segment.start, std::min(start, state.ahead_limit - profile_.segment_size));
  segment.used = ++state.uses;
  cost.overhead = profile_.hit_overhead;
  cost.transfer = bus_time(length);
  const std::int64_t passed = end <= state.ahead_from ? 0 : state.ahead_since + passing(state.ahead_from, end);
  const std::int64_t late = std::max<std::int64_t>(passed + bus_time(1) - cost.end().value, 0);
  cost.cached = late == 0;
  cost.rotation = std::min(late, turned);
  cost.transfer += late - cost.rotation;
  return true;
}

bool DiskModel::cached(DiskState& state, std::int64_t start, std::int64_t end) const {
  for (std::size_t i = 0; i < static_cast<std::size_t>(profile_.segments); ++i) {
    DiskState::Segment& segment = state.segments[i];
    if (!within(start, end, segment.start, segment.end) || std::cmp_equal(i, state.ahead)) continue;
    segment.used = ++state.uses;
    return true;
  }
  return state.written.covers(start, end);
}

void DiskModel::set_ahead(DiskState& state, std::int64_t from, std::int64_t since, std::int64_t limit) const {
  state.ahead_from = from;
  state.ahead_since = since;
  state.ahead_limit = limit;
  state.ahead_done = since + passing(from, limit);
}

void DiskModel::start_ahead(DiskState& state, std::int64_t start, std::int64_t end) const {
  std::size_t oldest = 0;
  std::uint64_t least = ~std::uint64_t{0};
  for (std::size_t i = 0; i < static_cast<std::size_t>(profile_.segments); ++i) {
    const DiskState::Segment& segment = state.segments[i];
    // The same place read again belongs into the same segment.
    const bool same = segment.end > segment.start && within(start, start, segment.start, segment.end);
    const std::uint64_t rank = same ? 0 : segment.used + 1;
    oldest = rank < least ? i : oldest;
    least = std::min(rank, least);
  }
  state.segments[oldest] = {std::max(start, end - profile_.segment_size), end, ++state.uses};
  // A segment is a ring: a request that fills it still leaves room to read on, or a stream of such would lose a turn
  // each.
  const std::int64_t room = std::max(profile_.segment_size - (end - start), profile_.segment_size / 4);
  const std::int64_t limit = std::min(end + std::min(profile_.readahead, room), profile_.capacity());
  state.ahead = static_cast<std::int32_t>(oldest);
  state.ahead_from = end;
  state.ahead_limit = limit;
  state.ahead_since = state.ahead_done = state.arm_free;
  if (limit == end) return;
  const SectorRun ahead = profile_.geometry.run(end, limit - end);
  state.ahead_since += profile_.geometry.rotation(ahead.first.position, state.arm_free);
  state.ahead_done = state.ahead_since + ahead.time();
}

void DiskModel::stop_ahead(DiskState& state, std::int64_t now) const {
  if (state.ahead < 0) return;
  DiskState::Segment& segment = state.segments[static_cast<std::size_t>(state.ahead)];
  segment.end = now >= state.ahead_done
                    ? state.ahead_limit
                    : std::min(state.ahead_limit, state.ahead_from + profile_.geometry.sectors_in(
                                                                         state.ahead_from, now - state.ahead_since));
  segment.start = std::max(segment.start, segment.end - profile_.segment_size);
  state.ahead = -1;
  if (segment.end <= state.track_end) return;  // the arm did not leave its track
  const SectorPlace place = profile_.geometry.locate(segment.end - 1);
  state.cylinder = place.cylinder;
  state.head = place.head;
  state.track_end = place.track_end;
}

// ---- writes ----

void DiskModel::write(DiskState& state, std::int64_t start, std::int64_t length, bool through,
                      RequestCost& cost) const {
  const std::int64_t end = start + length;
  if (through || length > profile_.write_cache) {
    cost.overhead = profile_.miss_overhead;
    drain(state, 0, 0, cost);  // what was written before must not overtake
    const std::int64_t ready = cost.end().value;
    stop_ahead(state, ready);
    cost.wait += std::max<std::int64_t>(state.arm_free - ready, 0);
    const MechanicalCost work = move(state, cost.end().value, start, length, true);
    add(cost, work);
    cost.transfer += std::max<std::int64_t>(bus_time(length) - work.transfer, 0);
    return;
  }
  cost.overhead = profile_.write_overhead;
  if (state.written.covers(start, end)) {
    cost.transfer = cost.bus = bus_time(length);  // written over before it was destaged
    cost.cached = true;
    return;
  }
  const bool joins = state.written.ends_at(start);
  drain(state, profile_.write_cache - length, static_cast<std::size_t>(profile_.write_extents) - (joins ? 0 : 1), cost);
  cost.cached = cost.total() == cost.overhead;
  cost.bus = bus_time(length);
  cost.transfer += cost.bus;
  state.written.add(start, end, cost.end().value);
}

// The last parts of the destage under way are what is waited for.
void DiskModel::await_destage(DiskState& state, RequestCost& cost) {
  std::int64_t left = state.arm_free - cost.end().value;
  const auto take = [&left](std::int64_t part, std::int64_t& charged, std::int64_t& awaited) {
    const std::int64_t taken = std::min(part, left);
    left -= taken;
    charged += taken;
    awaited += taken;
  };
  take(state.flying_cost.transfer, cost.transfer, state.awaited.transfer);
  take(state.flying_cost.rotation, cost.rotation, state.awaited.rotation);
  take(state.flying_cost.seek, cost.seek, state.awaited.seek);
  cost.wait += left;
}

// Waits until the cache holds at most so much, from the end of what the request has cost so far.
void DiskModel::drain(DiskState& state, std::int64_t sectors, std::size_t extents, RequestCost& cost) const {
  while (true) {
    const std::int64_t now = cost.end().value;
    const bool flying = state.flying > 0 && state.arm_free > now;
    if (state.written.sectors() + (flying ? state.flying : 0) <= sectors &&
        state.written.count() + (flying ? 1 : 0) <= extents)
      return;
    if (flying) {
      await_destage(state, cost);
      continue;
    }
    stop_ahead(state, now);
    destage(state, std::max(state.arm_free, now));
  }
}

// The arm's own work until somebody wants it: first the read-ahead, then what was written.
void DiskModel::idle_until(DiskState& state, std::int64_t now) const {
  while (!state.written.empty()) {
    std::int64_t begin = std::max(state.arm_free, state.written.oldest_ready());
    if (state.ahead >= 0) begin = std::max(begin, state.ahead_done);
    if (begin >= now) return;
    stop_ahead(state, begin);
    destage(state, begin);
  }
}

void DiskModel::destage(DiskState& state, std::int64_t begin) const {
  // In pieces, so that a stream of writes finds room while the platter still writes the piece before.
  const std::int64_t piece = std::clamp<std::int64_t>(profile_.write_cache / 8, 64, 2048);
  const std::int64_t length = std::min(state.written.oldest_length(), piece);
  const MechanicalCost work = move(state, begin, state.written.oldest_start(), length, true);
  state.flying = length;
  state.flying_cost = work;
  state.destaged.seek += work.seek;
  state.destaged.rotation += work.rotation;
  state.destaged.transfer += work.transfer;
  state.written.take(length);
}

// ---- the arm ----

std::int64_t DiskModel::positioning(const DiskState& state, Nanoseconds time, Sectors start) const {
  if (profile_.kind == DiskKind::kFlash) return 0;
  const SectorPlace place = profile_.geometry.locate(std::max<std::int64_t>(start.value, 0) % profile_.capacity());
  const std::int64_t distance =
      place.cylinder > state.cylinder ? place.cylinder - state.cylinder : state.cylinder - place.cylinder;
  const std::int64_t to_head = place.head == state.head ? 0 : profile_.head_switch;
  const std::int64_t seek = distance > 0 ? std::max(to_head, profile_.seek.time(distance)) : to_head;
  return seek + profile_.geometry.rotation(place.position, std::min(time.value, kLatest) + seek);
}

MechanicalCost DiskModel::move(DiskState& state, std::int64_t begin, std::int64_t start, std::int64_t length,
                               bool write) const {
  const SectorRun run = profile_.geometry.run(start, length);
  const std::int64_t distance =
      run.first.cylinder > state.cylinder ? run.first.cylinder - state.cylinder : state.cylinder - run.first.cylinder;
  MechanicalCost work;
  work.seek = run.first.head == state.head ? 0 : profile_.head_switch;
  if (distance > 0) work.seek = std::max(work.seek, profile_.seek.time(distance)) + (write ? profile_.write_settle : 0);
  work.rotation = profile_.geometry.rotation(run.first.position, begin + work.seek);
  work.transfer = run.time();
  state.cylinder = run.last_cylinder;
  state.head = run.last_head;
  state.track_end = run.last_track_end;
  state.arm_free = begin + work.total();
  state.flying = 0;
  return work;
}

}  // namespace iotape
