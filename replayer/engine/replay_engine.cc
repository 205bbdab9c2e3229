#include "replayer/engine/replay_engine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "format/syscall_numbers.h"
#include "format/syscall_table.h"
#include "replayer/engine/call_queues.h"
#include "replayer/engine/call_translator.h"
#include "replayer/engine/outcome_comparison.h"

namespace iotape {
namespace {

constexpr Nanoseconds kWaitStep{100'000'000};
constexpr Nanoseconds kWaitMargin{50'000'000};

bool may_wait(const Syscall& call) {
  const auto* lock = std::get_if<Lock>(&call.operation);
  if (lock == nullptr) return false;
  if (call.number == call_number::flock) return (lock->command & (LOCK_NB | LOCK_UN)) == 0;
  return lock->command == F_SETLKW || lock->command == F_OFD_SETLKW;
}

// What a mismatch is about, as recorded.
std::string subject_of(const Syscall& call, FileIndex file, const NameSpace& names) {
  if (const CallPaths paths = call_paths(call); paths.count > 0) return paths.path[0]->bytes;
  const CallDescriptors descriptors = call_descriptors(call.operation);
  if (descriptors.count == 0) return {};
  const std::string path = file == kNoFile ? std::string() : names.path(file);
  const Descriptor& descriptor = *descriptors.descriptor[0];
  return path.empty() ? fmt::format("fd {}", descriptor.number) : fmt::format("fd {} {}", descriptor.number, path);
}

class Engine : private QueueClient {
 public:
  Engine(const TraceHeader& header, NameSpace names, const ReplayRoots& roots, Target& target,
         const EngineOptions& options, ReplayObserver* observer)
      : roots_(roots),
        target_(target),
        options_(options),
        observer_(observer),
        model_(header, std::move(names)),
        translator_(model_, roots_),
        pace_(options.pace, target.now()),
        compares_(target.facts().answers),
        spends_work_(target.facts().machine.has_value()),
        recording_cost_(header.calibrated_cost) {
    report_.anchor = report_.end = target.now();
    if (options.order != ReplayOrder::kThread) return;
    queues_.emplace(target, static_cast<QueueClient&>(*this), CallQueues::Limits{.entries = options.read_ahead});
    if (has_due_times() && options.wait) queues_->set_waiting([this](Nanoseconds due) { return wait_for_due(due); });
  }

  Result<ReplayReport> run(EventSource& source) {
    auto done = take_all(source);
    if (!done && !(done.error().code == ErrorCode::kInterrupted && stop_requested()))
      return tl::make_unexpected(std::move(done).error());
    // The call that was waiting when the stop came has neither been issued to its end nor skipped.
    if (!done) report_.stopped = true, report_.calls = report_.issued + report_.skipped_total();
    report_.threads = started_;
    report_.serialised = callers_.size() > 1 && !queues_;
    if (queues_) report_.housekeeping = queues_->own_calls();
    report_.implausible_times = pace_.implausible();
    if (!report_.adds_up())
      return failure(ErrorCode::kCorrupt,
                     fmt::format("replay lost count: {} issued + {} skipped is not {} calls; this is a bug of iotape",
                                 report_.issued, report_.skipped_total(), report_.calls));
    return std::move(report_);
  }

 private:
  [[nodiscard]] bool stop_requested() const { return options_.stop_requested && options_.stop_requested(); }

  Result<void> take_all(EventSource& source) {
    while (true) {
      if (queues_) IOTAPE_TRY(queues_->keep_up());
      IOTAPE_ASSIGN(Event * event, source.next());
      if (event == nullptr) break;
      if (stop_requested()) {
        report_.stopped = true;
        break;
      }
      auto* call = std::get_if<Syscall>(&event->body);
      if (call == nullptr)
        IOTAPE_TRY(take_other(event->body));
      else if (source.selected())
        IOTAPE_TRY(take_call(event->id, *call));
      else
        IOTAPE_TRY(leave_out(event->id, *call));
    }
    if (report_.stopped && queues_) return leave_off();
    IOTAPE_TRY(settle_all());
    for (const ThreadKey thread : threads_.all()) IOTAPE_TRY(end_thread(thread));
    return queues_ ? drain() : Result<void>{};
  }

  Result<void> drain() {
    while (!queues_->idle()) {
      if (stop_requested()) {
        report_.stopped = true;
        return leave_off();
      }
      IOTAPE_TRY(queues_->take_one());
    }
    return {};
  }

  // A stop in thread order: what is in flight is taken unless real time would have to pass until it is due; what is
  // read and not submitted counts as not met.
  Result<void> leave_off() {
    queues_->abandon();
    while (queues_->in_flight() && !(has_due_times() && options_.wait)) IOTAPE_TRY(queues_->take_one());
    report_.calls = report_.issued + report_.skipped_total();
    return {};
  }

  Result<void> leave_out(EventId id, Syscall& call) {
    ++report_.calls;
    return tell_skipped(id, call, SkipReason::kNotSelected, target_.now());
  }

  struct InFlight {  // a call submitted and not yet waited for
    Syscall call;
    EventId source;
    Translation translation;
    CallTargets targets;  // its path pointers are dead: only resolved, start and file may be used
    Nanoseconds due;
    ThreadKey thread;
  };

  // ---- threads ----

  Result<void> start_target_thread(ReplayThread& thread, const ReplayThread* parent, std::uint64_t clone_flags,
                                   ThreadKey key) {
    ThreadStart start;
    start.thread = thread.target;
    start.recorded = key;
    start.privileged = thread.privileged;
    if (parent != nullptr) {
      start.parent = parent->target;
      start.share_descriptors = (clone_flags & CLONE_FILES) != 0;
      start.share_filesystem = (clone_flags & CLONE_FS) != 0;
      start.share_memory = (clone_flags & CLONE_VM) != 0;
    } else {
      const ProcessDirectories& directories = model_.directories(key);
      start.umask = directories.umask;
      const auto inside = roots_.target_path(model_.names(), directories.working);
      if (inside) {
        start.working_directory = *inside;
        thread.directory->working = directories.working;
      }
    }
    ++started_;
    return queues_ ? queue_start(start, thread, parent != nullptr && !start.share_descriptors)
                   : target_.start_thread(start);
  }

  // In thread order a copied table has slots of its own.
  Result<void> queue_start(const ThreadStart& start, ReplayThread& thread, bool copies_table) {
    std::vector<std::pair<std::int32_t, std::int32_t>> copies;
    if (copies_table)
      for (auto& [number, held] : *thread.handles)
        if (held.number >= 0) {
          const std::int32_t original = std::exchange(held.number, queues_->handles().make());
          copies.emplace_back(original, held.number);
        }
    // Where a process that was met running works may not be made yet.
    if (!start.parent && !was_there(thread.directory->working)) IOTAPE_TRY(drain());
    return queues_->start_thread(start, std::move(copies));
  }
  [[nodiscard]] bool was_there(FileIndex directory) const {
    if (directory == kNoFile) return true;
    return roots_.initial_target_path(model_.names(), directory) == roots_.target_path(model_.names(), directory);
  }

  // A thread met without its start having been recorded joins its process, or begins afresh.
  Result<ReplayThread*> thread_of(ThreadKey key) {
    if (ReplayThread* known = threads_.find(key)) return known;
    const ReplayThread* sibling = threads_.sibling(key);
    constexpr std::uint64_t kThreadFlags = CLONE_FILES | CLONE_FS | CLONE_VM;
    if (sibling != nullptr) IOTAPE_TRY(settle_thread(sibling->target));
    ReplayThread made = sibling != nullptr ? cloned(*sibling, kThreadFlags) : ReplayThread{};
    made.target = threads_.next_target_thread();
    made.last_end = target_.now();
    made.last_end_recorded = latest_recorded_;
    if (!privileges_.contains(key.process)) privileges_[key.process] = true;
    made.privileged = privileges_[key.process];
    IOTAPE_TRY(start_target_thread(made, sibling, sibling != nullptr ? kThreadFlags : 0, key));
    return &threads_.add(key, std::move(made));
  }

  Result<void> take(const ProcessStart& start) {
    latest_recorded_ = start.time;
    ReplayThread* parent = start.already_running ? nullptr : threads_.find(start.parent);
    if (parent == nullptr || threads_.find(start.thread) != nullptr) return {};  // started when it first does something
    IOTAPE_TRY(settle_thread(parent->target));
    ReplayThread child = cloned(*parent, start.clone_flags);
    child.parent = start.parent;
    child.target = threads_.next_target_thread();
    child.last_end = target_.now();
    child.last_end_recorded = start.time;
    privileges_[start.thread.process] = child.privileged;
    IOTAPE_TRY(start_target_thread(child, parent, start.clone_flags, start.thread));
    threads_.add(start.thread, std::move(child));
    return {};
  }

  // exec closes what was marked so, and stops sharing the table.
  Result<void> take(const ProcessExec& exec) {
    ReplayThread* thread = threads_.find(exec.thread);
    if (thread == nullptr) return {};
    for (const ThreadKey other : threads_.of_process(exec.thread.process))
      if (other != exec.thread) IOTAPE_TRY(end_thread(other));
    if (threads_.shares_descriptors(*thread)) IOTAPE_TRY(unshare(exec.thread, CLONE_FILES));
    thread = threads_.find(exec.thread);
    std::vector<std::int32_t> closes;
    for (const auto& [number, held] : *thread->handles)
      if (held.close_on_exec && held.kind == HandleKind::kTarget && held.number >= 0) closes.push_back(held.number);
    std::erase_if(*thread->handles, [](const auto& entry) { return entry.second.close_on_exec; });
    thread->mappings = std::make_shared<MappingTable>();
    return close_handles(*thread, closes);
  }

  // The target has no unshare: a thread with a copy takes the old one's place.
  Result<void> unshare(ThreadKey key, std::uint64_t what) {
    ReplayThread& old = *threads_.find(key);
    IOTAPE_TRY(settle_thread(old.target));
    const std::vector<std::int32_t> let_go = last_slots(old);
    const std::uint64_t kept = (CLONE_FILES | CLONE_FS | CLONE_VM) & ~what;
    ReplayThread fresh = cloned(old, kept);
    fresh.target = threads_.next_target_thread();
    IOTAPE_TRY(start_target_thread(fresh, &old, kept, key));
    IOTAPE_TRY(end_target_thread(old.target, (kept & CLONE_FILES) == 0 ? let_go : std::vector<std::int32_t>{}));
    threads_.add(key, std::move(fresh));
    return {};
  }

  Result<void> take(const ProcessExit& exit) {
    if (!exit.whole_process) return end_thread(exit.thread);
    for (const ThreadKey thread : threads_.of_process(exit.thread.process)) IOTAPE_TRY(end_thread(thread));
    return {};
  }

  Result<void> end_thread(ThreadKey key) {
    ReplayThread* thread = threads_.find(key);
    if (thread == nullptr) return {};
    IOTAPE_TRY(settle_thread(thread->target));
    IOTAPE_TRY(end_target_thread(thread->target, last_slots(*thread)));
    const ReplayThread* parent = queues_ && thread->parent ? threads_.find(*thread->parent) : nullptr;
    if (parent != nullptr) IOTAPE_TRY(queues_->wait_for_end(parent->target, thread->target));
    threads_.remove(key);
    return {};
  }
  Result<void> end_target_thread(TargetThread thread, const std::vector<std::int32_t>& let_go) {
    return queues_ ? queues_->end_thread(thread, let_go) : target_.end_thread(thread);
  }
  // In thread order: the slots whose table goes with this thread.
  [[nodiscard]] std::vector<std::int32_t> last_slots(const ReplayThread& thread) const {
    std::vector<std::int32_t> slots;
    if (!queues_ || threads_.shares_descriptors(thread)) return slots;
    for (const auto& [number, held] : *thread.handles) slots.push_back(held.number);
    return slots;
  }

  Result<void> take(const ProcessContext& context) {
    privileges_[context.thread.process] = context.user == 0;
    return {};
  }

  // A descriptor held before the recording: opened by its path, at its offset.
  Result<void> take(const InheritedDescriptor& inherited) {
    IOTAPE_ASSIGN(ReplayThread * thread, thread_of(inherited.thread));
    Handle handle{HandleKind::kNotAFile, -1, inherited.close_on_exec, model_.names().find(inherited.descriptor.file)};
    const FileKind kind = inherited.descriptor.file.kind;
    if (!is_not_a_file(kind)) {
      const auto inside = roots_.target_path(model_.names(), handle.file);
      handle.kind = inside ? HandleKind::kTarget : HandleKind::kExternal;
      if (handle.file == kNoFile) handle.kind = HandleKind::kLost;
      if (inside) IOTAPE_TRY(reopen(*thread, *inside, inherited, handle));
    }
    (*thread->handles)[inherited.descriptor.number] = handle;
    return {};
  }

  Result<void> reopen(ReplayThread& thread, const std::string& path, const InheritedDescriptor& inherited,
                      Handle& handle) {
    constexpr std::int64_t kOnlyWhenMade = O_CREAT | O_EXCL | O_TRUNC;
    Open open;
    open.path.bytes = path;
    open.flags = inherited.flags & ~kOnlyWhenMade;
    IOTAPE_ASSIGN(const OpOutcome opened, keep_house(thread, call_number::openat, std::move(open)));
    if (!opened.ok()) return {};
    handle.number = static_cast<std::int32_t>(opened.value);
    if (inherited.offset == 0 || inherited.descriptor.file.kind == FileKind::kDirectory) return {};
    Seek seek;
    seek.descriptor.number = handle.number;
    seek.offset = inherited.offset;
    seek.whence = SEEK_SET;
    IOTAPE_TRY(keep_house(thread, call_number::lseek, std::move(seek)));
    return {};
  }

  template <typename Other>
  Result<void> take(const Other&) {
    return {};
  }

  Result<void> take_other(EventBody& event) {
    model_.observe(event);
    latest_recorded_ = std::max(latest_recorded_, event_time(event));
    const std::optional<ThreadKey> of = queues_ ? thread_told_of(event) : std::nullopt;
    if (of && threads_.find(*of) != nullptr) return take_in_turn(*of, event);
    IOTAPE_TRY(std::visit([&](const auto& body) { return take(body); }, event));
    return observer_ == nullptr ? Result<void>{} : observer_->other(event, target_.now());
  }

  // In thread order, what is told of a thread is told when the thread gets there: of its end while it still is.
  Result<void> take_in_turn(ThreadKey of, EventBody& event) {
    const bool ends = std::holds_alternative<ProcessExit>(event) || std::holds_alternative<ProcessExec>(event);
    if (ends) IOTAPE_TRY(queues_->add_event(threads_.find(of)->target, event));
    IOTAPE_TRY(std::visit([&](const auto& body) { return take(body); }, event));
    return ends ? Result<void>{} : queues_->add_event(threads_.find(of)->target, std::move(event));
  }

  struct ToldOf {
    std::optional<ThreadKey> operator()(const ProcessStart& event) const {
      return event.already_running ? std::optional<ThreadKey>() : event.parent;
    }
    std::optional<ThreadKey> operator()(const ProcessExec& event) const { return event.thread; }
    std::optional<ThreadKey> operator()(const ProcessExit& event) const { return event.thread; }
    std::optional<ThreadKey> operator()(const ProcessContext& event) const { return event.thread; }
    std::optional<ThreadKey> operator()(const InheritedDescriptor& event) const { return event.thread; }
    template <typename Other>
    std::optional<ThreadKey> operator()(const Other&) const {
      return std::nullopt;
    }
  };
  static std::optional<ThreadKey> thread_told_of(const EventBody& event) { return std::visit(ToldOf{}, event); }
  Result<void> event_reached(EventBody& event) override {
    return observer_ == nullptr ? Result<void>{} : observer_->other(event, target_.now());
  }

  // ---- calls of our own ----

  Result<OpOutcome> keep_house(ReplayThread& thread, std::uint32_t number, Operation operation) {
    if (queues_) return queue_house_call(thread, number, std::move(operation));
    IOTAPE_TRY(settle_thread(thread.target));
    ++report_.housekeeping;
    IOTAPE_TRY(target_.submit({thread.target, kHousekeepingCookie, number, std::move(operation), {}}));
    while (true) {
      IOTAPE_ASSIGN(Completion done, target_.next_completion());
      if (done.cookie == kHousekeepingCookie) return done.outcome;
      IOTAPE_TRY(complete(std::move(done)));
    }
  }

  Result<OpOutcome> queue_house_call(const ReplayThread& thread, std::uint32_t number, Operation operation) {
    HandleChanges changes;
    if (std::holds_alternative<Open>(operation)) changes.makes = queues_->handles().make();
    if (const auto* close = std::get_if<Close>(&operation)) changes.closes = {close->descriptor.number};
    const std::int32_t made = changes.makes;
    IOTAPE_TRY(queues_->add_own_call(thread.target, number, std::move(operation), std::move(changes)));
    return OpOutcome{made, 0};
  }

  Result<void> close_handles(ReplayThread& thread, const std::vector<std::int32_t>& numbers) {
    for (const std::int32_t number : numbers) {
      Close close;
      close.descriptor.number = number;
      IOTAPE_TRY(keep_house(thread, call_number::close, close));
    }
    return {};
  }

  // ---- calls of the trace ----

  Result<void> take_call(EventId id, Syscall& call) {
    ++report_.calls;
    callers_.insert(call.thread);
    if (report_.calls == 1) latest_recorded_ = call.start;  // what came before the first call is not thinking
    // First, since it may tell the working directory a new thread starts in.
    const CallTargets targets = model_.resolve(call);
    IOTAPE_ASSIGN(ReplayThread * thread, thread_of(call.thread));
    IOTAPE_TRY(settle_thread(thread->target));
    Translation translation = translator_.translate(call, targets, *thread);
    const Pace::Previous previous{thread->last_end_recorded, thread->last_end, thread->skipped_wait};
    const RecordedWork work{pace_.thinking(call.start, previous), work_inside(call)};
    Nanoseconds due = pace_.due(call.start, previous);
    if (!has_due_times()) due = report_.anchor;
    latest_recorded_ = std::max(latest_recorded_, call.start + call.duration);
    if (translation.skipped != SkipReason::kIssued) return skip(id, call, targets, translation, due, *thread);
    if (queues_) return queue(id, call, targets, std::move(translation), {due, work}, *thread);
    return issue(id, call, targets, std::move(translation), {due, work}, *thread);
  }

  // Otherwise a call is due when its turn comes; where thinking is the target's work, that says when.
  [[nodiscard]] bool has_due_times() const {
    return options_.pace.kind == PaceKind::kRecorded || (options_.pace.kind == PaceKind::kThink && !spends_work_);
  }
  [[nodiscard]] Nanoseconds work_inside(const Syscall& call) const {
    const std::int64_t inside = (call.duration - call.blocked - recording_cost_).value;
    return Nanoseconds(std::max<std::int64_t>(inside, 0));
  }

  Result<void> skip(EventId id, Syscall& call, const CallTargets& targets, const Translation& translation,
                    Nanoseconds due, ReplayThread& thread) {
    model_.apply(call, targets);
    const ThreadKey key = call.thread;
    const Nanoseconds ended_before = thread.last_end_recorded;
    if (call.blocked.value > 0) thread.skipped_wait += call.blocked;
    auto closes = translator_.settle(call, translation, targets, nullptr, thread);
    IOTAPE_TRY(close_handles(thread, closes));
    if (call.number == call_number::unshare && call.outcome.ok())
      if (const auto* process = std::get_if<ProcessCall>(&call.operation))
        IOTAPE_TRY(unshare(key, static_cast<std::uint64_t>(process->flags) & (CLONE_FILES | CLONE_FS)));
    if (!queues_) return tell_skipped(id, call, translation.skipped, due);
    auto queued = std::make_unique<QueuedCall>();
    queued->call = std::move(call);
    queued->source = id;
    queued->skipped = translation.skipped;
    queued->due = due;
    think(*queued, queued->call.start, ended_before);
    return queues_->add_call(threads_.find(key)->target, std::move(queued), {});
  }

  Result<void> tell_skipped(EventId id, Syscall& call, SkipReason reason, Nanoseconds due) {
    ++report_.skipped[static_cast<std::size_t>(reason)];
    ++report_.by_number[call.number].skipped;
    if (observer_ == nullptr) return {};
    call.start = target_.now();
    call.replay = ReplayRecord{id, has_due_times() ? due : call.start, call.outcome, reason};
    call.duration = call.blocked = {};
    return observer_->call(call);
  }

  // Long sleeps are cut up so that a stop request is seen; the last part is the target's, which is precise.
  void wait_until_near(Nanoseconds due) {
    while (options_.wait && due - target_.now() > kWaitMargin + kWaitStep) {
      if (options_.stop_requested && options_.stop_requested()) return;
      options_.wait(kWaitStep);
    }
  }

  struct Moment {
    Nanoseconds due;
    RecordedWork work;
  };
  Result<void> issue(EventId id, Syscall& call, const CallTargets& targets, Translation translation,
                     const Moment& moment, ReplayThread& thread) {
    wait_until_near(moment.due);
    const TargetThread target_thread = thread.target;
    const bool waits = may_wait(call) && call.blocked.value > 0;
    TargetCall out{target_thread, id.value,   translation.number, std::move(translation.operation),
                   moment.due,    moment.work};
    thread.in_flight = true;
    in_flight_[target_thread.value] = InFlight{std::move(call), id, std::move(translation), targets, moment.due, {}};
    in_flight_[target_thread.value].thread = in_flight_[target_thread.value].call.thread;
    IOTAPE_TRY(target_.submit(std::move(out)));
    if (waits) return {};
    return settle_thread(target_thread);
  }

  // ---- thread order ----

  // The tables and the namespace change here and now, as the recording says; the call waits for its turn.
  Result<void> queue(EventId id, Syscall& call, const CallTargets& targets, Translation translation,
                     const Moment& moment, ReplayThread& thread) {
    auto queued = std::make_unique<QueuedCall>();
    queued->subject = targets.file[0];
    queued->due = moment.due;
    queued->work = moment.work;
    think(*queued, call.start, thread.last_end_recorded);
    thread.last_end_recorded = call.start + call.duration;
    thread.skipped_wait = {};
    if (std::holds_alternative<ControlMemory>(call.operation)) queued->mapping = mapping_of(call, thread);
    HandleChanges changes;
    const OpOutcome expected = expect(call, changes);
    model_.apply(call, targets);
    std::vector<std::int32_t> closes = translator_.settle(call, translation, targets, &expected, thread);
    if (std::holds_alternative<MapMemory>(call.operation) && call.outcome.ok()) {
      queued->mapping = std::make_shared<std::int64_t>(kNotMapped);
      (*thread.mappings)[call.outcome.value].base = queued->mapping;
    }
    find_closes(call, translation, closes, changes);
    queued->source = id;
    queued->number = translation.number;
    queued->operation = std::move(translation.operation);
    queued->call = std::move(call);
    IOTAPE_TRY(queues_->add_call(thread.target, std::move(queued), std::move(changes)));
    return close_handles(thread, closes);
  }

  // When the thread's call before ends is known when it has ended.
  void think(QueuedCall& queued, Nanoseconds start, Nanoseconds ended_before) const {
    if (options_.pace.kind != PaceKind::kThink || !has_due_times()) return;
    queued.due = report_.anchor;
    queued.thought = pace_.thinking(start, {ended_before, {}, {}});
  }

  // The recorded outcome in the target's terms: a slot for a descriptor, offsets within a mapping for addresses.
  OpOutcome expect(const Syscall& call, HandleChanges& changes) {
    OpOutcome expected = call.outcome;
    if (!expected.ok()) return expected;
    const auto* copy = std::get_if<Duplicate>(&call.operation);
    const bool onto_itself = copy != nullptr && call.outcome.value == copy->descriptor.number;
    if (std::holds_alternative<Open>(call.operation) || (copy != nullptr && !onto_itself))
      expected.value = changes.makes = queues_->handles().make();
    if (std::holds_alternative<MapMemory>(call.operation)) expected.value = 0;
    return expected;
  }

  // Which slots the call itself closes; those in `closes` are closed besides.
  static void find_closes(const Syscall& call, const Translation& translation, std::vector<std::int32_t>& closes,
                          HandleChanges& changes) {
    const auto closed_by_it = [&](std::int64_t number) {
      if (number < kFirstSlot) return;
      changes.closes.push_back(static_cast<std::int32_t>(number));
      std::erase(closes, static_cast<std::int32_t>(number));
    };
    if (const auto* close = std::get_if<Close>(&translation.operation); close && call.outcome.error_number != EBADF)
      closed_by_it(close->descriptor.number);
    if (const auto* range = std::get_if<CloseRange>(&translation.operation); range && call.outcome.ok())
      closed_by_it(range->first);
    if (const auto* copy = std::get_if<Duplicate>(&translation.operation); copy && changes.makes >= 0)
      closed_by_it(copy->target);
  }

  static std::shared_ptr<std::int64_t> mapping_of(const Syscall& call, const ReplayThread& thread) {
    const auto after = thread.mappings->upper_bound(std::get<ControlMemory>(call.operation).address);
    return after == thread.mappings->begin() ? nullptr : std::prev(after)->second.base;
  }

  Result<void> call_done(QueuedCall& queued, const Completion& done) override {
    count(queued.call, queued.source, queued.due, queued.subject, done);
    return tell_issued(queued.source, queued.call, done, has_due_times() ? queued.due : done.start);
  }
  Result<void> call_skipped(QueuedCall& queued, SkipReason reason) override {
    return tell_skipped(queued.source, queued.call, reason, queued.due);
  }
  Result<void> wait_for_due(Nanoseconds due) {
    wait_until_near(due);
    return stop_requested() ? Result<void>(failure(ErrorCode::kInterrupted, "interrupted")) : Result<void>{};
  }

  // ---- strict order ----

  // Waits until the thread's call has completed; others that complete meanwhile are taken.
  Result<void> settle_thread(TargetThread thread) {
    while (in_flight_.contains(thread.value)) {
      IOTAPE_ASSIGN(Completion done, target_.next_completion());
      if (done.thread != thread) ++report_.overtaken;
      IOTAPE_TRY(complete(std::move(done)));
    }
    return {};
  }
  Result<void> settle_all() {
    while (!in_flight_.empty()) {
      IOTAPE_ASSIGN(Completion done, target_.next_completion());
      IOTAPE_TRY(complete(std::move(done)));
    }
    return {};
  }

  Result<void> complete(Completion done) {
    auto node = in_flight_.extract(done.thread.value);
    if (node.empty()) return failure(ErrorCode::kIo, "the target completed a call nobody submitted");
    InFlight& flight = node.mapped();
    Syscall& call = flight.call;
    ReplayThread& thread = *threads_.find(flight.thread);
    thread.in_flight = false;
    CallTargets targets = std::move(flight.targets);
    targets.paths = call_paths(call);
    targets.descriptors = call_descriptors(call.operation);
    const bool issued = done.skipped == SkipReason::kIssued;
    if (!issued) flight.translation.skipped = done.skipped;
    model_.apply(call, targets);
    const auto closes = translator_.settle(call, flight.translation, targets, issued ? &done.outcome : nullptr, thread);
    if (issued) {
      count(call, flight.source, flight.due, targets.file[0], done);
      thread.last_end = done.end;
      thread.last_end_recorded = call.start + call.duration;
      thread.skipped_wait = {};
    }
    const EventId source = flight.source;
    // As fast as possible, a call is due when its turn comes.
    const Nanoseconds due = has_due_times() ? flight.due : done.start;
    IOTAPE_TRY(close_handles(thread, closes));
    if (!issued) return tell_skipped(source, call, done.skipped, due);
    return tell_issued(source, call, done, due);
  }

  void count(const Syscall& call, EventId source, Nanoseconds due, FileIndex subject, const Completion& done) {
    CallTally& tally = report_.by_number[call.number];
    ++report_.issued;
    ++tally.issued;
    tally.latency->add(done.end - done.start);
    tally.recorded_time += call.duration;
    if (has_due_times()) report_.lateness->add(done.start - due);
    report_.end = std::max(report_.end, done.end);
    report_.adjusted += done.adjusted ? 1 : 0;
    report_.interrupted_calls += done.interrupted ? 1 : 0;
    const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(done.outcome.value, 0));
    if (done.outcome.ok() && std::holds_alternative<Read>(call.operation)) report_.bytes_read += bytes;
    if (done.outcome.ok() && std::holds_alternative<Write>(call.operation)) report_.bytes_written += bytes;
    if (compares_) compare(call, source, subject, done, tally);
  }

  void compare(const Syscall& call, EventId source, FileIndex subject, const Completion& done, CallTally& tally) {
    const Agreement agreement = compare_outcomes(call, done.outcome);
    if (agreement == Agreement::kSame) return;
    if (agreement == Agreement::kUnsupported) {
      ++report_.unsupported;
      ++tally.unsupported;
    } else {
      ++report_.mismatches;
      ++tally.mismatched;
    }
    if (report_.first_mismatches.size() < kListedMismatches)
      report_.first_mismatches.push_back(
          {source, call.number, call.outcome, done.outcome, subject_of(call, subject, model_.names())});
  }

  Result<void> tell_issued(EventId source, Syscall& call, const Completion& done, Nanoseconds due) {
    if (observer_ == nullptr) return {};
    call.replay = ReplayRecord{source, due, call.outcome, SkipReason::kIssued};
    call.outcome = done.outcome;
    call.start = done.start;
    call.duration = done.end - done.start;
    call.blocked = done.blocked;
    call.unfinished = false;
    return observer_->call(call);
  }

  const ReplayRoots& roots_;
  Target& target_;
  const EngineOptions& options_;
  ReplayObserver* observer_;
  TraceModel model_;
  CallTranslator translator_;
  Pace pace_;
  bool compares_;
  bool spends_work_;  // the target has a processor of its own
  Nanoseconds recording_cost_;
  ReplayThreads threads_;
  std::map<ProcessId, bool> privileges_;
  std::map<std::uint32_t, InFlight> in_flight_;  // by target thread; strict order
  std::optional<CallQueues> queues_;             // thread order
  std::set<ThreadKey> callers_;
  std::uint64_t started_ = 0;
  Nanoseconds latest_recorded_;
  ReplayReport report_;
};

}  // namespace

Result<ReplayReport> run_replay_pass(EventSource& source, NameSpace names, const ReplayRoots& roots, Target& target,
                                     const EngineOptions& options, ReplayObserver* observer) {
  roots.mark(names);
  return Engine(source.header(), std::move(names), roots, target, options, observer).run(source);
}

}  // namespace iotape
