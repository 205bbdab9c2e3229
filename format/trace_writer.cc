#include "format/trace_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "format/base/write_all.h"
#include "format/block_encoder.h"
#include "format/block_frame.h"
#include "format/compression.h"
#include "format/header_codec.h"
#include "format/trace_limits.h"

namespace iotape {
namespace {

// Far below kMaximumBodyBytes: the columns of a block's events come on top.
constexpr std::size_t kMaximumWeight = 8U << 20U;
constexpr std::ptrdiff_t kMaximumPending = 16'384;

struct PendingEvent {
  Nanoseconds time;
  std::uint32_t recorder = 0;
  EventBody body;
};

// Events without a time of their own stay where they came, next to the one before them.
bool has_time(const EventBody& body) {
  return !std::holds_alternative<DeviceInfo>(body) && !std::holds_alternative<MountInfo>(body) &&
         !std::holds_alternative<Stack>(body);
}

}  // namespace

struct TraceWriter::State {
  FileDescriptor file;
  WriterOptions options;
  BlockEncoder encoder;
  Compressor compressor;
  std::vector<PendingEvent> pending;  // what may still be overtaken: the reorder window, kMaximumPending at most
  std::vector<std::uint8_t> block;
  Nanoseconds newest;       // of all events appended
  Nanoseconds block_first;  // of the open block
  Nanoseconds last_encoded;
  BlockFrame next;                       // sequence, first_event, seen and lost of the block to come
  std::atomic<std::uint64_t> bytes = 0;  // record --max-size looks on while its encoder writes
  std::uint64_t syscalls = 0;
  std::uint64_t requests = 0;
  std::uint64_t disordered = 0;

  State(FileDescriptor f, WriterOptions o)
      : file(std::move(f)), options(std::move(o)), encoder(options.resolution), compressor(options.zstd_level) {}

  Result<void> append(std::uint32_t recorder, EventBody&& body) {
    const Nanoseconds time = has_time(body) ? event_time(body) : newest;
    newest = std::max(newest, time);
    if (options.reorder_window.value <= 0) return encode(time, recorder, body);
    pending.push_back({time, recorder, std::move(body)});
    return std::ssize(pending) < kMaximumPending ? Result<void>{} : settle(options.reorder_window);
  }

  // Encodes the pending events that nothing can come before any more; when there are few of those, half of all: memory
  // is bounded, order is best effort and what breaks it is counted.
  Result<void> settle(Nanoseconds window) {
    sort_pending();
    const Nanoseconds horizon = newest - window;
    auto settled = std::partition_point(pending.begin(), pending.end(),
                                        [&](const PendingEvent& event) { return event.time <= horizon; });
    if (std::ssize(pending) >= kMaximumPending) settled = std::max(settled, pending.begin() + kMaximumPending / 2);
    for (auto event = pending.begin(); event != settled; ++event)
      IOTAPE_TRY(encode(event->time, event->recorder, event->body));
    pending.erase(pending.begin(), settled);
    return {};
  }

  // Events come almost in order, and moving them is what a sort costs: only those out of place are put back, unless
  // they are many.
  void sort_pending() {
    constexpr int kFewMoves = 256;
    const auto earlier = [](const PendingEvent& a, const PendingEvent& b) { return a.time < b.time; };
    int moves = 0;
    for (auto event = pending.begin(); event != pending.end(); ++event) {
      if (event == pending.begin() || !earlier(*event, *std::prev(event))) continue;
      if (++moves > kFewMoves) return std::stable_sort(pending.begin(), pending.end(), earlier);
      std::rotate(std::upper_bound(pending.begin(), event, *event, earlier), event, std::next(event));
    }
  }

  // A reader refuses what goes beyond, so as not to believe any length it is told.
  static Result<void> check_lengths(const EventBody& body) {
    if (const auto* request = std::get_if<BlockRequest>(&body);
        request != nullptr && request->parts.size() > kMaximumRequestParts)
      return failure(ErrorCode::kLimit,
                     fmt::format("a request of {} parts is more than the format allows", request->parts.size()));
    const auto* call = std::get_if<Syscall>(&body);
    if (call == nullptr) return {};
    const auto* read = std::get_if<Read>(&call->operation);
    const auto* write = std::get_if<Write>(&call->operation);
    const std::size_t segments = read != nullptr    ? read->segments.size()
                                 : write != nullptr ? write->segments.size()
                                                    : 0;
    if (segments > kMaximumCallSegments)
      return failure(ErrorCode::kLimit, fmt::format("a call of {} segments is more than the kernel allows", segments));
    return {};
  }

  Result<void> encode(Nanoseconds time, std::uint32_t recorder, EventBody& body) {
    IOTAPE_TRY(check_lengths(body));
    if (time < last_encoded) ++disordered;
    last_encoded = std::max(last_encoded, time);
    if (encoder.events() == 0) block_first = time;
    block_first = std::min(block_first, time);
    syscalls += std::holds_alternative<Syscall>(body) ? 1 : 0;
    requests += std::holds_alternative<BlockRequest>(body) ? 1 : 0;
    encoder.add(time, recorder, body);
    const bool full = encoder.events() >= options.block_events || encoder.weight() >= kMaximumWeight;
    return full ? write_open_block() : Result<void>{};
  }

  Result<void> write_open_block() {
    if (encoder.events() == 0) return {};
    BlockFrame frame = next;
    frame.kind = BlockKind::kEvents;
    frame.first_time = block_first;
    frame.last_time = last_encoded;
    frame.events = static_cast<std::uint32_t>(encoder.events());
    return write_block(frame, encoder.finish());
  }

  Result<void> write_block(BlockFrame frame, std::span<const std::uint8_t> body) {
    if (body.size() > kMaximumBodyBytes)
      return failure(ErrorCode::kLimit,
                     fmt::format("a block of {} bytes is larger than the format allows", body.size()));
    block.assign(kBlockHeaderBytes, 0);
    IOTAPE_TRY(compressor.compress(body, block));
    const std::span<const std::uint8_t> payload(block.data() + kBlockHeaderBytes, block.size() - kBlockHeaderBytes);
    frame.payload_bytes = static_cast<std::uint32_t>(payload.size());
    frame.body_bytes = static_cast<std::uint32_t>(body.size());
    frame.payload_checksum = block_checksum(payload);
    const BlockHeaderBytes header = encode_block_frame(frame);
    std::copy(header.begin(), header.end(), block.begin());
    const std::string_view text(reinterpret_cast<const char*>(block.data()), block.size());
    IOTAPE_TRY(write_all(file.get(), text, "writing " + options.name));
    bytes += block.size();
    ++next.sequence;
    next.first_event += frame.events;
    return {};
  }
};

TraceWriter::TraceWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
TraceWriter::~TraceWriter() = default;

Result<std::unique_ptr<TraceWriter>> TraceWriter::create(FileDescriptor file, TraceHeader header,
                                                         WriterOptions options) {
  options.block_events = std::clamp<std::size_t>(options.block_events, 1, kMaximumBlockEvents);
  if (options.resolution.value <= 0) return failure(ErrorCode::kUsage, "the time resolution must be positive");
  header.format_version = kFormatVersion;
  header.resolution = options.resolution;
  auto state = std::make_unique<State>(std::move(file), std::move(options));
  BlockFrame frame = state->next;
  frame.kind = BlockKind::kHeader;
  IOTAPE_TRY(state->write_block(frame, encode_header_body(header)));
  return std::unique_ptr<TraceWriter>(new TraceWriter(std::move(state)));
}

Result<void> TraceWriter::append(EventBody body) { return state_->append(0, std::move(body)); }

Result<void> TraceWriter::append_from(std::uint32_t recorder, EventBody body) {
  return state_->append(recorder, std::move(body));
}

void TraceWriter::set_counts(std::uint64_t seen, std::uint64_t lost) {
  state_->next.seen = seen;
  state_->next.lost = lost;
}

Result<void> TraceWriter::flush() {
  IOTAPE_TRY(state_->settle(state_->options.reorder_window));
  return state_->write_open_block();
}

Result<void> TraceWriter::flush_everything() {
  IOTAPE_TRY(state_->settle(Nanoseconds{}));
  return state_->write_open_block();
}

Result<void> TraceWriter::finish(TraceTotals totals) {
  State& state = *state_;
  IOTAPE_TRY(flush_everything());
  totals.syscalls = state.syscalls;
  totals.requests = state.requests;
  totals.written = state.syscalls + state.requests;
  set_counts(totals.seen, totals.lost());
  BlockFrame frame = state.next;
  frame.kind = BlockKind::kEnd;
  frame.first_time = frame.last_time = state.last_encoded;
  return state.write_block(frame, encode_totals_body(totals));
}

std::uint64_t TraceWriter::bytes_written() const { return state_->bytes; }
std::uint64_t TraceWriter::events_written() const { return state_->next.first_event; }
std::uint64_t TraceWriter::disordered() const { return state_->disordered; }

}  // namespace iotape
