// Turns the events of a trace into text, JSON lines or CSV, one event at a time. Printers append to a string, never
// write; the command flushes it. FORMAT.md describes the three outputs.
#pragma once

#include <memory>
#include <string>

#include "format/event.h"
#include "format/trace_header.h"
#include "format/trace_reader.h"

namespace iotape {

class EventPrinter {
 public:
  EventPrinter() = default;
  EventPrinter(const EventPrinter&) = delete;
  EventPrinter& operator=(const EventPrinter&) = delete;
  virtual ~EventPrinter() = default;

  virtual void begin(std::string& out, const TraceHeader& header) = 0;
  // Called for every event of the trace in order, also those that are not printed: names of processes and files are
  // learned from them. Before print() of the same event.
  virtual void observe(const Event& event) = 0;
  virtual void print(std::string& out, const Event& event) = 0;
  // After the last event.
  virtual void end(std::string& out, const ReadReport& report) = 0;
};

enum class TextClock : std::uint8_t { kWall, kTrace };

struct TextOptions {
  TextClock clock = TextClock::kWall;  // kWall falls back to the trace's clock when it has no wall-clock anchor
};

// Calls as strace -f -y -ttt -T writes them, requests as blkparse does.
[[nodiscard]] std::unique_ptr<EventPrinter> make_text_printer(TextOptions options);
// One JSON object per line, first the header, last the totals.
[[nodiscard]] std::unique_ptr<EventPrinter> make_json_printer();
// A header line and one line per event.
[[nodiscard]] std::unique_ptr<EventPrinter> make_csv_printer();

}  // namespace iotape
