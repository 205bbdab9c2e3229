#include "format/trace_reader.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "format/block_decoder.h"
#include "format/block_frame.h"
#include "format/compression.h"
#include "format/header_codec.h"
#include "format/input_file.h"

namespace iotape {
namespace {

// A window over a file or pipe that only moves forward.
class Input {
 public:
  explicit Input(FileDescriptor file) : file_(std::move(file)) {}

  // Makes at least `wanted` bytes visible unless the file ends before.
  Result<std::span<const std::uint8_t>> peek(std::size_t wanted) {
    while (end_ - begin_ < wanted && !ended_) IOTAPE_TRY(fill(wanted));
    return std::span<const std::uint8_t>(buffer_.data() + begin_, end_ - begin_);
  }
  void consume(std::size_t bytes) {
    begin_ += bytes;
    offset_ += bytes;
  }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  static constexpr std::size_t kChunk = 64U << 10U;

  Result<void> fill(std::size_t wanted) {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    // Grows with what has really arrived, not with what a length field claims.
    const std::size_t capacity = std::min(wanted, end_ + kChunk);
    if (buffer_.size() < std::max(capacity, kChunk)) buffer_.resize(std::max(capacity, kChunk));
    const ssize_t got = ::read(file_.get(), buffer_.data() + end_, buffer_.size() - end_);
    if (got < 0 && errno == EINTR) return {};
    if (got < 0) return system_failure("reading", errno);
    ended_ = got == 0;
    end_ += static_cast<std::size_t>(got);
    return {};
  }

  FileDescriptor file_;
  std::vector<std::uint8_t> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t offset_ = 0;
  bool ended_ = false;
};

}  // namespace

struct TraceReader::State {
  Input input;
  std::string name;
  ReaderOptions options;
  TraceHeader header;
  ReadReport report;
  Decompressor decompressor;
  BlockDecoder decoder;
  Event event;
  std::uint64_t next_event = 0;  // the id the next block should begin with
  std::uint64_t block_offset = 0;
  std::uint64_t block_bytes = 0;
  std::uint64_t block_end_event = 0;
  bool in_block = false;
  bool closed = false;  // the closing block was read
  bool found_block = false;

  State(FileDescriptor file, std::string n, ReaderOptions o) : input(std::move(file)), name(std::move(n)), options(o) {}

  void note_damage(std::uint64_t offset, std::uint64_t bytes, LossCause cause, std::string what) {
    ++report.damage_count;
    if (report.damage.size() < kMaximumDamageEntries) report.damage.push_back({offset, bytes, cause, std::move(what)});
  }
  void note_lost_events(std::uint64_t count) {
    report.losses[static_cast<std::size_t>(LossCause::kDamagedBlock)] += count;
  }

  // The next block header whose checksum holds; nullopt at the end of the file.
  Result<std::optional<BlockFrame>> find_block() {
    const std::uint64_t from = input.offset();
    for (;;) {
      IOTAPE_ASSIGN(const auto bytes, input.peek(kBlockHeaderBytes));
      if (auto frame = decode_block_frame(bytes)) {
        if (input.offset() > from)
          note_damage(from, input.offset() - from, LossCause::kDamagedBlock, "no valid block header");
        return frame;
      }
      if (bytes.size() < kBlockHeaderBytes) return note_tail(from, bytes);
      skip_to_candidate(bytes);
    }
  }

  std::optional<BlockFrame> note_tail(std::uint64_t from, std::span<const std::uint8_t> bytes) {
    input.consume(bytes.size());
    if (input.offset() > from)
      note_damage(from, input.offset() - from, LossCause::kTruncatedFile, "the file ends inside a block");
    return std::nullopt;
  }

  void skip_to_candidate(std::span<const std::uint8_t> bytes) {
    std::size_t skip = 1;
    while (skip + kBlockHeaderBytes <= bytes.size() && !looks_like_block(bytes.subspan(skip))) ++skip;
    input.consume(skip);
  }

  // Reads one block whole. False at the end of the file.
  Result<bool> next_block() {
    IOTAPE_ASSIGN(const std::optional<BlockFrame> frame, find_block());
    if (!frame) return report.interrupted = !closed, false;
    block_offset = input.offset();
    block_bytes = kBlockHeaderBytes + frame->payload_bytes;
    IOTAPE_ASSIGN(const auto bytes, input.peek(block_bytes));
    if (bytes.size() < block_bytes) {
      input.consume(bytes.size());
      note_damage(block_offset, bytes.size(), LossCause::kTruncatedFile, "the file ends inside a block");
      return report.interrupted = !closed, false;
    }
    IOTAPE_TRY(take_block(*frame, bytes.subspan(kBlockHeaderBytes, frame->payload_bytes)));
    input.consume(block_bytes);
    report.bytes = input.offset();
    return true;
  }

  Result<void> take_block(const BlockFrame& frame, std::span<const std::uint8_t> payload) {
    found_block = true;
    if (frame.kind != BlockKind::kHeader && frame.first_event > next_event)
      note_lost_events(frame.first_event - next_event);
    next_event = frame.first_event + frame.events;
    if (block_checksum(payload) != frame.payload_checksum)
      return note_bad_block(frame, "the payload's checksum does not match"), Result<void>{};
    auto body = decompressor.decompress(payload, frame.body_bytes);
    if (!body) return note_bad_block(frame, body.error().message), Result<void>{};
    ++report.blocks;
    report.seen = frame.seen;
    report.lost = frame.lost;
    return open_body(frame, *body);
  }

  void note_bad_block(const BlockFrame& frame, std::string what) {
    note_damage(block_offset, block_bytes, LossCause::kDamagedBlock, std::move(what));
    note_lost_events(frame.events);
  }

  Result<void> open_body(const BlockFrame& frame, std::span<const std::uint8_t> body) {
    switch (frame.kind) {
      case BlockKind::kHeader:
        return open_header(body);
      case BlockKind::kEvents:
        return open_events(frame, body);
      case BlockKind::kEnd:
        return open_end(frame, body);
    }
    return {};
  }

  Result<void> open_header(std::span<const std::uint8_t> body) {
    auto decoded = decode_header_body(body);
    if (!decoded) return tl::make_unexpected(std::move(decoded.error()).within(name));
    header = std::move(*decoded);
    return {};
  }

  Result<void> open_events(const BlockFrame& frame, std::span<const std::uint8_t> body) {
    auto opened = decoder.open(body, frame.first_event, {options.syscalls, options.requests});
    if (!opened) return note_bad_block(frame, opened.error().message), Result<void>{};
    block_end_event = frame.first_event + frame.events;
    in_block = true;
    return {};
  }

  Result<void> open_end(const BlockFrame& frame, std::span<const std::uint8_t> body) {
    auto totals = decode_totals_body(body);
    if (!totals) return note_bad_block(frame, totals.error().message), Result<void>{};
    report.totals = *totals;
    for (std::size_t cause = 0; cause < totals->losses.size(); ++cause)
      report.losses[cause] = std::max(report.losses[cause], totals->losses[cause]);
    closed = true;
    return {};
  }

  Result<bool> next_event_in_block() {
    auto got = decoder.next(event);
    if (got && *got) return true;
    in_block = false;
    if (got) return false;
    note_damage(block_offset, block_bytes, LossCause::kDamagedBlock, got.error().message);
    note_lost_events(block_end_event - std::min(block_end_event, event.id.value));
    return false;
  }

  void note_loss_event() {
    if (const auto* loss = std::get_if<Loss>(&event.body); loss != nullptr && !report.totals)
      report.losses[static_cast<std::size_t>(loss->cause)] += loss->count;
  }
};

TraceReader::TraceReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
TraceReader::~TraceReader() = default;

Result<std::unique_ptr<TraceReader>> TraceReader::open(const std::string& path, ReaderOptions options) {
  IOTAPE_ASSIGN(FileDescriptor file, open_input(path));
  return open(std::move(file), input_name(path), options);
}

Result<std::unique_ptr<TraceReader>> TraceReader::open(FileDescriptor file, std::string name, ReaderOptions options) {
  auto state = std::make_unique<State>(std::move(file), std::move(name), options);
  auto first = state->next_block();
  if (!first) return tl::make_unexpected(std::move(first.error()).within(state->name));
  if (!state->found_block)
    return failure(ErrorCode::kCorrupt,
                   fmt::format("{}: not an iotape trace, or nothing of it can be read", state->name));
  return std::unique_ptr<TraceReader>(new TraceReader(std::move(state)));
}

const TraceHeader& TraceReader::header() const { return state_->header; }
const ReadReport& TraceReader::report() const { return state_->report; }
const std::string& TraceReader::name() const { return state_->name; }

Result<Event*> TraceReader::next() {
  State& state = *state_;
  for (;;) {
    if (state.in_block) {
      IOTAPE_ASSIGN(const bool got, state.next_event_in_block());
      if (!got) continue;
      state.note_loss_event();
      return &state.event;
    }
    auto more = state.next_block();
    if (!more) return tl::make_unexpected(std::move(more.error()).within(state.name));
    if (!*more) return nullptr;
  }
}

}  // namespace iotape
