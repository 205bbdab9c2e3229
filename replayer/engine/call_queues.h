// CallQueues: order thread. What each thread does waits in a queue of its own and is done as soon as the thread gets
// there, whatever the others do.
//
// Between threads only this holds: a thread's first call comes after its parent's clone; a call waits until the
// descriptors it names are there; a descriptor is closed (or replaced) after the calls that named it before; what a
// parent does after the recorded end of its child comes after the child's end, since it may have waited for it.
// All of these wait for something read earlier, so something can always go on.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "format/base/result.h"
#include "format/event.h"
#include "replayer/engine/handle_slots.h"
#include "replayer/engine/name_space.h"
#include "replayer/target/target.h"

namespace iotape {

inline constexpr std::uint64_t kHousekeepingCookie = UINT64_MAX;
// Where the target mapped a file; this while it has not.
inline constexpr std::int64_t kNotMapped = -1;

// A call of the trace, translated as things stood when it was read.
struct QueuedCall {
  Syscall call;  // as recorded
  EventId source;
  SkipReason skipped = SkipReason::kIssued;  // else it is only told of, in its turn
  std::uint32_t number = 0;
  Operation operation;  // descriptors are HandleSlots' numbers
  FileIndex subject = kNoFile;
  Nanoseconds due;                     // at the earliest
  std::optional<Nanoseconds> thought;  // and that long after the thread's call before
  RecordedWork work;
  std::shared_ptr<std::int64_t> mapping;  // that it makes, or whose address its own is relative to
};

// What a call does to descriptors besides naming them.
struct HandleChanges {
  std::int32_t makes = -1;           // the slot its result goes into
  std::vector<std::int32_t> closes;  // slots that are gone after it
};

// Told of what has been done, in the order in which it happened.
class QueueClient {
 public:
  QueueClient() = default;
  QueueClient(const QueueClient&) = delete;
  QueueClient& operator=(const QueueClient&) = delete;
  virtual ~QueueClient() = default;
  virtual Result<void> call_done(QueuedCall& call, const Completion& done) = 0;
  virtual Result<void> call_skipped(QueuedCall& call, SkipReason reason) = 0;
  virtual Result<void> event_reached(EventBody& event) = 0;
};

class CallQueues {
 public:
  struct Limits {
    std::size_t entries = 65'536;  // read and not done, of all threads
    std::size_t threads = 4'000;   // alive in the target at once: those whose ends lie behind may be many
  };
  CallQueues(Target& target, QueueClient& client, Limits limits) : target_(target), client_(client), limits_(limits) {}

  [[nodiscard]] HandleSlots& handles() { return handles_; }
  // Asked before waiting for completions of which none can come before the time it is told.
  void set_waiting(std::function<Result<void>(Nanoseconds)> waiting) { waiting_ = std::move(waiting); }

  // copies: slots of the parent's table and those of the child's copy of it.
  Result<void> start_thread(const ThreadStart& start, std::vector<std::pair<std::int32_t, std::int32_t>> copies);
  // let_go: slots whose table goes with the thread.
  Result<void> end_thread(TargetThread thread, const std::vector<std::int32_t>& let_go);
  // What the parent does from here on comes after the child's end. Its end is already in the child's queue.
  Result<void> wait_for_end(TargetThread parent, TargetThread child);
  Result<void> add_call(TargetThread thread, std::unique_ptr<QueuedCall> call, HandleChanges changes);
  // A call of the replay's own; not made when a descriptor it names turns out not to be there.
  Result<void> add_own_call(TargetThread thread, std::uint32_t number, Operation operation, HandleChanges changes);
  Result<void> add_event(TargetThread thread, EventBody event);

  // Takes what has completed, without waiting while there is room for more.
  Result<void> keep_up();
  // Takes one completion; waits for it. REQUIRES: not idle().
  Result<void> take_one();
  [[nodiscard]] bool idle() const { return entries_ == 0; }
  // Forgets what has not been submitted. What has been remains to be taken.
  void abandon();
  [[nodiscard]] bool in_flight() const { return in_flight_ > 0; }

  [[nodiscard]] std::size_t entries() const { return entries_; }
  [[nodiscard]] std::uint64_t own_calls() const { return own_calls_; }

 private:
  struct OwnCall {
    std::uint32_t number = 0;
    Operation operation;
  };
  struct Start {
    ThreadStart start;
    std::vector<std::pair<std::int32_t, std::int32_t>> copies;
  };
  struct End {};
  struct WaitForEnd {
    TargetThread child;
  };
  using Work = std::variant<std::unique_ptr<QueuedCall>, std::unique_ptr<OwnCall>, std::unique_ptr<Start>,
                            std::unique_ptr<EventBody>, End, WaitForEnd>;
  struct Entry {
    Work work;
    std::vector<std::int32_t> uses;  // slots that must be known
    HandleChanges changes;
  };
  struct Queue {
    TargetThread thread;
    std::deque<Entry> entries;         // the first one stays until it is done
    std::deque<std::int32_t> closing;  // descriptors the recorded calls did not get: closed before anything else
    std::vector<std::uint32_t> end_awaited_by;
    bool started = false;
    bool in_flight = false;
    bool closes = false;   // what is in flight is the first of `closing`
    Nanoseconds due;       // of the call in flight
    Nanoseconds last_end;  // of the thread's call before; its start when there was none
  };
  enum class Step : std::uint8_t { kDone, kInFlight, kThreadEnded };

  Result<void> add(TargetThread thread, Entry entry);
  Result<void> run_ready();
  Result<void> advance(Queue& queue);
  bool is_ready(Queue& queue, const Entry& entry);
  bool may_start(Queue& queue);
  bool has_ended(TargetThread child, Queue& parent);
  Result<Step> begin(Queue& queue, Entry& entry);
  Result<Step> begin_close(Queue& queue);
  Result<Step> begin_call(Queue& queue, Entry& entry, QueuedCall& call);
  Result<Step> begin_own_call(Queue& queue, Entry& entry, OwnCall& call);
  Result<Step> begin_thread(Start& start);
  Result<Step> end_thread_now(Queue& queue);
  Result<Step> submit(Queue& queue, TargetCall call);
  SkipReason put_in_numbers(const Entry& entry, QueuedCall& call);
  Result<void> complete(const Completion& done);
  Result<void> complete_entry(Queue& queue, const Completion& done);
  void settle_handles(Queue& queue, const Entry& entry, const Syscall* recorded, const OpOutcome* outcome);
  void close_soon(Queue& queue, std::int32_t number);
  void finish(Queue& queue);
  void release(const Entry& entry);
  void wake(HandleSlot& slot);
  [[nodiscard]] Nanoseconds earliest_due() const;
  template <typename Visit>
  void for_each_slot(const Entry& entry, Visit visit) const;

  Target& target_;
  QueueClient& client_;
  Limits limits_;
  HandleSlots handles_;
  std::function<Result<void>(Nanoseconds)> waiting_;
  std::map<std::uint32_t, Queue> queues_;  // by target thread
  std::deque<std::uint32_t> ready_;        // whose next entry may be done
  std::deque<std::uint32_t> starters_;     // that wait for the number of threads to fall
  std::size_t entries_ = 0;                // read and not done, closings too
  std::size_t in_flight_ = 0;
  std::size_t living_ = 0;
  std::uint64_t own_calls_ = 0;
  bool start_anyway_ = false;
};

}  // namespace iotape
