#include "recorder/recording.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "recorder/block_records.h"
#include "recorder/byte_queue.h"
#include "recorder/calibration.h"
#include "recorder/call_stacks.h"
#include "recorder/device_facts.h"
#include "recorder/record_router.h"

namespace iotape {
namespace {

using namespace std::chrono_literals;

constexpr auto kDrainInterval = 5ms;
constexpr auto kCheckpointInterval = 900ms;
constexpr std::size_t kChunkLimit = 4U << 20U;
constexpr std::size_t kQueueLimit = 64U << 20U;

std::int64_t clock_now(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * kNanosecondsPerSecond + time.tv_nsec;
}

Nanoseconds cpu_used() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto in_ns = [](const timeval& time) { return time.tv_sec * kNanosecondsPerSecond + time.tv_usec * 1000; };
  return Nanoseconds(in_ns(used.ru_utime) + in_ns(used.ru_stime));
}

// Sums of what the kernel side counted since `base`.
struct Counted {
  std::uint64_t seen = 0;
  LossCounts losses{};
  std::uint64_t own_calls = 0;
  std::uint64_t own_requests = 0;
  std::uint64_t uring = 0;
  std::uint64_t aio = 0;
  std::uint64_t other_lost = 0;
};

constexpr std::size_t kCauses = std::min<std::size_t>(kLossCauseCount, WIRE_LOSS_CAUSES);
static_assert(static_cast<int>(LossCause::kRingFull) == WIRE_LOSS_RING_FULL);
static_assert(static_cast<int>(LossCause::kOrphanExit) == WIRE_LOSS_ORPHAN_EXIT);
static_assert(static_cast<int>(LossCause::kTaskStorage) == WIRE_LOSS_TASK_STORAGE);
static_assert(static_cast<int>(LossCause::kRequestMap) == WIRE_LOSS_REQUEST_MAP);
static_assert(static_cast<int>(LossCause::kNotCaptured) == WIRE_LOSS_NOT_CAPTURED);
static_assert(static_cast<int>(LossCause::kPartMap) == WIRE_LOSS_PART_MAP);

Counted sum_of(const std::vector<wire_counters>& cpus, const std::vector<wire_counters>& base) {
  Counted sum;
  for (std::size_t cpu = 0; cpu < cpus.size(); ++cpu) {
    const wire_counters none{};
    const wire_counters& now = cpus[cpu];
    const wire_counters& then = cpu < base.size() ? base[cpu] : none;
    sum.seen += now.seen - then.seen;
    sum.own_calls += now.own_calls - then.own_calls;
    sum.own_requests += now.own_requests - then.own_requests;
    sum.uring += now.uring_calls - then.uring_calls;
    sum.aio += now.aio_calls - then.aio_calls;
    sum.other_lost += now.other_lost - then.other_lost;
    for (std::size_t cause = 0; cause < kCauses; ++cause)
      sum.losses[cause] += now.losses[cause].count - then.losses[cause].count;
  }
  return sum;
}

std::uint64_t memory_of_machine() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// "6.18.44-fc-v669" -> "6.18": enough to read a trace by, nothing of the machine.
std::string kernel_series() {
  utsname names{};
  ::uname(&names);
  const std::string release = names.release;
  const std::size_t dot = release.find('.');
  return release.substr(0, release.find_first_not_of("0123456789", dot == std::string::npos ? 0 : dot + 1));
}

// On a machine with more work than processors a recorder that waits its turn loses events. Where it may, its threads
// go first; they need little. Without the privilege nothing changes.
void go_first() {
  constexpr int kAhead = -15;
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kAhead);
}

}  // namespace

struct Recording::State {
  ProbeOptions options;
  std::unique_ptr<Probe> probe;
  RecordHandler* handler = nullptr;
  RecordingSink* sink = nullptr;
  std::optional<BlockRecords> block;
  std::optional<CallStacks> stacks;
  std::optional<RecordRouter> router;
  ByteQueue queue{kQueueLimit};
  std::vector<wire_counters> base;      // before the first followed thread
  std::vector<wire_counters> reported;  // losses already told
  Nanoseconds last_report;
  Nanoseconds calibrated;
  std::thread drainer;
  std::thread encoder;
  std::atomic<bool> stopping = false;
  mutable std::mutex failure_mutex;
  std::optional<Error> failure;
  std::atomic<bool> failed = false;
  std::uint64_t calls_and_requests_lost_to_sink = 0;
  Counted final_counts;

  // Counts what passes to the sink; after the sink failed, what does not.
  struct CountingSink final : EventSink {
    State& state;
    std::uint64_t syscalls = 0;
    std::uint64_t requests = 0;
    explicit CountingSink(State& owner) : state(owner) {}
    Result<void> append(EventBody body) override;
  };
  CountingSink counting{*this};

  void fail(Error error);
  void drain_once();
  void drain_loop();
  void encode_loop();
  void encode_chunk(const ByteQueue::Chunk& chunk);
  void await_requests() const;
  void report_uncaptured(std::size_t cpu, const wire_counters& now);
  void report_losses();
  // Known only when a request is put together: the kernel side had to count it as seen.
  [[nodiscard]] std::uint64_t own_requests() const { return block ? block->counts().own_requests : 0; }
  [[nodiscard]] std::uint64_t malformed() const {
    return router->malformed() + (block ? block->malformed() + block->counts().refused_requests : 0);
  }
  void checkpoint();
  [[nodiscard]] std::uint64_t lost_so_far(const Counted& counted) const;
  Result<void> calibrate();
  Result<void> discard_ring();
  Result<void> follow(std::int32_t thread, bool armed) { return probe->trace_thread(thread, armed); }
};

void Recording::State::fail(Error error) {
  const std::lock_guard lock(failure_mutex);
  if (!failure) failure = std::move(error);
  failed = true;
}

Result<void> Recording::State::CountingSink::append(EventBody body) {
  const bool call = std::holds_alternative<Syscall>(body);
  const bool request = std::holds_alternative<BlockRequest>(body);
  if (!state.failed)
    if (auto done = state.sink->append(std::move(body)); !done) state.fail(std::move(done).error());
  if (state.failed) {
    state.calls_and_requests_lost_to_sink += call || request ? 1 : 0;
    return {};
  }
  syscalls += call ? 1 : 0;
  requests += request ? 1 : 0;
  return {};
}

// Takes one chunk out of the ring if the queue has room for it.
void Recording::State::drain_once() {
  ByteQueue::Chunk chunk = queue.reuse();
  const Probe::Receiver receive = [&](std::span<const std::byte> record) {
    constexpr std::size_t kAlignment = 8;
    chunk.insert(chunk.end(), record.begin(), record.end());
    chunk.resize((chunk.size() + kAlignment - 1) / kAlignment * kAlignment);
  };
  if (auto taken = probe->drain(receive, kChunkLimit); !taken) fail(std::move(taken).error());
  if (!chunk.empty())
    queue.push(std::move(chunk));
  else
    queue.give_back(std::move(chunk));
}

void Recording::State::drain_loop() {
  go_first();
  while (!stopping) {
    if (queue.has_room()) drain_once();
    std::this_thread::sleep_for(kDrainInterval);
  }
}

void Recording::State::encode_chunk(const ByteQueue::Chunk& chunk) {
  constexpr std::size_t kAlignment = 8;
  for (std::size_t at = 0; at + sizeof(wire_head) <= chunk.size();) {
    wire_head head;
    std::memcpy(&head, chunk.data() + at, sizeof head);
    const std::size_t size = head.size;
    if (size < sizeof head || size > chunk.size() - at) return;  // cannot happen: the ring gave whole records
    if (auto done = router->route({chunk.data() + at, size}); !done) fail(std::move(done).error());
    at += (size + kAlignment - 1) / kAlignment * kAlignment;
  }
}

// A command that does not wait for its writes leaves requests under way. The disk is given time to answer them, a
// bounded one: a device may hang. A disk that says it has nothing under way has answered, and will not do so again: the
// kernel may have kept an end from us, see decisions/20261130-ends-not-shown.md.
void Recording::State::await_requests() const {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPatience = 3s;
  constexpr auto kPatienceWithIdleDisks = 50ms;
  if (!options.block) return;
  probe->close_requests();
  const auto began = Clock::now();
  auto busy = began;
  while (probe->any_request_under_way()) {
    const std::vector<wire_request> open = probe->requests_under_way();
    if (std::any_of(open.begin(), open.end(),
                    [](const wire_request& request) { return has_requests_under_way(DeviceId(request.disk)); }))
      busy = Clock::now();
    if (Clock::now() - began >= kPatience || Clock::now() - busy >= kPatienceWithIdleDisks) return;
    std::this_thread::sleep_for(1ms);
  }
}

// Operations that went past the system calls, since the last look. The kernel side keeps no time of them: the check
// points they lie between are told instead.
void Recording::State::report_uncaptured(std::size_t cpu, const wire_counters& now) {
  struct Way {
    std::uint64_t count;
    const char* name;
  };
  const wire_counters& before = reported[cpu];
  const Way ways[] = {{now.uring_calls - before.uring_calls, "io_uring"}, {now.aio_calls - before.aio_calls, "AIO"}};
  const Nanoseconds here(clock_now(CLOCK_BOOTTIME));
  for (const Way& way : ways)
    if (way.count != 0)
      (void)counting.append(
          Loss{LossCause::kNotCaptured, last_report, here, static_cast<std::int32_t>(cpu), way.count, way.name});
}

void Recording::State::report_losses() {
  const std::vector<wire_counters> now = probe->counters();
  probe->next_loss_epoch();
  for (std::size_t cpu = 0; cpu < now.size(); ++cpu) {
    report_uncaptured(cpu, now[cpu]);
    for (std::size_t cause = 0; cause < kCauses; ++cause) {
      const wire_loss& loss = now[cpu].losses[cause];
      const std::uint64_t count = loss.count - reported[cpu].losses[cause].count;
      if (count == 0) continue;
      (void)counting.append(Loss{static_cast<LossCause>(cause),
                                 Nanoseconds(static_cast<std::int64_t>(loss.first)),
                                 Nanoseconds(static_cast<std::int64_t>(loss.last)),
                                 static_cast<std::int32_t>(cpu),
                                 count,
                                 {}});
    }
  }
  last_report = Nanoseconds(clock_now(CLOCK_BOOTTIME));
  reported = now;
}

std::uint64_t Recording::State::lost_so_far(const Counted& counted) const {
  std::uint64_t lost = calls_and_requests_lost_to_sink + malformed();
  for (std::size_t cause = 0; cause < kCauses; ++cause)
    if (counts_as_lost(static_cast<LossCause>(cause))) lost += counted.losses[cause];
  return lost;
}

void Recording::State::checkpoint() {
  report_losses();
  if (failed) return;
  const Counted counted = sum_of(probe->counters(), base);
  if (auto done = sink->checkpoint(counted.seen - own_requests(), lost_so_far(counted)); !done)
    fail(std::move(done).error());
}

void Recording::State::encode_loop() {
  go_first();
  auto due = std::chrono::steady_clock::now() + kCheckpointInterval;
  while (!queue.finished()) {
    if (auto chunk = queue.pop(100ms)) {
      encode_chunk(*chunk);
      queue.give_back(std::move(*chunk));
    }
    if (std::chrono::steady_clock::now() < due) continue;
    checkpoint();
    due = std::chrono::steady_clock::now() + kCheckpointInterval;
  }
}

Result<void> Recording::State::discard_ring() {
  const Probe::Receiver ignore = [](std::span<const std::byte>) {};
  IOTAPE_ASSIGN(const std::size_t taken, probe->drain(ignore, static_cast<std::size_t>(-1)));
  (void)taken;
  return {};
}

Result<void> Recording::State::calibrate() {
  if (!options.calls) return probe->attach();
  IOTAPE_ASSIGN(auto calibration, Calibration::start());
  IOTAPE_TRY(probe->attach());
  IOTAPE_TRY(follow(calibration.child().value, true));
  IOTAPE_ASSIGN(calibrated, calibration.finish());
  return {};
}

Recording::Recording(std::unique_ptr<State> state) : state_(std::move(state)) {}

Recording::~Recording() {
  state_->stopping = true;
  if (state_->drainer.joinable()) state_->drainer.join();
  state_->queue.close();
  if (state_->encoder.joinable()) state_->encoder.join();
}

Result<std::unique_ptr<Recording>> Recording::prepare(const ProbeOptions& options, RecordHandler* handler) {
  auto state = std::make_unique<State>();
  state->options = options;
  state->handler = handler;
  IOTAPE_ASSIGN(state->probe, Probe::load(options));
  IOTAPE_TRY(state->calibrate());
  IOTAPE_TRY(state->discard_ring());
  state->base = state->probe->counters();
  state->reported = state->base;
  return std::unique_ptr<Recording>(new Recording(std::move(state)));
}

void Recording::describe(TraceHeader& header) const {
  header.tool_version = IOTAPE_VERSION;
  header.clock = ClockKind::kBootTime;
  header.anchor_time = Nanoseconds(clock_now(CLOCK_BOOTTIME));
  header.anchor_wall_ns = clock_now(CLOCK_REALTIME);
  header.has_syscalls = state_->options.calls;
  header.has_block = state_->options.block;
  header.ring_bytes = state_->probe->ring_bytes();
  header.calibrated_cost = state_->calibrated;
  header.cpus = static_cast<std::uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  header.memory_bytes = memory_of_machine();
  header.kernel = kernel_series();
  header.missing_hooks = state_->probe->missing_hooks();
  std::ifstream random("/dev/urandom", std::ios::binary);
  random.read(reinterpret_cast<char*>(header.trace_id.data()), static_cast<std::streamsize>(header.trace_id.size()));
}

Result<void> Recording::follow_command(ProcessId child) { return state_->follow(child.value, false); }
Result<void> Recording::follow_thread(ThreadId thread) { return state_->follow(thread.value, true); }

// A thread that is marked marks its children itself, so once a pass finds nobody new, nobody can be missed.
Result<void> Recording::follow_process(ProcessId process) {
  const std::string place = fmt::format("/proc/{}/task", process.value);
  std::set<std::int32_t> marked;
  for (bool found_new = true; found_new;) {
    found_new = false;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator(place, gone)) {
      const std::string name = entry.path().filename();
      std::int32_t thread = 0;
      std::from_chars(name.data(), name.data() + name.size(), thread);
      if (!marked.insert(thread).second) continue;
      found_new = true;
      IOTAPE_TRY(state_->follow(thread, true));
    }
  }
  if (marked.empty()) return iotape::failure(ErrorCode::kNotFound, fmt::format("no process {}", process.value));
  return {};
}

Result<void> Recording::begin(RecordingSink& sink) {
  state_->sink = &sink;
  State* const state = state_.get();
  if (state->options.block && state->handler == nullptr)
    state->handler = &state->block.emplace([state] { return state->probe->requests_under_way(); });
  if (state->options.stacks_failed || state->options.stacks_slower_than != 0)
    state->stacks.emplace(
        stacks_of_maps(state->probe->map_descriptor("user_stacks"), state->probe->map_descriptor("kernel_stacks")));
  state->router.emplace(state->counting, state->handler, state->stacks ? &*state->stacks : nullptr);
  IOTAPE_TRY(state_->probe->snapshot());
  state_->drainer = std::thread([state] { state->drain_loop(); });
  state_->encoder = std::thread([state] { state->encode_loop(); });
  return {};
}

Result<TraceTotals> Recording::stop() {
  State& state = *state_;
  state.await_requests();
  state.probe->detach();
  IOTAPE_TRY(state.probe->emit_unfinished());
  state.stopping = true;
  state.drainer.join();
  for (int chunk = 0; chunk < 1 << 16 && state.probe->pending() > 0; ++chunk) {
    while (!state.queue.has_room()) std::this_thread::sleep_for(1ms);
    state.drain_once();
  }
  state.queue.close();
  state.encoder.join();
  if (auto done = state.router->finish(); !done) state.fail(std::move(done).error());
  state.checkpoint();
  state.final_counts = sum_of(state.probe->counters(), state.base);
  TraceTotals totals;
  totals.seen = state.final_counts.seen - state.own_requests();
  totals.syscalls = state.counting.syscalls;
  totals.requests = state.counting.requests;
  totals.written = totals.syscalls + totals.requests;
  totals.losses = state.final_counts.losses;
  totals.losses[static_cast<std::size_t>(LossCause::kDiskFull)] += state.calls_and_requests_lost_to_sink;
  totals.losses[static_cast<std::size_t>(LossCause::kMalformedRecord)] += state.malformed();
  if (state.block) totals.losses[static_cast<std::size_t>(LossCause::kPartMap)] += state.block->counts().lost_parts;
  totals.losses[static_cast<std::size_t>(LossCause::kNotCaptured)] += state.final_counts.uring + state.final_counts.aio;
  totals.end = Nanoseconds(clock_now(CLOCK_BOOTTIME));
  totals.recorder_cpu = cpu_used();
  totals.workload_status = -1;
  totals.own_calls = state.final_counts.own_calls;
  totals.own_requests = state.final_counts.own_requests + state.own_requests();
  return totals;
}

std::optional<Error> Recording::failure() const {
  const std::lock_guard lock(state_->failure_mutex);
  return state_->failure;
}

std::uint64_t Recording::uncaptured_uring() const { return state_->final_counts.uring; }
std::uint64_t Recording::uncaptured_aio() const { return state_->final_counts.aio; }

}  // namespace iotape
