#include "tests/fuzz/fuzz_inputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "format/base/units.h"
#include "format/blktrace_importer.h"
#include "format/block_frame.h"
#include "format/compression.h"
#include "format/event_printer.h"
#include "format/foreign_file.h"
#include "format/header_codec.h"
#include "format/json_fields.h"
#include "format/quoting.h"
#include "format/trace_reader.h"
#include "format/trace_writer.h"

namespace iotape::fuzz {
namespace {

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

FileDescriptor in_memory(std::string_view bytes) {
  FileDescriptor file(::memfd_create("input", MFD_CLOEXEC));
  if (!file || ::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

void print_everything(TraceReader& trace) {
  const std::array<std::unique_ptr<EventPrinter>, 3> printers{make_text_printer({}), make_json_printer(),
                                                              make_csv_printer()};
  std::string out;
  for (const auto& printer : printers) printer->begin(out, trace.header());
  while (true) {
    const auto event = trace.next();
    if (!event || *event == nullptr) break;
    for (const auto& printer : printers) {
      out.clear();
      printer->observe(**event);
      printer->print(out, **event);
    }
  }
  for (const auto& printer : printers) printer->end(out, trace.report());
}

void read_file_of(std::string_view bytes) {
  const auto trace = TraceReader::open(in_memory(bytes), "input");
  if (trace) print_everything(**trace);
}

std::vector<EventBody> events_of(std::string_view bytes) {
  std::vector<EventBody> events;
  const auto trace = TraceReader::open(in_memory(bytes), "input");
  while (trace) {
    const auto event = (*trace)->next();
    if (!event || *event == nullptr) break;
    events.push_back((*event)->body);
  }
  return events;
}

std::string written(const std::vector<EventBody>& events) {
  FileDescriptor file = in_memory("");
  const std::string path = fmt::format("/proc/self/fd/{}", file.get());
  FileDescriptor reading(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  WriterOptions options;
  options.resolution = Nanoseconds(1);
  auto writer = TraceWriter::create(std::move(file), {}, options);
  if (!writer) std::abort();
  for (const EventBody& event : events)
    if (!(*writer)->append(event)) std::abort();
  if (!(*writer)->finish({})) std::abort();
  std::string bytes((*writer)->bytes_written(), 0);
  if (::pread(reading.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
  return bytes;
}

std::string as_json(const std::vector<EventBody>& events) {
  std::string out;
  for (const EventBody& event : events) append_json(out, Event{EventId(0), 0, event});
  return out;
}

std::string framed(BlockKind kind, std::uint64_t sequence, Bytes body, std::uint32_t events) {
  Compressor compressor(1);
  std::vector<std::uint8_t> payload;
  if (!compressor.compress(body, payload)) return {};
  BlockFrame frame;
  frame.sequence = sequence;
  frame.kind = kind;
  frame.events = events;
  frame.body_bytes = static_cast<std::uint32_t>(body.size());
  frame.payload_bytes = static_cast<std::uint32_t>(payload.size());
  frame.payload_checksum = block_checksum(payload);
  const BlockHeaderBytes header = encode_block_frame(frame);
  std::string block(reinterpret_cast<const char*>(header.data()), header.size());
  return block.append(reinterpret_cast<const char*>(payload.data()), payload.size());
}

}  // namespace

void read_trace(Bytes bytes) { read_file_of(text_of(bytes)); }

std::string trace_of_body(Bytes body, std::uint32_t events) {
  const auto header = encode_header_body(TraceHeader{});
  return framed(BlockKind::kHeader, 0, header, 0) + framed(BlockKind::kEvents, 1, body, events);
}

void read_block_body(Bytes bytes) {
  if (bytes.empty()) return;
  // The first byte chooses how many events the block header claims.
  const std::string trace = trace_of_body(bytes.subspan(1), bytes[0]);
  read_file_of(trace);
  const std::vector<EventBody> decoded = events_of(trace);
  if (as_json(events_of(written(decoded))) != as_json(decoded)) std::abort();
}

void read_blktrace(Bytes bytes) {
  const FileDescriptor file = in_memory(text_of(bytes));
  const std::string path = fmt::format("/proc/self/fd/{}", file.get());
  (void)looks_like_blktrace(path);
  (void)blktrace_header(path);
  auto writer = TraceWriter::create(in_memory(""), {}, {});
  if (!writer) std::abort();
  if (import_blktrace(path, **writer) && !(*writer)->finish({})) std::abort();
}

void read_json_line(Bytes bytes) {
  const auto parsed = parse_json_line(text_of(bytes));
  if (!parsed) return;
  const auto* event = std::get_if<Event>(&parsed->content);
  if (event == nullptr) return;
  std::string once;
  append_json(once, *event);
  const auto again = parse_json_line(once);
  if (!again) std::abort();
  std::string twice;
  append_json(twice, std::get<Event>(again->content));
  if (once != twice) std::abort();
}

void read_words(Bytes bytes) {
  const std::string_view text = text_of(bytes);
  (void)parse_size(text);
  (void)parse_duration(text);
  (void)parse_speed(text);
  (void)recognise_foreign(text, "a file");
  std::string escaped;
  append_c_escaped(escaped, text);
  std::string json;
  append_json_bytes(json, text);
  if (from_hex(to_hex(text)) != std::string(text)) std::abort();
}

}  // namespace iotape::fuzz
