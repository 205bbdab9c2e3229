#include "recorder/request_assembler.h"

#include <algorithm>
#include <limits>

namespace iotape {
namespace {

constexpr std::int64_t kSectorBytes = 512;
// How many bios that begin before a sector are looked at for one that reaches it. More would mean that many splits of
// long bios are under way out of order; the price of giving up is a part without attribution.
constexpr int kLookBack = 64;

Sectors end_of(const RequestPart& part) { return part.sector + Sectors(part.bytes / kSectorBytes); }

bool impossible(const BlockRequest& request) {
  if (request.bytes < 0 || request.sector.value < 0) return true;
  if (request.bytes / kSectorBytes > std::numeric_limits<std::int64_t>::max() - request.sector.value) return true;
  return request.issue && request.complete && *request.complete < *request.issue;
}

Nanoseconds latest_queue_time(const BlockRequest& request) {
  if (request.issue) return *request.issue;
  if (request.complete) return *request.complete;
  return Nanoseconds(std::numeric_limits<std::int64_t>::max());
}

// Flushes arrive as writes without data; the device is asked for one flush for several of them.
bool is_flush(const QueuedBio& bio) {
  return bio.part.bytes == 0 && (bio.operation == BlockOperation::kFlush || bio.operation == BlockOperation::kWrite);
}

BlockOperation stream_operation(const QueuedBio& bio) { return is_flush(bio) ? BlockOperation::kFlush : bio.operation; }

}  // namespace

void RequestAssembler::queue(const QueuedBio& bio) {
  if (bio.part.bytes < 0 || bio.part.sector.value < 0) {
    ++counts_.lost_parts;
    return;
  }
  if (by_age_.size() >= limits_.parts) {
    ++counts_.lost_parts;
    if (by_age_.empty()) return;
    erase_aged(by_age_.begin());
  }
  insert(bio);
}

void RequestAssembler::insert(const QueuedBio& bio) {
  if (bio.bio_based) {
    if (auto old = bio_based_.find(bio.bio.value); old != bio_based_.end()) {
      ++counts_.lost_parts;  // its end was not seen, and the address now means another bio
      erase_aged(old->second);
    }
    bio_based_[bio.bio.value] = by_age_.insert(by_age_.end(), bio);
    return;
  }
  const auto aged = by_age_.insert(by_age_.end(), bio);
  by_sector_[{bio.device, stream_operation(bio)}].emplace(bio.part.sector, aged);
}

void RequestAssembler::erase(BySector& waiting, BySector::iterator position) {
  by_age_.erase(position->second);
  waiting.erase(position);
}

void RequestAssembler::erase_aged(Ages::iterator aged) {
  if (aged->bio_based) {
    bio_based_.erase(aged->bio.value);
    by_age_.erase(aged);
    return;
  }
  const auto stream = by_sector_.find({aged->device, stream_operation(*aged)});
  const auto [first, last] = stream->second.equal_range(aged->part.sector);
  const auto position = std::find_if(first, last, [&](const auto& entry) { return entry.second == aged; });
  erase(stream->second, position);
  if (stream->second.empty()) by_sector_.erase(stream);
}

void RequestAssembler::move(const MovedBio& moved) {
  if (auto based = bio_based_.find(moved.bio.value); based != bio_based_.end()) {
    QueuedBio copy = *based->second;  // the striped device's own bio still has to complete
    copy.bio_based = false;
    copy.device = copy.partition = moved.device;
    copy.part.sector = moved.sector;
    return queue(copy);
  }
  for (auto& [stream, waiting] : by_sector_) {
    if (stream.device != moved.old_device) continue;
    const auto [first, last] = waiting.equal_range(moved.old_sector);
    const auto position = std::find_if(first, last, [&](const auto& entry) { return entry.second->bio == moved.bio; });
    if (position == last) continue;
    QueuedBio copy = *position->second;
    erase(waiting, position);
    copy.device = copy.partition = moved.device;
    copy.part.sector = moved.sector;
    return insert(copy);
  }
}

void RequestAssembler::refuse(const RefusedBio& refused) {
  for (const BlockOperation operation : {refused.operation, BlockOperation::kFlush}) {
    const auto stream = by_sector_.find({refused.device, operation});
    if (stream == by_sector_.end()) continue;
    // Young ones first: refusals come at once, and an address found far back belongs to an earlier bio.
    for (auto entry = stream->second.begin(); entry != stream->second.end(); ++entry) {
      if (entry->second->bio != refused.bio) continue;
      erase(stream->second, entry);
      return;
    }
  }
}

RequestAssembler::BySector::iterator RequestAssembler::find_covering(BySector& waiting, Sectors sector,
                                                                     Nanoseconds latest, BioAddress preferred) {
  auto best = waiting.end();
  auto candidate = waiting.upper_bound(sector);
  for (int step = 0; step < kLookBack && candidate != waiting.begin(); ++step) {
    --candidate;
    if (best != waiting.end() && candidate->first < best->first) break;
    const QueuedBio& bio = *candidate->second;
    if (end_of(bio.part) <= sector || bio.part.queue > latest) continue;
    if (preferred.value != 0 && bio.bio == preferred) return candidate;
    if (best == waiting.end() || bio.part.queue > best->second->part.queue) best = candidate;
  }
  return best;
}

// Takes [from, to) out of a waiting bio; what is left on either side goes on waiting.
QueuedBio RequestAssembler::cut(BySector& waiting, BySector::iterator position, Sectors from, Sectors to) {
  const auto piece = [&](const QueuedBio& whole, Sectors first, Sectors last) {
    QueuedBio part = whole;
    part.part.sector = first;
    part.part.bytes = (last - first).value * kSectorBytes;
    if (whole.part.file_offset >= 0) part.part.file_offset += (first - whole.part.sector).value * kSectorBytes;
    return part;
  };
  const QueuedBio whole = *position->second;
  const auto aged = position->second;
  waiting.erase(position);
  const Sectors begin = whole.part.sector;
  const Sectors end = end_of(whole.part);
  const auto keep = [&](Sectors first, Sectors last) {
    if (first >= last) return;
    waiting.emplace(first, by_age_.insert(aged, piece(whole, first, last)));
  };
  keep(begin, from);
  keep(to, end);
  by_age_.erase(aged);
  return from == begin && to == end ? whole : piece(whole, from, to);
}

void RequestAssembler::take_range(const FinishedRequest& finished, std::list<QueuedBio>& taken) {
  const BlockRequest& request = finished.request;
  counts_.bytes += static_cast<std::uint64_t>(request.bytes);
  const Sectors end = request.sector + Sectors(request.bytes / kSectorBytes);
  const Nanoseconds latest = latest_queue_time(request);
  const auto stream = by_sector_.find({request.device, request.operation});
  Sectors position = request.sector;
  std::int64_t found = 0;
  while (stream != by_sector_.end() && position < end) {
    BySector& waiting = stream->second;
    const auto covering = find_covering(waiting, position, latest, taken.empty() ? finished.first_bio : BioAddress{});
    if (covering == waiting.end()) {
      auto next = waiting.upper_bound(position);
      while (next != waiting.end() && next->second->part.queue > latest) ++next;
      if (next == waiting.end() || next->first >= end) break;
      position = next->first;
      continue;
    }
    const Sectors stop = std::min(end, end_of(covering->second->part));
    taken.push_back(cut(waiting, covering, position, stop));
    found += taken.back().part.bytes;
    position = stop;
  }
  if (stream != by_sector_.end() && stream->second.empty()) by_sector_.erase(stream);
  counts_.bytes_without_part += static_cast<std::uint64_t>(request.bytes - std::min(request.bytes, found));
}

void RequestAssembler::take_flushes(const FinishedRequest& finished, std::list<QueuedBio>& taken) {
  const auto stream = by_sector_.find({finished.request.device, BlockOperation::kFlush});
  if (stream == by_sector_.end()) return;
  const Nanoseconds latest = latest_queue_time(finished.request);
  for (auto entry = stream->second.begin(); entry != stream->second.end();) {
    const auto current = entry++;
    if (current->second->part.queue > latest) continue;
    taken.push_back(*current->second);
    erase(stream->second, current);
  }
  if (stream->second.empty()) by_sector_.erase(stream);
}

void RequestAssembler::take_bio(const FinishedRequest& finished, std::list<QueuedBio>& taken) {
  counts_.bytes += static_cast<std::uint64_t>(finished.request.bytes);
  const auto found = bio_based_.find(finished.first_bio.value);
  if (found == bio_based_.end() || found->second->device != finished.request.device) {
    counts_.bytes_without_part += static_cast<std::uint64_t>(finished.request.bytes);
    return;
  }
  taken.push_back(*found->second);
  erase_aged(found->second);
}

std::optional<BlockRequest> RequestAssembler::finish(const FinishedRequest& finished) {
  if (impossible(finished.request)) {
    ++counts_.refused_requests;
    return std::nullopt;
  }
  std::list<QueuedBio> taken;
  if (finished.bio_based)
    take_bio(finished, taken);
  else if (finished.request.bytes == 0)
    take_flushes(finished, taken);
  else
    take_range(finished, taken);

  if (!taken.empty() && std::all_of(taken.begin(), taken.end(), [](const QueuedBio& bio) { return bio.own; })) {
    ++counts_.own_requests;
    return std::nullopt;
  }
  BlockRequest request = finished.request;
  if (!taken.empty()) request.partition = taken.front().partition;
  request.parts.reserve(taken.size());
  for (QueuedBio& bio : taken) request.parts.push_back(std::move(bio.part));
  return request;
}

}  // namespace iotape
