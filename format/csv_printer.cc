#include <fmt/format.h>

#include <array>
#include <iterator>

#include "format/call_formatter.h"
#include "format/enum_names.h"
#include "format/event_printer.h"
#include "format/name_tracker.h"
#include "format/quoting.h"
#include "format/symbols.h"

namespace iotape {
namespace {

// The columns, in order. Part of the published output: append only.
enum Column : std::uint8_t {
  kId,
  kRecorder,
  kEvent,
  kTime,
  kStart,
  kDuration,
  kBlocked,
  kPid,
  kTid,
  kComm,
  kName,
  kReturn,
  kErrno,
  kDevice,
  kSector,
  kBytes,
  kFlags,
  kParts,
  kDetails,
  kColumnCount,
};
constexpr std::array<std::string_view, kColumnCount> kColumnNames{
    "id",   "recorder", "event", "time_ns", "start_ns", "duration_ns", "blocked_ns", "pid",   "tid",    "comm",
    "name", "return",   "errno", "device",  "sector",   "bytes",       "flags",      "parts", "details"};

std::string number(std::int64_t value) { return std::to_string(value); }

class CsvPrinter final : public EventPrinter {
 public:
  void begin(std::string& out, const TraceHeader&) override {
    for (std::size_t i = 0; i < kColumnNames.size(); ++i) {
      if (i > 0) out += ',';
      out += kColumnNames[i];
    }
    out += '\n';
  }

  void observe(const Event& event) override { names_.observe(event.body); }

  void print(std::string& out, const Event& event) override {
    for (std::string& field : row_) field.clear();
    row_[kId] = std::to_string(event.id.value);
    row_[kRecorder] = std::to_string(event.recorder);
    row_[kEvent] = event_kind_name(event.body);
    row_[kTime] = number(event_time(event.body).value);
    std::visit([&](const auto& body) { fill(body); }, event.body);
    for (std::size_t i = 0; i < row_.size(); ++i) {
      if (i > 0) out += ',';
      append_csv_field(out, row_[i]);
    }
    out += '\n';
  }

  void end(std::string&, const ReadReport&) override {}

 private:
  void fill_thread(ThreadKey thread) {
    row_[kPid] = number(thread.process.value);
    row_[kTid] = number(thread.thread.value);
    append_c_escaped(row_[kComm], names_.command(thread));
  }

  void fill(const Syscall& call) {
    fill_thread(call.thread);
    row_[kStart] = number(call.start.value);
    row_[kDuration] = number(call.duration.value);
    row_[kBlocked] = number(call.blocked.value);
    calls_.append_name(row_[kName], call);
    calls_.append_arguments(row_[kDetails], call);
    if (call.unfinished) return;
    row_[kReturn] = number(call.outcome.value);
    row_[kErrno] = call.outcome.ok() ? "0" : errno_name(call.outcome.error_number);
  }

  void fill(const BlockRequest& request) {
    if (!request.parts.empty()) fill_thread(request.parts.front().submitter);
    if (request.issue) row_[kStart] = number(request.issue->value);
    if (request.issue && request.complete) row_[kDuration] = number((*request.complete - *request.issue).value);
    row_[kName] = enum_name(request.operation);
    if (request.complete) row_[kErrno] = request.error == 0 ? "0" : errno_name(request.error);
    row_[kDevice] = fmt::format("{}:{}", request.device.major_number(), request.device.minor_number());
    row_[kSector] = number(request.sector.value);
    row_[kBytes] = number(request.bytes);
    row_[kFlags] = rwbs(request.operation, request.flags);
    row_[kParts] = std::to_string(request.parts.size());
  }

  void fill(const Loss& loss) {
    row_[kName] = enum_name(loss.cause);
    row_[kStart] = number(loss.first.value);
    row_[kReturn] = std::to_string(loss.count);
    append_c_escaped(row_[kDetails], loss.detail);
  }

  template <typename Body>
  void fill(const Body& body) {
    if constexpr (requires { body.thread; }) fill_thread(body.thread);
    if constexpr (requires { body.command; }) append_c_escaped(row_[kName], body.command);
    if constexpr (requires { body.text; }) append_c_escaped(row_[kName], body.text);
    if constexpr (requires { body.path; }) append_c_escaped(row_[kDetails], body.path);
    if constexpr (requires { body.mount_point; }) append_c_escaped(row_[kDetails], body.mount_point);
    if constexpr (requires { body.name; }) append_c_escaped(row_[kName], body.name);
    if constexpr (requires { body.status; }) row_[kReturn] = number(body.status);
    if constexpr (requires { body.working_directory; }) append_c_escaped(row_[kDetails], body.working_directory.path);
    if constexpr (requires { body.device; })
      row_[kDevice] = fmt::format("{}:{}", body.device.major_number(), body.device.minor_number());
  }

  NameTracker names_;
  CallFormatter calls_{names_};
  std::array<std::string, kColumnCount> row_;
};

}  // namespace

std::unique_ptr<EventPrinter> make_csv_printer() { return std::make_unique<CsvPrinter>(); }

}  // namespace iotape
