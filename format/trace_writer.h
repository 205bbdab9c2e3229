// TraceWriter: events in, a trace file out. FORMAT.md specifies the bytes.
//
// Memory is bounded: the columns of one open block and at most 16,384 events that wait for others to come before them.
// A block is written by one write(2), so a killed writer leaves whole blocks and at most one torn one at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "format/base/file_descriptor.h"
#include "format/base/result.h"
#include "format/event_sink.h"
#include "format/trace_header.h"

namespace iotape {

inline constexpr std::size_t kMaximumBlockEvents = 65'536;

struct WriterOptions {
  std::size_t block_events = kMaximumBlockEvents;  // 1..kMaximumBlockEvents
  Nanoseconds resolution{100};                     // times are rounded down to multiples of this
  int zstd_level = 5;
  // Events may arrive this much later than their place in time order (as long as no more than 16,384 events lie
  // between); what comes later still is counted by TraceWriter::disordered and written where it came. 0: they come in
  // order.
  Nanoseconds reorder_window{0};
  std::string name = "the trace";  // what errors call the file
};

class TraceWriter final : public EventSink {
 public:
  // Writes the header block at once. The descriptor is owned; it may be a pipe. header.resolution is set from options.
  static Result<std::unique_ptr<TraceWriter>> create(FileDescriptor file, TraceHeader header, WriterOptions options);
  ~TraceWriter() override;

  Result<void> append(EventBody body) override;

  // For merge and recover: the event keeps its recorder number.
  Result<void> append_from(std::uint32_t recorder, EventBody body);

  // Cumulative counts of the kernel side, carried in every following block header so that a cut file knows its losses.
  void set_counts(std::uint64_t seen, std::uint64_t lost);

  // Writes everything older than the reorder window as a block, even a small one. For recorders: at least once a
  // second.
  Result<void> flush();
  // The same with what is inside the window too: the last thing before a file is left without its closing block, which
  // then reads as interrupted and has all that was appended.
  Result<void> flush_everything();

  // Writes what is left and the closing block. totals.written, syscalls and requests are filled in by the writer.
  // Without finish() a file reads as "interrupted".
  Result<void> finish(TraceTotals totals);

  [[nodiscard]] std::uint64_t bytes_written() const;   // may be asked while another thread writes
  [[nodiscard]] std::uint64_t events_written() const;  // all events in blocks written so far
  [[nodiscard]] std::uint64_t disordered() const;

 private:
  struct State;
  explicit TraceWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace iotape
