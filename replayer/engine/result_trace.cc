#include "replayer/engine/result_trace.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <ctime>

#include "format/machine_facts.h"

namespace iotape {
namespace {

constexpr Nanoseconds kDrainEvery{50'000'000};
constexpr Nanoseconds kFlushEvery{1'000'000'000};

// A replay in virtual time is the same every time, so its id is too.
std::array<std::uint8_t, 16> make_trace_id(const TraceHeader& source, ClockKind clock, const std::string& target) {
  std::array<std::uint8_t, 16> id = source.trace_id;
  if (clock != ClockKind::kVirtual) {
    if (::getrandom(id.data(), id.size(), 0) < 0) id = source.trace_id;
    return id;
  }
  std::size_t at = 0;
  for (const char letter : target) {
    id[at % id.size()] = static_cast<std::uint8_t>(id[at % id.size()] * 31U + static_cast<std::uint8_t>(letter));
    ++at;
  }
  return id;
}

// Of a simulated machine nothing of this one is said.
void describe_machine_of(const TargetFacts& facts, TraceHeader& header) {
  if (facts.machine) {
    header.cpus = facts.machine->cpus;
    header.memory_bytes = facts.machine->memory;
    header.anchor_wall_ns = header.anchor_time.value;  // the virtual clock counts from 1970
    return;
  }
  describe_machine(header);
}

TraceHeader make_header(const TraceHeader& source, const Target& target, const ResultOptions& options,
                        bool has_requests) {
  const TargetFacts facts = target.facts();
  TraceHeader header;
  header.tool_version = IOTAPE_VERSION;
  header.trace_id = make_trace_id(source, facts.clock, facts.description);
  header.clock = facts.clock;
  header.anchor_time = target.now();
  if (facts.clock == ClockKind::kBootTime) {
    timespec wall{};
    ::clock_gettime(CLOCK_REALTIME, &wall);
    header.anchor_wall_ns = wall.tv_sec * 1'000'000'000 + wall.tv_nsec;
  }
  header.has_syscalls = true;
  header.has_block = has_requests;
  header.cache = options.cold ? CacheCondition::kCold : CacheCondition::kAsFound;
  describe_machine_of(facts, header);
  header.target = facts.description;
  header.source_id = source.trace_id;
  header.source_command = source.source_command;
  header.history = source.history;
  header.history.push_back({options.command, IOTAPE_VERSION});
  return header;
}

// The event at the replay's time of it; false for events that do not belong into the result.
struct Retime {
  Nanoseconds now;
  bool operator()(Syscall&) const { return true; }
  bool operator()(BlockRequest&) const { return false; }  // of the recorded machine's disk
  bool operator()(DeviceInfo&) const { return false; }
  bool operator()(Stack&) const { return false; }
  bool operator()(MountInfo&) const { return true; }  // what the recorded paths mean
  bool operator()(Loss& loss) const {
    loss.first = loss.last = now;
    loss.detail = loss.detail.empty() ? "in the recording" : "in the recording: " + loss.detail;
    return true;
  }
  template <typename Timed>
  bool operator()(Timed& event) const {
    event.time = now;
    return true;
  }
};

}  // namespace

ResultTrace::ResultTrace(std::unique_ptr<TraceWriter> writer, Target& target, std::unique_ptr<SelfRecorder> recorder)
    : writer_(std::move(writer)), target_(target), recorder_(std::move(recorder)) {
  last_drain_ = last_flush_ = target.now();
}

Result<std::unique_ptr<ResultTrace>> ResultTrace::create(FileDescriptor file, const TraceHeader& source, Target& target,
                                                         const ResultOptions& options,
                                                         std::unique_ptr<SelfRecorder> recorder) {
  const auto device = target.facts().device;
  if (!device) recorder = nullptr;
  if (recorder) IOTAPE_TRY(recorder->start(*device, ProcessId(::getpid())));
  WriterOptions writing;
  writing.name = options.file_name;
  if (recorder || options.calls_overlap) writing.reorder_window = kDrainDelay;
  IOTAPE_ASSIGN(auto writer, TraceWriter::create(std::move(file),
                                                 make_header(source, target, options, recorder != nullptr), writing));
  std::unique_ptr<ResultTrace> made(new ResultTrace(std::move(writer), target, std::move(recorder)));  // lint: allowed
  IOTAPE_ASSIGN(made->space_before_, target.space_used());
  for (const std::string& text : options.notes) IOTAPE_TRY(made->note(text));
  for (const std::string& text : target.facts().notes) IOTAPE_TRY(made->note(text));
  return made;
}

Result<void> ResultTrace::note(const std::string& text) {
  return writer_->append(Marker{target_.now(), std::string(kReplayNote) + text});
}

Result<void> ResultTrace::keep_up(Nanoseconds now) {
  if (recorder_ && now - last_drain_ > kDrainEvery) {
    last_drain_ = now;
    IOTAPE_TRY(recorder_->drain(*writer_));
  }
  if (now - last_flush_ > kFlushEvery) {
    last_flush_ = now;
    IOTAPE_TRY(writer_->flush());
  }
  return {};
}

Result<void> ResultTrace::call(Syscall& call) {
  ++calls_;
  call.user_stack.reset();  // stacks of the recorded run are not this one's
  call.kernel_stack.reset();
  const Nanoseconds end = call.start + call.duration;
  IOTAPE_TRY(writer_->append(std::move(call)));
  return keep_up(end);
}

Result<void> ResultTrace::other(EventBody& event, Nanoseconds now) {
  if (!std::visit(Retime{now}, event)) return {};
  IOTAPE_TRY(writer_->append(std::move(event)));
  return keep_up(now);
}

Result<void> ResultTrace::break_off() {
  IOTAPE_TRY(note("stopped before the end of the trace"));
  if (recorder_) {
    IOTAPE_ASSIGN(const SelfRecorderTotals own, recorder_->stop(*writer_));
    static_cast<void>(own);
  }
  return writer_->flush_everything();
}

Result<void> ResultTrace::finish(const ReplayReport& report, const LossCounts& source_losses) {
  if (report.mismatches + report.unsupported > 0)
    IOTAPE_TRY(note(fmt::format("{} calls ended otherwise than recorded, {} more are not supported by the target",
                                report.mismatches, report.unsupported)));
  TraceTotals totals;
  totals.seen = calls_;
  totals.losses = source_losses;
  if (recorder_) {
    IOTAPE_ASSIGN(const SelfRecorderTotals own, recorder_->stop(*writer_));
    totals.seen += own.seen;
    totals.recorder_cpu = own.recorder_cpu;
    for (std::size_t cause = 0; cause < own.losses.size(); ++cause) totals.losses[cause] += own.losses[cause];
  }
  // What the recording lost was seen then: without it the identity seen == written + lost would not hold.
  for (std::size_t cause = 0; cause < source_losses.size(); ++cause)
    if (counts_as_lost(static_cast<LossCause>(cause))) totals.seen += source_losses[cause];
  totals.end = target_.now();
  totals.workload_status = -1;
  totals.own_calls = report.housekeeping;
  totals.space_before = space_before_;
  IOTAPE_ASSIGN(totals.space_after, target_.space_used());
  return writer_->finish(totals);
}

}  // namespace iotape
