#include "format/blktrace_importer.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "format/blktrace_records.h"
#include "format/trace_limits.h"

namespace iotape {
namespace {

constexpr std::size_t kMaximumPendingBios = 250'000;
constexpr std::size_t kMaximumInFlight = 65'536;
constexpr std::size_t kMaximumPartsInFlight = 250'000;
constexpr std::size_t kMaximumNames = 100'000;      // of processes, to tell of each once
constexpr std::size_t kMaximumSequences = 100'000;  // pairs of device and CPU
constexpr std::int64_t kBytesPerSector = 512;

// Names and messages end at the first zero, if one is there.
std::string text_of(const BlktraceRecord& record) { return record.payload.substr(0, record.payload.find('\0')); }

BlockOperation operation_of(const BlktraceRecord& record) {
  if ((record.category & kBlktracePassthrough) != 0) return BlockOperation::kDriver;
  if ((record.category & kBlktraceDiscard) != 0) return BlockOperation::kDiscard;
  if (record.bytes == 0) return BlockOperation::kFlush;
  if ((record.category & kBlktraceWrite) != 0) return BlockOperation::kWrite;
  if ((record.category & kBlktraceRead) != 0) return BlockOperation::kRead;
  return BlockOperation::kOther;
}

std::uint32_t flags_of(const BlktraceRecord& record) {
  struct Pair {
    std::uint32_t category;
    std::uint32_t flag;
  };
  static constexpr std::array<Pair, 5> kPairs{{{kBlktraceSync, kBlockSync},
                                               {kBlktraceMetadata, kBlockMetadata},
                                               {kBlktraceReadAhead, kBlockReadAhead},
                                               {kBlktraceForceUnitAccess, kBlockForceUnitAccess},
                                               {kBlktraceFlush, kBlockPreflush}}};
  std::uint32_t flags = 0;
  for (const Pair& pair : kPairs)
    if ((record.category & pair.category) != 0) flags |= pair.flag;
  return flags;
}

std::int64_t sectors_of(std::int64_t bytes) { return (bytes + kBytesPerSector - 1) / kBytesPerSector; }

// The sector behind an access; one beyond all numbers is the last there is.
std::int64_t end_of(Sectors sector, std::int64_t bytes) {
  std::int64_t end = 0;
  const bool beyond = __builtin_add_overflow(sector.value, sectors_of(bytes), &end);
  return beyond ? std::numeric_limits<std::int64_t>::max() : end;
}

// Where a bio or request begins, and what it does. Those of one operation stand together in the order of their sectors,
// so that looking one up never walks over others.
struct Place {
  DeviceId device;
  BlockOperation operation = BlockOperation::kRead;
  std::int64_t sector = 0;
  constexpr auto operator<=>(const Place&) const = default;
};

struct Bio {
  RequestPart part;
  DeviceId partition;
};

Place place_of(const BlktraceRecord& record) { return {record.device, operation_of(record), record.sector.value}; }

class Importer {
 public:
  explicit Importer(EventSink& sink) : sink_(sink) {}

  Result<void> take(const BlktraceRecord& record);
  Result<void> finish(const BlktraceStream& stream);
  [[nodiscard]] const BlktraceSummary& summary() const { return summary_; }

 private:
  using Bios = std::multimap<Place, Bio>;
  using Requests = std::multimap<Place, BlockRequest>;

  Result<void> notice(const BlktraceRecord& record);
  Result<void> check_sequence(const BlktraceRecord& record);
  void remap(const BlktraceRecord& record);
  Result<void> queue(const BlktraceRecord& record);
  Result<void> issue(const BlktraceRecord& record);
  Result<void> complete(const BlktraceRecord& record);
  Result<void> complete_without_issue(const BlktraceRecord& record);
  void requeue(const BlktraceRecord& record);

  Requests::iterator in_flight_at(const BlktraceRecord& record);
  BlockRequest take_from_flight(Requests::iterator request);
  void take_parts(BlockRequest& request);
  bool take_part_at(BlockRequest& request, std::int64_t& cursor, std::int64_t end);
  Result<void> give(BlockRequest request);
  Result<void> give_pending_bios();
  Result<void> limit_in_flight();

  EventSink& sink_;
  BlktraceSummary summary_;
  Bios bios_;
  Requests in_flight_;
  std::size_t parts_in_flight_ = 0;
  std::deque<std::pair<Place, Nanoseconds>> issue_order_;  // of in_flight_, may name requests already gone
  std::map<Place, DeviceId> partitions_;                   // from remaps, until the bio is queued
  std::map<Place, std::uint32_t> requeued_;                // how often, until issued again
  std::map<std::pair<DeviceId, std::int32_t>, std::pair<std::uint32_t, Nanoseconds>> sequences_;  // by device and CPU
  std::set<std::pair<std::int32_t, std::string>> named_;
  Nanoseconds latest_;
};

Result<void> Importer::take(const BlktraceRecord& record) {
  ++summary_.records;
  latest_ = std::max(latest_, record.time);
  if ((record.category & kBlktraceNotify) != 0) return notice(record);
  IOTAPE_TRY(check_sequence(record));
  switch (static_cast<BlktraceAction>(record.action)) {
    case BlktraceAction::kQueue:
      return queue(record);
    case BlktraceAction::kIssue:
      return issue(record);
    case BlktraceAction::kComplete:
      return complete(record);
    case BlktraceAction::kRequeue:
      requeue(record);
      return {};
    case BlktraceAction::kRemap:
      remap(record);
      return {};
  }
  return {};  // plugs, merges, inserts and splits say nothing the sectors do not
}

Result<void> Importer::notice(const BlktraceRecord& record) {
  switch (static_cast<BlktraceNotice>(record.action)) {
    case BlktraceNotice::kProcess: {
      std::string command = text_of(record);
      if (named_.size() >= kMaximumNames) named_.clear();
      if (!named_.insert({record.process, command}).second) return {};
      ProcessStart start;
      start.time = record.time;
      start.thread = {ProcessId(record.process), ThreadId(record.process)};
      start.already_running = true;
      start.command = std::move(command);
      return sink_.append(std::move(start));
    }
    case BlktraceNotice::kMessage:
      return sink_.append(Marker{record.time, text_of(record)});
    case BlktraceNotice::kTimestamp:
      return {};  // read by blktrace_header
  }
  return {};
}

Result<void> Importer::check_sequence(const BlktraceRecord& record) {
  if (record.sequence == 0) return {};  // captured through ftrace, which does not number
  if (sequences_.size() >= kMaximumSequences) sequences_.clear();
  auto [entry, first] = sequences_.try_emplace({record.device, record.cpu}, record.sequence, record.time);
  const auto [before, when] = entry->second;
  if (first || record.sequence <= before) return {};
  entry->second = {record.sequence, record.time};
  const std::uint32_t missing = record.sequence - before - 1;
  if (missing == 0) return {};
  summary_.lost += missing;
  return sink_.append(Loss{LossCause::kRingFull, when, record.time, record.cpu, missing, "gap in blktrace's sequence"});
}

void Importer::remap(const BlktraceRecord& record) {
  if (record.payload.size() < sizeof(std::uint32_t)) return;
  std::array<unsigned char, 4> big_endian{};
  std::memcpy(big_endian.data(), record.payload.data(), big_endian.size());
  std::uint32_t from = 0;
  for (const unsigned char byte : big_endian) from = from << 8U | byte;
  if (DeviceId(from).major_number() == record.device.major_number() && partitions_.size() < kMaximumPendingBios)
    partitions_[place_of(record)] = DeviceId(from);
}

Result<void> Importer::queue(const BlktraceRecord& record) {
  ++summary_.queue_events;
  if (record.bytes == 0) return {};
  const Place place = place_of(record);
  Bio bio;
  bio.part.queue = record.time;
  bio.part.sector = record.sector;
  bio.part.bytes = record.bytes;
  bio.part.flags = flags_of(record);
  bio.part.submitter = {ProcessId(record.process), ThreadId(record.process)};
  bio.part.cause = (record.category & kBlktraceMetadata) != 0 ? BlockCause::kMetadata : BlockCause::kUnknown;
  bio.partition = record.device;
  if (const auto remapped = partitions_.find(place); remapped != partitions_.end()) {
    bio.partition = remapped->second;
    partitions_.erase(remapped);
  }
  bios_.emplace(place, std::move(bio));
  return bios_.size() > kMaximumPendingBios ? give_pending_bios() : Result<void>{};
}

// Moves the bio at the cursor, or the next one before end, into the request. A bio longer than the request is cut.
bool Importer::take_part_at(BlockRequest& request, std::int64_t& cursor, std::int64_t end) {
  const auto bio = bios_.lower_bound({request.device, request.operation, cursor});
  if (bio == bios_.end() || bio->first.device != request.device || bio->first.operation != request.operation ||
      bio->first.sector >= end)
    return false;
  Bio taken = std::move(bio->second);
  bios_.erase(bio);
  const std::int64_t room = (end - taken.part.sector.value) * kBytesPerSector;
  if (taken.part.bytes > room) {
    Bio rest = taken;
    rest.part.sector = Sectors(end);
    rest.part.bytes -= room;
    taken.part.bytes = room;
    bios_.emplace(Place{request.device, request.operation, end}, std::move(rest));
  }
  cursor = end_of(taken.part.sector, taken.part.bytes);
  request.partition = taken.partition;
  request.parts.push_back(std::move(taken.part));
  return true;
}

void Importer::take_parts(BlockRequest& request) {
  std::int64_t cursor = request.sector.value;
  const std::int64_t end = end_of(request.sector, request.bytes);
  while (cursor < end && request.parts.size() < kMaximumRequestParts && take_part_at(request, cursor, end)) {
  }
}

Result<void> Importer::issue(const BlktraceRecord& record) {
  ++summary_.issue_events;
  BlockRequest request;
  request.device = request.partition = record.device;
  request.operation = operation_of(record);
  request.flags = flags_of(record);
  request.sector = record.sector;
  request.bytes = record.bytes;
  request.issue = record.time;
  const Place place = place_of(record);
  if (const auto again = requeued_.find(place); again != requeued_.end()) {
    request.requeues = again->second;
    requeued_.erase(again);
  }
  take_parts(request);
  parts_in_flight_ += request.parts.size();
  in_flight_.emplace(place, std::move(request));
  issue_order_.emplace_back(place, record.time);
  return limit_in_flight();
}

// Traces without completions must not fill the memory: the oldest requests are given out as they are.
Result<void> Importer::limit_in_flight() {
  while (issue_order_.size() > kMaximumInFlight ||
         (parts_in_flight_ > kMaximumPartsInFlight && !issue_order_.empty())) {
    const auto [place, issued] = issue_order_.front();
    issue_order_.pop_front();
    auto [request, last] = in_flight_.equal_range(place);
    while (request != last && request->second.issue != issued) ++request;
    if (request == last) continue;
    IOTAPE_TRY(give(take_from_flight(request)));
  }
  return {};
}

BlockRequest Importer::take_from_flight(Requests::iterator request) {
  BlockRequest taken = std::move(request->second);
  in_flight_.erase(request);
  parts_in_flight_ -= taken.parts.size();
  return taken;
}

// The request in flight that holds the record's first sector: usually the one that begins there.
Importer::Requests::iterator Importer::in_flight_at(const BlktraceRecord& record) {
  const Place place = place_of(record);
  auto request = in_flight_.lower_bound(place);
  if (request != in_flight_.end() && request->first == place) return request;
  if (request == in_flight_.begin() || record.bytes == 0) return in_flight_.end();
  --request;
  const bool holds = request->first.device == place.device && request->first.operation == place.operation &&
                     end_of(request->second.sector, request->second.bytes) > place.sector;
  return holds ? request : in_flight_.end();
}

Result<void> Importer::complete(const BlktraceRecord& record) {
  ++summary_.complete_events;
  const auto found = in_flight_at(record);
  if (found == in_flight_.end()) return complete_without_issue(record);
  BlockRequest& request = found->second;
  const std::int64_t done = end_of(record.sector, record.bytes);
  if (record.error != 0) request.error = record.error;
  // A request may complete in steps; the last one reaches its end.
  if (record.bytes > 0 && record.error == 0 && done < end_of(request.sector, request.bytes)) return {};
  request.complete = record.time;
  BlockRequest ended = take_from_flight(found);
  while (!issue_order_.empty() && !in_flight_.contains(issue_order_.front().first)) issue_order_.pop_front();
  return give(std::move(ended));
}

Result<void> Importer::complete_without_issue(const BlktraceRecord& record) {
  if (record.bytes == 0) {
    ++summary_.ignored_completions;
    return {};
  }
  BlockRequest request;
  request.device = request.partition = record.device;
  request.operation = operation_of(record);
  request.flags = flags_of(record);
  request.sector = record.sector;
  request.bytes = record.bytes;
  request.complete = record.time;
  request.error = record.error;
  take_parts(request);
  return give(std::move(request));
}

void Importer::requeue(const BlktraceRecord& record) {
  const auto found = in_flight_at(record);
  if (found == in_flight_.end()) return;
  const Place place = found->first;
  BlockRequest request = take_from_flight(found);
  // Its bios wait again, so that the next issue takes them whatever it is merged with meanwhile.
  for (RequestPart& part : request.parts) {
    const Place start{place.device, place.operation, part.sector.value};
    bios_.emplace(start, Bio{std::move(part), request.partition});
  }
  if (requeued_.size() < kMaximumInFlight) requeued_[place] = request.requeues + 1;
}

Result<void> Importer::give(BlockRequest request) {
  ++summary_.requests;
  return sink_.append(std::move(request));
}

Result<void> Importer::give_pending_bios() {
  std::vector<std::pair<Place, Bio>> pending(bios_.begin(), bios_.end());
  bios_.clear();
  std::stable_sort(pending.begin(), pending.end(),
                   [](const auto& a, const auto& b) { return a.second.part.queue < b.second.part.queue; });
  for (auto& [place, bio] : pending) {
    BlockRequest request;
    request.device = place.device;
    request.partition = bio.partition;
    request.operation = place.operation;
    request.flags = bio.part.flags;
    request.sector = bio.part.sector;
    request.bytes = bio.part.bytes;
    request.parts.push_back(std::move(bio.part));
    IOTAPE_TRY(give(std::move(request)));
  }
  return {};
}

Result<void> Importer::finish(const BlktraceStream& stream) {
  std::vector<BlockRequest> left;
  for (auto& [place, request] : in_flight_) left.push_back(std::move(request));
  std::stable_sort(left.begin(), left.end(), [](const auto& a, const auto& b) { return a.issue < b.issue; });
  for (BlockRequest& request : left) IOTAPE_TRY(give(std::move(request)));
  IOTAPE_TRY(give_pending_bios());
  if (const auto count = stream.damaged_stretches(); count > 0)
    IOTAPE_TRY(sink_.append(
        Loss{LossCause::kDamagedBlock, latest_, latest_, -1, count, "unreadable stretches in the blktrace file"}));
  if (const auto count = stream.torn_ends(); count > 0)
    IOTAPE_TRY(sink_.append(
        Loss{LossCause::kTruncatedFile, latest_, latest_, -1, count, "the blktrace file ends inside a record"}));
  return {};
}

}  // namespace

Result<BlktraceSummary> import_blktrace(const std::string& path, EventSink& sink) {
  IOTAPE_ASSIGN(const auto stream, BlktraceStream::open(path));
  Importer importer(sink);
  while (true) {
    IOTAPE_ASSIGN(const auto record, stream->next());
    if (!record) break;
    IOTAPE_TRY(importer.take(*record));
  }
  if (importer.summary().records == 0 && (stream->torn_ends() > 0 || stream->damaged_stretches() > 0))
    return failure(ErrorCode::kCorrupt, fmt::format("{} holds no blktrace record of version 7; is it compressed, or "
                                                    "the text output of blkparse?",
                                                    path));
  IOTAPE_TRY(importer.finish(*stream));
  return importer.summary();
}

Result<TraceHeader> blktrace_header(const std::string& path) {
  TraceHeader header;
  header.tool_version = IOTAPE_VERSION;
  header.clock = ClockKind::kMonotonic;
  header.has_block = true;
  if (path == "-") return header;  // a pipe can be read only once
  IOTAPE_ASSIGN(const auto stream, BlktraceStream::open(path));
  constexpr int kRecordsToLookAt = 4096;
  for (int i = 0; i < kRecordsToLookAt; ++i) {
    IOTAPE_ASSIGN(const auto record, stream->next());
    if (!record) break;
    if (i == 0) header.anchor_time = record->time;
    std::array<std::uint32_t, 2> wall{};
    if ((record->category & kBlktraceNotify) == 0 || record->payload.size() < sizeof(wall) ||
        static_cast<BlktraceNotice>(record->action) != BlktraceNotice::kTimestamp)
      continue;
    std::memcpy(wall.data(), record->payload.data(), sizeof(wall));
    if (record->swapped)
      for (auto& word : wall) word = __builtin_bswap32(word);
    const Nanoseconds now(wall[0] * kNanosecondsPerSecond + wall[1]);
    header.anchor_wall_ns = (now - (record->time - header.anchor_time)).value;
    break;
  }
  return header;
}

bool looks_like_blktrace(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<unsigned char, 4> bytes{};
  if (!file || ::read(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return false;
  std::uint32_t magic = 0;
  std::memcpy(&magic, bytes.data(), sizeof(magic));
  constexpr std::uint32_t kMagic = 0x65617407;
  return magic == kMagic || __builtin_bswap32(magic) == kMagic;
}

}  // namespace iotape
