#include "replayer/engine/call_queues.h"

#include <algorithm>
#include <type_traits>

#include "format/syscall_numbers.h"

namespace iotape {
namespace {

constexpr std::int64_t kFiclone = 0x40049409;

// Shows every number of an operation that is a slot's to `visit`, which answers what to put there.
template <typename Visit>
void for_each_handle(Operation& operation, Visit visit) {
  const auto show = [&](auto& number) {
    if (number < kFirstSlot || number > INT32_MAX) return;
    number = visit(static_cast<std::int32_t>(number));
  };
  std::visit(
      [&]<typename Op>(Op& op) {
        for_each_field(op, [&](const auto&, auto& member) {
          using Member = std::decay_t<decltype(member)>;
          if constexpr (std::is_same_v<Member, PathArgument>) show(member.directory.number);
          if constexpr (std::is_same_v<Member, Descriptor>) show(member.number);
        });
        if constexpr (std::is_same_v<Op, Duplicate>) show(op.target);
        if constexpr (std::is_same_v<Op, CloseRange>) show(op.first), show(op.last);
        if constexpr (std::is_same_v<Op, ControlDevice>)
          if (op.request == kFiclone) show(op.argument);
      },
      operation);
}

std::vector<std::int32_t> slots_of(Operation& operation, const std::vector<std::int32_t>& closes) {
  std::vector<std::int32_t> slots = closes;
  for_each_handle(operation, [&](std::int32_t number) {
    if (std::find(slots.begin(), slots.end(), number) == slots.end()) slots.push_back(number);
    return number;
  });
  return slots;
}

bool makes_descriptor(const Operation& operation) {
  return std::holds_alternative<Open>(operation) || std::holds_alternative<Duplicate>(operation);
}

Operation close_of(std::int32_t number) {
  Close close;
  close.descriptor.number = number;
  return close;
}

}  // namespace

// ---- what is read ----

// Of a thread without a parent the start is the first thing in its own queue.
Result<void> CallQueues::start_thread(const ThreadStart& start,
                                      std::vector<std::pair<std::int32_t, std::int32_t>> copies) {
  Queue& queue = queues_[start.thread.value];
  queue.thread = start.thread;
  queue.started = !start.parent;
  Entry entry;
  for (const auto& [from, to] : copies) entry.uses.push_back(from);
  entry.work = std::make_unique<Start>(Start{start, std::move(copies)});
  return add(start.parent.value_or(start.thread), std::move(entry));
}

Result<void> CallQueues::end_thread(TargetThread thread, const std::vector<std::int32_t>& let_go) {
  for (const std::int32_t slot : let_go) handles_.let_go(slot);
  return add(thread, {End{}, {}, {}});
}

Result<void> CallQueues::wait_for_end(TargetThread parent, TargetThread child) {
  if (!queues_.contains(child.value)) return {};
  return add(parent, {WaitForEnd{child}, {}, {}});
}

Result<void> CallQueues::add_call(TargetThread thread, std::unique_ptr<QueuedCall> call, HandleChanges changes) {
  Entry entry;
  if (call->skipped == SkipReason::kIssued) entry.uses = slots_of(call->operation, changes.closes);
  entry.work = std::move(call);
  entry.changes = std::move(changes);
  return add(thread, std::move(entry));
}

Result<void> CallQueues::add_own_call(TargetThread thread, std::uint32_t number, Operation operation,
                                      HandleChanges changes) {
  Entry entry;
  entry.uses = slots_of(operation, changes.closes);
  entry.work = std::make_unique<OwnCall>(OwnCall{number, std::move(operation)});
  entry.changes = std::move(changes);
  return add(thread, std::move(entry));
}

Result<void> CallQueues::add_event(TargetThread thread, EventBody event) {
  return add(thread, {std::make_unique<EventBody>(std::move(event)), {}, {}});
}

template <typename Visit>
void CallQueues::for_each_slot(const Entry& entry, Visit visit) const {
  for (const std::int32_t slot : entry.uses) visit(slot);
  visit(entry.changes.makes);
  if (const auto* start = std::get_if<std::unique_ptr<Start>>(&entry.work))
    for (const auto& [from, to] : (*start)->copies) visit(to);
}

Result<void> CallQueues::add(TargetThread thread, Entry entry) {
  for_each_slot(entry, [this](std::int32_t slot) { handles_.use(slot); });
  for (const std::int32_t slot : entry.changes.closes) handles_.let_go(slot);
  Queue& queue = queues_[thread.value];
  queue.entries.push_back(std::move(entry));
  ++entries_;
  if (queue.entries.size() > 1 || queue.in_flight) return {};
  ready_.push_back(thread.value);
  return run_ready();
}

// ---- what is done ----

Result<void> CallQueues::run_ready() {
  while (!ready_.empty()) {
    const auto found = queues_.find(ready_.front());
    ready_.pop_front();
    if (found != queues_.end()) IOTAPE_TRY(advance(found->second));
  }
  return {};
}

Result<void> CallQueues::advance(Queue& queue) {
  while (queue.started && !queue.in_flight && (!queue.closing.empty() || !queue.entries.empty())) {
    if (queue.closing.empty() && !is_ready(queue, queue.entries.front())) return {};
    IOTAPE_ASSIGN(const Step step, queue.closing.empty() ? begin(queue, queue.entries.front()) : begin_close(queue));
    if (step != Step::kDone) return {};
    finish(queue);
  }
  return {};
}

bool CallQueues::is_ready(Queue& queue, const Entry& entry) {
  const auto wait_for = [&](HandleSlot& slot) {
    slot.waiting.push_back(queue.thread.value);
    return false;
  };
  for (const std::int32_t number : entry.uses)
    if (HandleSlot* slot = handles_.find(number); slot != nullptr && !slot->known) return wait_for(*slot);
  for (const std::int32_t number : entry.changes.closes)
    if (HandleSlot* slot = handles_.find(number); slot != nullptr && slot->users > 1) return wait_for(*slot);
  if (const auto* wait = std::get_if<WaitForEnd>(&entry.work)) return has_ended(wait->child, queue);
  return !std::holds_alternative<std::unique_ptr<Start>>(entry.work) || may_start(queue);
}

bool CallQueues::has_ended(TargetThread child, Queue& parent) {
  const auto found = queues_.find(child.value);
  if (found == queues_.end()) return true;
  found->second.end_awaited_by.push_back(parent.thread.value);
  return false;
}

bool CallQueues::may_start(Queue& queue) {
  if (living_ < limits_.threads || start_anyway_) return true;
  starters_.push_back(queue.thread.value);
  return false;
}

Result<CallQueues::Step> CallQueues::begin(Queue& queue, Entry& entry) {
  if (auto* call = std::get_if<std::unique_ptr<QueuedCall>>(&entry.work)) return begin_call(queue, entry, **call);
  if (auto* call = std::get_if<std::unique_ptr<OwnCall>>(&entry.work)) return begin_own_call(queue, entry, **call);
  if (auto* start = std::get_if<std::unique_ptr<Start>>(&entry.work)) return begin_thread(**start);
  if (auto* event = std::get_if<std::unique_ptr<EventBody>>(&entry.work)) {
    IOTAPE_TRY(client_.event_reached(**event));
    return Step::kDone;
  }
  if (std::holds_alternative<WaitForEnd>(entry.work)) return Step::kDone;
  return end_thread_now(queue);
}

Result<CallQueues::Step> CallQueues::submit(Queue& queue, TargetCall call) {
  queue.in_flight = true;
  queue.due = call.not_before;
  ++in_flight_;
  IOTAPE_TRY(target_.submit(std::move(call)));
  return Step::kInFlight;
}

Result<CallQueues::Step> CallQueues::begin_close(Queue& queue) {
  queue.closes = true;
  ++own_calls_;
  return submit(queue, {queue.thread, kHousekeepingCookie, call_number::close, close_of(queue.closing.front()), {}});
}

Result<CallQueues::Step> CallQueues::begin_own_call(Queue& queue, Entry& entry, OwnCall& call) {
  bool there = true;
  for_each_handle(call.operation, [&](std::int32_t number) {
    const HandleSlot* slot = handles_.find(number);
    there = there && slot != nullptr && slot->number >= 0;
    return slot == nullptr ? -1 : slot->number;
  });
  if (!there) {
    settle_handles(queue, entry, nullptr, nullptr);
    return Step::kDone;
  }
  ++own_calls_;
  return submit(queue, {queue.thread, kHousekeepingCookie, call.number, std::move(call.operation), {}});
}

Result<CallQueues::Step> CallQueues::begin_call(Queue& queue, Entry& entry, QueuedCall& call) {
  if (call.thought) call.due = std::max(call.due, queue.last_end + *call.thought);
  const SkipReason reason = call.skipped == SkipReason::kIssued ? put_in_numbers(entry, call) : call.skipped;
  if (reason != SkipReason::kIssued) {
    settle_handles(queue, entry, &call.call, nullptr);
    IOTAPE_TRY(client_.call_skipped(call, reason));
    return Step::kDone;
  }
  return submit(queue, {queue.thread, call.source.value, call.number, std::move(call.operation), call.due, call.work});
}

// What CallTranslator would have done, had it known the target's numbers.
SkipReason CallQueues::put_in_numbers(const Entry& entry, QueuedCall& call) {
  for (const std::int32_t number : entry.uses)
    if (const HandleSlot* slot = handles_.find(number); slot != nullptr && slot->lost) return SkipReason::kLostHandle;
  for_each_handle(call.operation, [&](std::int32_t number) {
    const HandleSlot* slot = handles_.find(number);
    return slot == nullptr ? -1 : slot->number;
  });
  if (auto* memory = std::get_if<ControlMemory>(&call.operation)) {
    if (!call.mapping || *call.mapping == kNotMapped) return SkipReason::kMemoryOnly;
    memory->address += *call.mapping;
  }
  if (auto* range = std::get_if<CloseRange>(&call.operation); range != nullptr && range->first < 0)
    return SkipReason::kNotAFile;
  const bool replaces = call.call.outcome.ok() && !entry.changes.closes.empty();
  if (auto* copy = std::get_if<Duplicate>(&call.operation); copy != nullptr && replaces && copy->target < 0) {
    copy->flags = 0;  // nothing is there to be replaced: any number will do
    call.number = call_number::dup;
  }
  return SkipReason::kIssued;
}

Result<CallQueues::Step> CallQueues::begin_thread(Start& start) {
  IOTAPE_TRY(target_.start_thread(start.start));
  ++living_;
  for (const auto& [from, to] : start.copies) {
    const HandleSlot* original = handles_.find(from);
    HandleSlot* copy = handles_.find(to);
    if (original == nullptr || copy == nullptr) continue;
    copy->number = original->number;
    copy->lost = original->lost;
    copy->known = true;
    wake(*copy);
  }
  Queue& child = queues_[start.start.thread.value];
  child.started = true;
  child.last_end = target_.now();
  ready_.push_back(start.start.thread.value);
  return Step::kDone;
}

Result<CallQueues::Step> CallQueues::end_thread_now(Queue& queue) {
  const TargetThread thread = queue.thread;
  IOTAPE_TRY(target_.end_thread(thread));
  --living_;
  finish(queue);
  ready_.insert(ready_.end(), queue.end_awaited_by.begin(), queue.end_awaited_by.end());
  queues_.erase(thread.value);
  if (!starters_.empty()) {
    ready_.push_back(starters_.front());
    starters_.pop_front();
  }
  return Step::kThreadEnded;
}

// ---- what has completed ----

Result<void> CallQueues::keep_up() {
  while (in_flight_ > 0 && target_.has_completion()) IOTAPE_TRY(take_one());
  while (entries_ >= limits_.entries) IOTAPE_TRY(take_one());
  return {};
}

Result<void> CallQueues::take_one() {
  if (in_flight_ == 0 && !starters_.empty()) {  // those that live wait for those that do not yet
    ready_.push_back(starters_.front());
    starters_.pop_front();
    start_anyway_ = true;
    auto done = run_ready();
    start_anyway_ = false;
    return done;
  }
  if (in_flight_ == 0)
    return failure(ErrorCode::kCorrupt, "every thread of the replay waits for another; this is a bug of iotape");
  if (waiting_) IOTAPE_TRY(waiting_(earliest_due()));
  IOTAPE_ASSIGN(const Completion done, target_.next_completion());
  IOTAPE_TRY(complete(done));
  return run_ready();
}

Nanoseconds CallQueues::earliest_due() const {
  Nanoseconds earliest{INT64_MAX};
  for (const auto& [thread, queue] : queues_)
    if (queue.in_flight) earliest = std::min(earliest, queue.due);
  return earliest;
}

Result<void> CallQueues::complete(const Completion& done) {
  const auto found = queues_.find(done.thread.value);
  if (found == queues_.end() || !found->second.in_flight)
    return failure(ErrorCode::kIo, "the target completed a call nobody submitted");
  Queue& queue = found->second;
  queue.in_flight = false;
  --in_flight_;
  ready_.push_back(done.thread.value);
  if (!queue.closes) return complete_entry(queue, done);
  queue.closes = false;
  queue.closing.pop_front();
  --entries_;
  return {};
}

Result<void> CallQueues::complete_entry(Queue& queue, const Completion& done) {
  if (queue.entries.empty()) return {};  // abandoned
  Entry& entry = queue.entries.front();
  const bool issued = done.skipped == SkipReason::kIssued;
  auto* call = std::get_if<std::unique_ptr<QueuedCall>>(&entry.work);
  settle_handles(queue, entry, call == nullptr ? nullptr : &(*call)->call, issued ? &done.outcome : nullptr);
  if (call != nullptr) {
    if (issued) queue.last_end = done.end;
    IOTAPE_TRY(issued ? client_.call_done(**call, done) : client_.call_skipped(**call, done.skipped));
  }
  finish(queue);
  return {};
}

// outcome: nullptr when the call was not issued.
void CallQueues::settle_handles(Queue& queue, const Entry& entry, const Syscall* recorded, const OpOutcome* outcome) {
  const bool got = outcome != nullptr && outcome->ok();
  HandleSlot* made = handles_.find(entry.changes.makes);
  if (made != nullptr) {
    made->number = got ? static_cast<std::int32_t>(outcome->value) : -1;
    made->lost = outcome == nullptr;
    made->known = true;
    wake(*made);
    // A dup2 that went wrong here leaves open what the recorded one replaced.
    if (!got)
      for (const std::int32_t number : entry.changes.closes)
        if (const HandleSlot* replaced = handles_.find(number)) close_soon(queue, replaced->number);
  }
  if (recorded == nullptr) return;
  if (made == nullptr && got && !recorded->outcome.ok() && makes_descriptor(recorded->operation))
    close_soon(queue, static_cast<std::int32_t>(outcome->value));
  if (const auto* call = std::get_if<std::unique_ptr<QueuedCall>>(&entry.work);
      call != nullptr && std::holds_alternative<MapMemory>(recorded->operation) && (*call)->mapping)
    *(*call)->mapping = got ? outcome->value : kNotMapped;
}

void CallQueues::close_soon(Queue& queue, std::int32_t number) {
  if (number < 0) return;
  queue.closing.push_back(number);
  ++entries_;
}

void CallQueues::wake(HandleSlot& slot) {
  ready_.insert(ready_.end(), slot.waiting.begin(), slot.waiting.end());
  slot.waiting.clear();
}

void CallQueues::finish(Queue& queue) {
  const Entry entry = std::move(queue.entries.front());
  queue.entries.pop_front();
  --entries_;
  release(entry);
}

void CallQueues::release(const Entry& entry) {
  for_each_slot(entry, [this](std::int32_t number) {
    if (HandleSlot* slot = handles_.find(number)) wake(*slot);
    handles_.release(number);
  });
}

// ---- a stop ----

void CallQueues::abandon() {
  for (auto& [thread, queue] : queues_) {
    const bool busy = queue.in_flight && !queue.closes;
    const std::size_t kept = busy ? 1 : 0;
    entries_ -= queue.entries.size() - kept;
    queue.entries.erase(queue.entries.begin() + static_cast<std::ptrdiff_t>(kept), queue.entries.end());
  }
  starters_.clear();
}

}  // namespace iotape
