#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "format/call_formatter.h"
#include "format/enum_names.h"
#include "format/event_fields.h"
#include "format/event_printer.h"
#include "format/json_fields.h"
#include "format/name_tracker.h"
#include "format/quoting.h"
#include "format/symbols.h"

namespace iotape {
namespace {

auto at_end(std::string& out) { return std::back_inserter(out); }

// seconds.fraction with that many digits; times before the epoch keep their sign.
void append_seconds(std::string& out, std::int64_t ns, int digits) {
  const bool negative = ns < 0;
  const std::uint64_t magnitude =
      negative ? std::uint64_t{0} - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  std::uint64_t fraction = magnitude % kNanosecondsPerSecond;
  constexpr int kDigits = 9;
  for (int i = digits; i < kDigits; ++i) fraction /= 10;
  fmt::format_to(at_end(out), "{}{}.{:0{}}", negative ? "-" : "", magnitude / kNanosecondsPerSecond, fraction, digits);
}

// As many digits as the trace's resolution fills, but never less than strace's six.
int digits_of(Nanoseconds resolution) {
  int digits = 9;
  for (std::int64_t step = 10; step <= resolution.value && digits > 6; step *= 10) --digits;
  return digits;
}

// key=value for each field that holds something: how events without a form of their own are written.
struct KeyValues {
  std::string& out;
  const CallFormatter& calls;

  void key(std::string_view name) const { fmt::format_to(at_end(out), " {}=", name); }

  void append(const std::string& bytes) const {
    out += '"';
    append_c_escaped(out, bytes);
    out += '"';
  }
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void append(Number number) const { fmt::format_to(at_end(out), "{}", number); }
  template <typename Tag, typename Rep>
  void append(const StrongId<Tag, Rep>& id) const {
    append(id.value);
  }
  template <typename Tag, typename Rep>
  void append(const Quantity<Tag, Rep>& quantity) const {
    append(quantity.value);
  }
  void append(DeviceId device) const {
    fmt::format_to(at_end(out), "{},{}", device.major_number(), device.minor_number());
  }
  template <NamedEnum E>
  void append(E value) const {
    out += enum_name(value);
  }
  void append(const FileReference& file) const { calls.append_file(out, file); }
  void append(const Descriptor& descriptor) const {
    append(descriptor.number);
    append(descriptor.file);
  }
  void append(const Text& text) const {
    if (text.state == TextState::kPresent)
      append(text.bytes);
    else
      append(text.state);
  }
  void append(const Location& location) const {
    append(location.path);
    if (location.deleted) out += "(deleted)";
  }
  template <typename A, typename B>
  void append(const std::pair<A, B>& values) const {
    append(values.first);
    out += '=';
    append(values.second);
  }
  template <typename Items>
  requires requires(const Items& items) { items.begin() != items.end(); }
  void append(const Items& items) const {
    const char* separator = "[";
    for (const auto& item : items) {
      out += separator;
      append(item);
      separator = ", ";
    }
    out += items.begin() == items.end() ? "[]" : "]";
  }

  template <typename T>
  void operator()(std::string_view name, const T& value) const {
    // The line begins with the time and the thread.
    if (name == "time_ns" || name == "pid" || name == "tid") return;
    // Zero is a value; nothing is not.
    if constexpr (requires { value.empty(); })
      if (value.empty()) return;
    if constexpr (std::is_same_v<T, FileReference> || std::is_same_v<T, bool> || std::is_same_v<T, Text>)
      if (value == T{}) return;
    key(name);
    append(value);
  }
  template <typename T>
  void operator()(std::string_view name, const std::optional<T>& value) const {
    if (!value) return;
    key(name);
    append(*value);
  }
};

class TextPrinter final : public EventPrinter {
 public:
  explicit TextPrinter(TextOptions options) : options_(options) {}

  void begin(std::string&, const TraceHeader& header) override {
    digits_ = digits_of(header.resolution);
    origin_ = header.anchor_time;
    wall_offset_ = header.anchor_wall_ns == 0 || options_.clock == TextClock::kTrace
                       ? 0
                       : static_cast<std::int64_t>(static_cast<std::uint64_t>(header.anchor_wall_ns) -
                                                   static_cast<std::uint64_t>(header.anchor_time.value));
  }

  void observe(const Event& event) override {
    names_.observe(event.body);
    if (const auto* stack = std::get_if<Stack>(&event.body)) stacks_.insert_or_assign(stack->id.value, stack->frames);
  }

  void print(std::string& out, const Event& event) override {
    std::visit([&](const auto& body) { print_body(out, body); }, event.body);
  }

  void end(std::string&, const ReadReport&) override {}

 private:
  void append_time(std::string& out, Nanoseconds time) const {
    append_seconds(
        out,
        static_cast<std::int64_t>(static_cast<std::uint64_t>(time.value) + static_cast<std::uint64_t>(wall_offset_)),
        digits_);
  }

  void lead(std::string& out, ThreadKey thread, Nanoseconds time) const {
    fmt::format_to(at_end(out), "{:<5} ", thread.thread.value);
    append_time(out, time);
    out += ' ';
  }

  void print_body(std::string& out, const Syscall& call) {
    lead(out, call.thread, call.start);
    calls_.append_name(out, call);
    out += '(';
    calls_.append_arguments(out, call);
    out += call.unfinished ? " <unfinished ...>) = " : ") = ";
    calls_.append_result(out, call);
    out += " <";
    append_seconds(out, call.duration.value, digits_);
    out += '>';
    append_replay(out, call);
    append_stack(out, "user", call.user_stack);
    append_stack(out, "kernel", call.kernel_stack);
    out += '\n';
  }

  void append_replay(std::string& out, const Syscall& call) const {
    if (!call.replay) return;
    const ReplayRecord& replay = *call.replay;
    fmt::format_to(at_end(out), " /* replays={}", replay.source.value);
    if (replay.skipped != SkipReason::kIssued) fmt::format_to(at_end(out), " skipped={}", enum_name(replay.skipped));
    if (replay.skipped == SkipReason::kIssued && replay.expected != call.outcome)
      fmt::format_to(
          at_end(out), " expected={}",
          replay.expected.ok() ? std::to_string(replay.expected.value) : errno_name(replay.expected.error_number));
    if (replay.skipped == SkipReason::kIssued) {
      out += " late=";
      append_seconds(out, (call.start - replay.due).value, digits_);
    }
    out += " */";
  }

  // Frames below the call, as strace -k has them; a number when the stack itself was lost.
  void append_stack(std::string& out, std::string_view which, std::optional<StackId> id) const {
    if (!id) return;
    const auto found = stacks_.find(id->value);
    if (found == stacks_.end())
      return void(fmt::format_to(at_end(out), "\n > {} stack {} is missing", which, id->value));
    for (const std::string& frame : found->second) {
      out += "\n > ";
      append_c_escaped(out, frame);
    }
  }

  // One line of a request: device, cpu (not kept), sequence, time since the beginning, pid, action, RWBS, extent.
  void block_line(std::string& out, const BlockRequest& request, Nanoseconds time, ThreadKey thread, char action,
                  std::string_view letters, Sectors sector, std::int64_t bytes) {
    fmt::format_to(at_end(out), "{:>3},{:<3} - {:>8} ", request.device.major_number(), request.device.minor_number(),
                   ++sequence_[request.device]);
    const std::size_t start = out.size();
    append_seconds(out, (time - origin_).value, 9);
    if (const std::size_t width = out.size() - start; width < 15) out.insert(start, 15 - width, ' ');
    fmt::format_to(at_end(out), " {:>5} {:>2} {:>3} ", thread.thread.value, action, letters);
    constexpr std::int64_t kSectorBytes = 512;
    if (bytes > 0) fmt::format_to(at_end(out), "{} + {} ", sector.value, bytes / kSectorBytes);
    append_actor(out, request, thread, action);
    out += '\n';
  }

  void append_actor(std::string& out, const BlockRequest& request, ThreadKey thread, char action) const {
    if (action == 'C') return void(fmt::format_to(at_end(out), "[{}]", request.error));
    const std::string_view command = names_.command(thread);
    out += '[';
    append_c_escaped(out, command.empty() ? "?" : command, "[]");
    out += ']';
  }

  void append_part_origin(std::string& out, const RequestPart& part) const {
    if (part.cause != BlockCause::kUnknown) fmt::format_to(at_end(out), " cause={}", enum_name(part.cause));
    if (part.file.known()) {
      out += " file=";
      calls_.append_file(out, part.file);
    }
    if (part.file_offset >= 0) fmt::format_to(at_end(out), " offset={}", part.file_offset);
    if (part.dirtier == ThreadKey{}) return;
    fmt::format_to(at_end(out), " dirtier={}", part.dirtier.thread.value);
    if (const auto command = names_.command(part.dirtier); !command.empty()) {
      out += '[';
      append_c_escaped(out, command, "[]");
      out += ']';
    }
  }

  void print_body(std::string& out, const BlockRequest& request) {
    const ThreadKey thread = request.parts.empty() ? ThreadKey{} : request.parts.front().submitter;
    for (const RequestPart& part : request.parts) {
      block_line(out, request, part.queue, part.submitter, 'Q', rwbs(request.operation, part.flags), part.sector,
                 part.bytes);
      out.pop_back();
      append_part_origin(out, part);
      out += '\n';
    }
    const std::string letters = rwbs(request.operation, request.flags);
    if (request.issue) block_line(out, request, *request.issue, thread, 'D', letters, request.sector, request.bytes);
    if (request.requeues > 0) {
      out.pop_back();
      fmt::format_to(at_end(out), " requeues={}\n", request.requeues);
    }
    if (request.complete)
      block_line(out, request, *request.complete, thread, 'C', letters, request.sector, request.bytes);
  }

  void print_body(std::string& out, const ProcessExit& exit) {
    if (!exit.whole_process) return print_generic(out, exit, exit.thread, exit.time);
    lead(out, exit.thread, exit.time);
    if (WIFSIGNALED(exit.status))
      fmt::format_to(at_end(out), "+++ killed by {}{} +++\n", signal_name(WTERMSIG(exit.status)),
                     WCOREDUMP(exit.status) ? " (core dumped)" : "");
    else
      fmt::format_to(at_end(out), "+++ exited with {} +++\n", WEXITSTATUS(exit.status));
  }

  template <typename Body>
  void print_body(std::string& out, const Body& body) {
    if constexpr (requires { body.thread; })
      print_generic(out, body, body.thread, body.time);
    else if constexpr (requires { body.time; })
      print_generic(out, body, {}, body.time);
    else if constexpr (std::is_same_v<Body, Loss>)
      print_generic(out, body, {}, body.last);
    else
      print_generic(out, body, {}, origin_);
  }

  // A line in the manner of strace's signal lines.
  template <typename Body>
  void print_generic(std::string& out, const Body& body, ThreadKey thread, Nanoseconds time) {
    lead(out, thread, time);
    fmt::format_to(at_end(out), "--- {}", snake_case(type_name<Body>()));
    describe(body, KeyValues{out, calls_});
    out += " ---\n";
  }

  TextOptions options_;
  int digits_ = 6;
  Nanoseconds origin_;
  std::int64_t wall_offset_ = 0;
  NameTracker names_;
  CallFormatter calls_{names_};
  std::unordered_map<DeviceId, std::uint64_t> sequence_;
  std::unordered_map<std::uint32_t, std::vector<std::string>> stacks_;
};

}  // namespace

std::unique_ptr<EventPrinter> make_text_printer(TextOptions options) { return std::make_unique<TextPrinter>(options); }

}  // namespace iotape
