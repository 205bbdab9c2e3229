#include "replayer/target/sandboxed_target.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "format/base/units.h"
#include "replayer/target/confined_run.h"
#include "replayer/target/directory_entries.h"
#include "replayer/target/host_clock.h"
#include "replayer/target/operation_codec.h"
#include "replayer/target/tree_builder.h"
#include "replayer/target/worker.h"

namespace iotape {
namespace {

constexpr Nanoseconds kCheckInterval{100'000'000};  // how often a waiting engine looks whether its worker still lives

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  return ::getrandom(&seed, sizeof(seed), 0) == sizeof(seed) ? seed : static_cast<std::uint64_t>(host_now().value);
}

}  // namespace

SandboxedTarget::SandboxedTarget(std::unique_ptr<TargetPlace> place, const TargetOptions& options,
                                 BlockLimits block_limits)
    : place_(std::move(place)),
      options_(options),
      policy_{options.keep, ::geteuid(), ::getegid()},
      block_limits_(block_limits) {}

SandboxedTarget::~SandboxedTarget() { worker_.kill(); }

TargetFacts SandboxedTarget::facts() const { return place_->facts(); }
Nanoseconds SandboxedTarget::now() const { return host_now(); }

Result<void> SandboxedTarget::prepare(const InitialTree& tree, const PrepareProgress& progress) {
  if (options_.tree != TreePolicy::kPrepare) return {};
  const std::uint64_t needed = tree_bytes(tree);
  const std::uint64_t available = place_->space().available();
  if (needed > available)
    return failure(ErrorCode::kLimit,
                   fmt::format("the initial tree needs {}, the target has {} beyond its reserve (see reserve=, size=)",
                               format_size(needed), format_size(available)));
  const std::uint64_t seed = random_seed();
  IOTAPE_TRY(run_confined(
      place_->sandbox(),
      [&](std::atomic<std::uint64_t>& done) { return build_tree(tree, options_.fill, seed, policy_, done); }, progress,
      options_.stop));
  return place_->settle();
}

Result<void> SandboxedTarget::make_cold() {
  if (!slots_.empty()) return failure(ErrorCode::kUsage, "caches are dropped while no thread lives");
  // A worker of earlier threads holds files and the mount; the next thread starts another.
  if (worker_.running()) IOTAPE_TRY(finish(true));
  space_at_end_.reset();
  return place_->make_cold();
}

Result<void> SandboxedTarget::ensure_worker() {
  if (worker_.running()) return {};
  IOTAPE_ASSIGN(channel_, Channel::make());
  in_flight_.resize(kThreadSlots);
  free_slots_.clear();
  for (std::uint32_t i = kThreadSlots; i > 0; --i) free_slots_.push_back(i - 1);
  const WorkerPlan plan{place_->sandbox(), options_.fill, random_seed(), block_limits_};
  IOTAPE_ASSIGN(worker_, ChildProcess::start([&] { return run_worker(*channel_, plan); }));
  constexpr auto kStarting = static_cast<std::uint32_t>(WorkerState::kStarting);
  std::uint32_t state = kStarting;
  while (state == kStarting) {
    state = channel_->state().wait_while(kStarting, Nanoseconds(0), kCheckInterval);
    if (state == kStarting) IOTAPE_TRY(check_worker());
  }
  if (state == static_cast<std::uint32_t>(WorkerState::kReady)) return {};
  worker_.kill();
  return tl::make_unexpected(channel_->error());
}

Result<void> SandboxedTarget::check_worker(bool stop_matters) {
  if (stop_matters && options_.stop != nullptr && options_.stop->load())
    return failure(ErrorCode::kInterrupted, "interrupted");
  if (const auto status = worker_.poll())
    return failure(ErrorCode::kIo, "the process that carries out the calls " + describe_wait_status(*status));
  return {};
}

Result<void> SandboxedTarget::ask_warden(WardenCommand command, std::uint32_t slot) {
  Channel::Warden& warden = channel_->warden();
  const std::uint32_t before = warden.done.value.load();
  warden.command = command;
  warden.slot = slot;
  Channel::bump(warden.request);
  // Not cut short by a request to stop: the last sync is part of an orderly end, and a second signal ends the program.
  while (warden.done.wait_while(before, Nanoseconds(0), kCheckInterval) == before) IOTAPE_TRY(check_worker(false));
  if (warden.result != 0) return system_failure("in the target's process", warden.result);
  return {};
}

Result<std::uint32_t> SandboxedTarget::slot_of(TargetThread thread) const {
  const auto found = slots_.find(thread);
  if (found != slots_.end()) return found->second;
  return failure(ErrorCode::kUsage, fmt::format("the target knows no thread {}", thread.value));
}

Result<std::uint32_t> SandboxedTarget::take_slot(TargetThread thread) {
  if (slots_.contains(thread))
    return failure(ErrorCode::kUsage, fmt::format("thread {} is already started", thread.value));
  if (free_slots_.empty())
    return failure(ErrorCode::kLimit,
                   fmt::format("more than {} threads at once; replay a part with --from and --to", kThreadSlots));
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  slots_.emplace(thread, slot);
  if (slot >= channel_->highest_slot().load()) channel_->highest_slot().store(slot + 1);
  return slot;
}

void SandboxedTarget::release_slot(TargetThread thread) {
  const auto found = slots_.find(thread);
  if (found == slots_.end()) return;
  free_slots_.push_back(found->second);
  slots_.erase(found);
}

Result<void> SandboxedTarget::wait_for_change(WaitWord& word, std::uint32_t old) {
  const Nanoseconds spin = channel_->begin_spin();
  std::uint32_t now = word.wait_while(old, spin, kCheckInterval);
  channel_->end_spin();
  while (now == old) {
    IOTAPE_TRY(check_worker());
    now = word.wait_while(old, Nanoseconds(0), kCheckInterval);
  }
  return {};
}

Result<void> SandboxedTarget::start_thread(const ThreadStart& start) {
  IOTAPE_TRY(ensure_worker());
  std::optional<std::uint32_t> parent;
  if (start.parent) {
    IOTAPE_ASSIGN(parent, slot_of(*start.parent));
  }
  IOTAPE_ASSIGN(const std::uint32_t index, take_slot(start.thread));
  ThreadSlot& slot = channel_->slot(index);
  slot.start = {parent.has_value(), parent && start.share_descriptors, parent && start.share_filesystem,
                start.privileged, start.umask};
  const std::size_t size = std::min(start.working_directory.size(), kRequestBytes);
  std::memcpy(channel_->request_area(index).data(), start.working_directory.data(), size);
  slot.request_bytes = static_cast<std::uint32_t>(size);
  slot.life.set(static_cast<std::uint32_t>(ThreadLife::kStarting));
  if (parent) {
    // The parent's answer is waited for, not the child's life: the child could end and its slot start another before
    // the parent has looked.
    ThreadSlot& starter = channel_->slot(*parent);
    const std::uint32_t before = starter.answered.value.load();
    starter.command = SlotCommand::kStartChild;
    starter.child = index;
    channel_->post(*parent);
    IOTAPE_TRY(wait_for_change(starter.answered, before));
  } else {
    IOTAPE_TRY(ask_warden(WardenCommand::kStartThread, index));
  }
  if (slot.life.value.load() == static_cast<std::uint32_t>(ThreadLife::kRunning)) return {};
  const int error = slot.failure;
  release_slot(start.thread);
  return system_failure(fmt::format("starting a thread ({} already run)", slots_.size()), error);
}

std::optional<ThreadKey> SandboxedTarget::system_thread(TargetThread thread) const {
  const auto found = slots_.find(thread);
  if (found == slots_.end() || !worker_.running()) return std::nullopt;
  const std::int32_t id = const_cast<Channel&>(*channel_).slot(found->second).system_thread.load();
  return ThreadKey{ProcessId(worker_.pid()), ThreadId(id)};
}

Result<void> SandboxedTarget::end_thread(TargetThread thread) {
  IOTAPE_ASSIGN(const std::uint32_t index, slot_of(thread));
  channel_->slot(index).command = SlotCommand::kEnd;
  channel_->post(index);
  IOTAPE_TRY(wait_for_change(channel_->slot(index).life, static_cast<std::uint32_t>(ThreadLife::kRunning)));
  release_slot(thread);
  return {};
}

void SandboxedTarget::complete_unissued(const TargetCall& call, SkipReason reason) {
  Completion completion;
  completion.thread = call.thread;
  completion.cookie = call.cookie;
  completion.start = completion.end = host_now();
  completion.skipped = reason;
  unissued_.push_back(std::move(completion));
}

Result<void> SandboxedTarget::submit(TargetCall call) {
  IOTAPE_ASSIGN(const std::uint32_t index, slot_of(call.thread));
  Ruling ruling = judge(call.operation, call.number, policy_);
  if (ruling.skip == SkipReason::kIssued && !place_->space().allows(growth_of(call.operation)))
    ruling.skip = SkipReason::kRefused;
  std::optional<std::size_t> bytes;
  if (ruling.skip == SkipReason::kIssued) {
    bytes = encode_operation(call.operation, channel_->request_area(index));
    if (!bytes) ruling.skip = SkipReason::kNotReplayable;  // longer than any path or attribute the kernel takes
  }
  if (ruling.skip != SkipReason::kIssued) {
    complete_unissued(call, ruling.skip);
    return {};
  }
  in_flight_[index] = {call.thread, call.cookie, call.number, std::holds_alternative<ReadDirectory>(call.operation),
                       ruling.adjusted};
  ThreadSlot& slot = channel_->slot(index);
  slot.command = SlotCommand::kCall;
  slot.number = call.number;
  slot.request_bytes = static_cast<std::uint32_t>(*bytes);
  slot.not_before = call.not_before;
  latest_deadline_ = std::max(latest_deadline_, call.not_before);
  ++issued_;
  channel_->post(index);
  return {};
}

Completion SandboxedTarget::collect(std::uint32_t index) {
  const InFlight& call = in_flight_[index];
  const ThreadSlot& slot = channel_->slot(index);
  Completion completion;
  completion.thread = call.thread;
  completion.cookie = call.cookie;
  completion.outcome = OpOutcome::from_kernel(slot.raw);
  completion.start = slot.begun;
  completion.end = slot.ended;
  completion.blocked = slot.blocked;
  if (slot.opened.known()) completion.opened = slot.opened;
  if (call.reads_directory) {
    // The worker is on the other side of the sandbox's wall: what it says of its own answer is bounded here.
    const auto area = channel_->response_area(index);
    const std::size_t bytes = std::min<std::size_t>(slot.response_bytes, area.size());
    completion.directory_names = directory_names(area.first(bytes), call.number == SYS_getdents);
  }
  completion.adjusted = call.adjusted;
  completion.interrupted = slot.interrupted.load() && completion.outcome.error_number == EINTR;
  --issued_;
  return completion;
}

Result<Completion> SandboxedTarget::next_completion() {
  if (!unissued_.empty()) {
    Completion completion = std::move(unissued_.front());
    unissued_.pop_front();
    return completion;
  }
  if (issued_ == 0) return failure(ErrorCode::kUsage, "no call is in flight");
  bool spin = latest_deadline_.value == 0 || latest_deadline_ <= host_now();
  std::uint32_t index = 0;
  while (!channel_->next_completed(index, spin, kCheckInterval)) {
    spin = false;
    IOTAPE_TRY(check_worker());
  }
  return collect(index);
}

bool SandboxedTarget::has_completion() const { return !unissued_.empty() || (channel_ && channel_->has_completed()); }

Result<std::optional<std::uint64_t>> SandboxedTarget::space_used() {
  if (space_at_end_) return space_at_end_;
  IOTAPE_TRY(ensure_worker());
  IOTAPE_TRY(ask_warden(WardenCommand::kSpace, 0));
  return channel_->warden().space;
}

Result<void> SandboxedTarget::finish(bool sync) {
  if (!worker_.running()) return {};
  if (sync) IOTAPE_TRY(ask_warden(WardenCommand::kSync, 0));
  IOTAPE_ASSIGN(space_at_end_, space_used());
  slots_.clear();
  unissued_.clear();
  worker_.kill();
  return place_->settle();
}

}  // namespace iotape
