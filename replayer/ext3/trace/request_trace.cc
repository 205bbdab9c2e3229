#include "replayer/ext3/trace/request_trace.h"

#include <unistd.h>

#include <chrono>

#include "format/machine_facts.h"
#include "format/trace_files.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint32_t kDrainEvery = 512;  // requests
constexpr auto kFlushEvery = std::chrono::seconds(1);
constexpr Nanoseconds kDisorder{100'000'000};    // of completions of several threads
constexpr std::size_t kMostThreads = 1U << 16U;  // whose process is known

RequestContext context_of(const RequestTraceOptions& options) {
  const auto submitter = [asks = options.submitter]() -> std::pair<ThreadKey, std::optional<Nanoseconds>> {
    const auto thread = static_cast<std::int32_t>(asks ? asks() : 0);
    return {{ProcessId(thread), ThreadId(thread)}, std::nullopt};
  };
  const auto generation = [knows = options.generation](InodeNumber inode) { return knows ? knows(inode) : 0U; };
  return {&boot_time, submitter, generation};
}

}  // namespace

RequestTrace::RequestTrace(BlockDevice& below, RequestTraceOptions options)
    : below_(below), options_(std::move(options)), traced_(below, kTracedDevice, context_of(options_)) {}

Result<std::unique_ptr<RequestTrace>> RequestTrace::create(BlockDevice& below, RequestTraceOptions options) {
  std::unique_ptr<RequestTrace> trace(new RequestTrace(below, std::move(options)));  // lint: allowed
  TraceHeader header = header_of_now();
  header.has_block = true;
  header.cache = CacheCondition::kCold;
  header.history.push_back({trace->options_.command, IOTAPE_VERSION});
  WriterOptions writing;
  writing.name = trace->options_.path;
  writing.reorder_window = kDisorder;
  IOTAPE_ASSIGN(auto file, create_output(trace->options_.path, trace->options_.force));
  auto begun = TraceWriter::create(std::move(file), std::move(header), writing).and_then([&](auto writer) {
    trace->writer_ = std::move(writer);
    return trace->describe();
  });
  if (!begun) {
    remove_output(trace->options_.path);
    return tl::make_unexpected(std::move(begun).error());
  }
  trace->note_process({ProcessId(::getpid()), ThreadId(::getpid())}, "iotape");
  trace->keeper_ = std::jthread([kept = trace.get()](const std::stop_token& end) { kept->keep_up(end); });
  return trace;
}

Result<void> RequestTrace::describe() {
  DeviceInfo device;
  device.device = device.whole_disk = kTracedDevice;
  device.name = "ext3";
  device.size = Sectors(static_cast<std::int64_t>(below_.size() / 512));
  IOTAPE_TRY(writer_->append(device));
  IOTAPE_TRY(writer_->append(
      Marker{boot_time(), "requests are as the built-in ext3 issued them, before the machine's cache and elevator"}));
  return writer_->flush();
}

RequestTrace::~RequestTrace() {
  keeper_ = {};
  const std::lock_guard held(mutex_);
  if (writer_ == nullptr) return;
  drain();
  if (written_) (void)writer_->flush_everything();  // it reads as interrupted, and holds what was asked
}

void RequestTrace::append(EventBody event) {
  if (written_ && writer_ != nullptr) written_ = writer_->append(std::move(event));
}

void RequestTrace::attribute(ThreadKey& thread) const {
  if (const auto known = processes_.find(thread.thread.value); known != processes_.end())
    thread.process = ProcessId(known->second);
}

void RequestTrace::drain() {
  undrained_ = 0;
  for (BlockRequest& request : traced_.take()) {
    for (RequestPart& part : request.parts) {
      attribute(part.submitter);
      attribute(part.dirtier);
    }
    ++requests_;
    append(std::move(request));
  }
}

Answer<void> RequestTrace::served(Answer<void> answer) {
  const std::lock_guard held(mutex_);
  if (++undrained_ >= kDrainEvery) drain();
  return answer;
}

void RequestTrace::keep_up(const std::stop_token& end) {
  std::unique_lock held(mutex_);
  while (!pause_.wait_for(held, end, kFlushEvery, [&end] { return end.stop_requested(); })) {
    // Nothing that came a second ago may still be overtaken.
    const bool quiet = undrained_ == 0;
    drain();
    if (written_) written_ = quiet ? writer_->flush_everything() : writer_->flush();
  }
}

void RequestTrace::note_mount(MountInfo mount) {
  mount.device = mount.block_device = kTracedDevice;
  const std::lock_guard held(mutex_);
  append(std::move(mount));
}

void RequestTrace::note_process(ThreadKey thread, const std::string& command) {
  const std::lock_guard held(mutex_);
  const bool fresh = !processes_.contains(thread.thread.value);
  if (processes_.size() >= kMostThreads) processes_.clear();
  processes_[thread.thread.value] = thread.process.value;
  if (fresh)
    append(ProcessStart{boot_time(), thread, {}, 0, true, command});
  else
    append(ProcessExec{boot_time(), thread, command, {}, {}});
}

Result<void> RequestTrace::finish() {
  keeper_ = {};
  const std::lock_guard held(mutex_);
  drain();
  TraceTotals totals;
  totals.seen = requests_;
  totals.end = boot_time();
  totals.workload_status = -1;
  if (written_) written_ = writer_->finish(totals);
  writer_ = nullptr;
  return std::exchange(written_, {});
}

Answer<void> RequestTrace::read(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) {
  return served(traced_.read(offset, parts, reason));
}

Answer<void> RequestTrace::write(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) {
  return served(traced_.write(offset, parts, reason));
}

// As one request, which the device below may do without writing.
Answer<void> RequestTrace::write_zeros(std::uint64_t offset, std::uint64_t bytes, const BlockTag& tag) {
  BlockRequest request;
  request.device = request.partition = kTracedDevice;
  request.operation = BlockOperation::kWriteZeroes;
  request.sector = Sectors(static_cast<std::int64_t>(offset / 512));
  request.bytes = static_cast<std::int64_t>(bytes);
  request.issue = boot_time();
  RequestPart part;
  part.queue = *request.issue;
  part.sector = request.sector;
  part.bytes = request.bytes;
  part.cause = tag.cause;
  request.parts.push_back(part);
  const auto answer = below_.write_zeros(offset, bytes, tag);
  request.complete = boot_time();
  if (!answer) request.error = answer.error().value;
  const std::lock_guard held(mutex_);
  ++requests_;
  append(std::move(request));
  return answer;
}

Answer<void> RequestTrace::flush() { return served(traced_.flush()); }

}  // namespace iotape::ext3
