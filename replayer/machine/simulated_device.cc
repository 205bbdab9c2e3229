#include "replayer/machine/simulated_device.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

namespace iotape::machine {
namespace {

constexpr std::int64_t kSector = 512;

std::int64_t sectors_of(const ext3::IoPart& part) { return part.bytes / kSector; }

}  // namespace

// A request whose submitter stands and waits.
class SimulatedDevice::Waited final : public ext3::IoRequest {
 public:
  struct Outcome {
    bool ended = false;
    ext3::Answer<void> answer;
  };
  Waited(ext3::FiberHost& host, Outcome& outcome) : host_(host), outcome_(outcome) {}
  void ended(ext3::Answer<void> answer) override {
    outcome_.ended = true;
    outcome_.answer = answer;
    host_.wake(&outcome_);
  }

 private:
  ext3::FiberHost& host_;
  Outcome& outcome_;
};

SimulatedDevice::SimulatedDevice(ext3::BlockDevice& below, ext3::FiberHost& host, SimulatedDeviceOptions options,
                                 ext3::RequestContext context)
    : below_(below),
      host_(host),
      options_(std::move(options)),
      context_(std::move(context)),
      model_(options_.disk),
      epoch_(host.now()),
      queue_(options_.elevator, options_.disk.largest_request),
      head_(options_.position.value) {}

SimulatedDevice::~SimulatedDevice() = default;

void SimulatedDevice::power_cycle() {
  state_ = DiskState{};
  epoch_ = host_.now();
  head_ = options_.position.value;
}

// ---- submitting ----

ext3::Answer<void> SimulatedDevice::transfer_and_wait(bool write, std::uint64_t offset,
                                                      std::span<const ext3::IoPart> parts, ext3::IoReason reason) {
  Waited::Outcome outcome;
  auto request = std::make_unique<Waited>(host_, outcome);
  request->write = write;
  request->offset = offset;
  request->parts.assign(parts.begin(), parts.end());
  request->reason = reason;
  submit(std::move(request));
  while (!outcome.ended) host_.wait(&outcome);
  return outcome.answer;
}

ext3::Answer<void> SimulatedDevice::read(std::uint64_t offset, std::span<const ext3::IoPart> parts,
                                         ext3::IoReason reason) {
  return timed_ ? transfer_and_wait(false, offset, parts, reason) : below_.read(offset, parts, reason);
}

ext3::Answer<void> SimulatedDevice::write(std::uint64_t offset, std::span<const ext3::IoPart> parts,
                                          ext3::IoReason reason) {
  return timed_ ? transfer_and_wait(true, offset, parts, reason) : below_.write(offset, parts, reason);
}

void SimulatedDevice::submit(std::unique_ptr<ext3::IoRequest> request) {
  if (!timed_ || request->parts.empty()) return carry_out(std::move(request));
  auto io = std::make_shared<SubmittedIo>();
  io->queued = host_.now();
  std::tie(io->submitter, io->call_start) = context_.submitter();
  io->request = std::move(request);
  enqueue(io);
}

// Cuts it into pieces that a request can hold.
void SimulatedDevice::enqueue(const std::shared_ptr<SubmittedIo>& io) {
  const ext3::IoRequest& request = *io->request;
  std::int64_t sector = options_.position.value + static_cast<std::int64_t>(request.offset) / kSector;
  const auto parts = static_cast<std::uint32_t>(request.parts.size());
  io->pieces = 1;  // held until all are queued: some may end while this waits for room
  for (std::uint32_t first = 0; first < parts;) {
    QueuedPiece piece{io, sector, first, 0};
    std::int64_t length = 0;
    do {
      length += sectors_of(request.parts[first]);
      ++piece.part_count;
      ++first;
    } while (first < parts && length + sectors_of(request.parts[first]) <= queue_.largest());
    while (queue_.count() >= options_.queue_limit) {
      ++waiting_for_room_;
      host_.wait(&waiting_for_room_);
      --waiting_for_room_;
    }
    ++io->pieces;
    queue_.add(std::move(piece), length, request.write, host_.now());
    host_.wake(&queue_);
    sector += length;
  }
  end(*io);
}

struct SimulatedDevice::Flush {
  bool ended = false;
};

ext3::Answer<void> SimulatedDevice::flush() {
  if (!timed_) return below_.flush();
  Flush flush;
  flushes_.push_back(&flush);
  host_.wake(&queue_);
  while (!flush.ended) host_.wait(&flush);
  return below_.flush();
}

// ---- the disk ----

Nanoseconds SimulatedDevice::spend(const DiskRequest& request) {
  const RequestCost cost = model_.serve(state_, request);
  const Nanoseconds end = epoch_ + cost.end();
  busy_ += end - host_.now();
  host_.sleep_until(end);
  return end;
}

void SimulatedDevice::run_disk() {
  while (true) {
    if (!flushes_.empty()) {
      serve_flush();
      continue;
    }
    fill_disk();
    if (!held_.empty()) {
      serve(choose());
    } else if (ends_ && waiting_for_room_ == 0) {
      break;
    } else {
      host_.wait(&queue_);
    }
  }
  timed_ = false;
}

void SimulatedDevice::end_disk() {
  ends_ = true;
  host_.wake(&queue_);
}

void SimulatedDevice::fill_disk() {
  while (std::cmp_less(held_.size(), model_.profile().queue_depth)) {
    auto request = queue_.next(head_, host_.now());
    if (!request) return;
    head_ = request->end();
    held_.push_back({std::move(request), host_.now()});
    if (waiting_for_room_ != 0) host_.wake(&waiting_for_room_);
  }
}

// The one the platter is ready for soonest; one that has waited too long goes before.
SimulatedDevice::Held SimulatedDevice::choose() {
  constexpr Nanoseconds kLongestWait{500'000'000};
  std::size_t best = 0;
  if (held_.size() > 1 && held_.front().issue + kLongestWait > host_.now()) {
    const auto reach = [&](const Held& held) {
      return model_.positioning(state_, host_.now() - epoch_, Sectors(held.request->start));
    };
    best = static_cast<std::size_t>(std::ranges::min_element(held_, {}, reach) - held_.begin());
  }
  Held chosen = std::move(held_[best]);
  held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(best));
  return chosen;
}

void SimulatedDevice::serve(const Held& held) {
  const QueuedRequest& request = *held.request;
  DiskRequest command;
  command.time = host_.now() - epoch_;
  command.start = Sectors(request.start);
  command.length = Sectors(request.length);
  command.action = request.write ? DiskAction::kWrite : DiskAction::kRead;
  spend(command);
  remember(request, held.issue);
  for (const QueuedPiece& piece : request.pieces) end(*piece.io);
}

void SimulatedDevice::serve_flush() {
  Flush& flush = *flushes_.front();
  flushes_.pop_front();
  BlockRequest told;
  told.device = options_.whole_disk;
  told.partition = options_.partition;
  told.operation = BlockOperation::kFlush;
  told.flags = kBlockPreflush;
  told.issue = host_.now();
  told.complete = spend({host_.now() - epoch_, {}, {}, DiskAction::kFlush, false});
  ended_.push_back(std::move(told));
  flush.ended = true;
  host_.wake(&flush);
}

void SimulatedDevice::remember(const QueuedRequest& request, Nanoseconds issue) {
  BlockRequest told;
  told.device = options_.whole_disk;
  told.partition = options_.partition;
  told.operation = request.write ? BlockOperation::kWrite : BlockOperation::kRead;
  told.sector = Sectors(request.start);
  told.bytes = request.length * kSector;
  told.issue = issue;
  told.complete = host_.now();
  for (const QueuedPiece& piece : request.pieces) {
    const SubmittedIo& io = *piece.io;
    const auto parts = std::span(io.request->parts).subspan(piece.first_part, piece.part_count);
    const std::uint32_t flags = ext3::request_flags(request.write, parts, io.request->reason);
    if (told.parts.empty()) told.flags = flags;
    ext3::append_parts(told, parts, Sectors(piece.sector),
                       {options_.partition, io.queued, flags, io.submitter, io.call_start}, context_);
  }
  ended_.push_back(std::move(told));
}

void SimulatedDevice::end(SubmittedIo& io) {
  if (--io.pieces == 0) carry_out(std::move(io.request));
}

void SimulatedDevice::carry_out(std::unique_ptr<ext3::IoRequest> request) {
  ext3::BlockDevice& below = below_;
  request->ended(request->write ? below.write(request->offset, request->parts, request->reason)
                                : below.read(request->offset, request->parts, request->reason));
}

}  // namespace iotape::machine
