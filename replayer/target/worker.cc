#include "replayer/target/worker.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <memory>
#include <string>

#include "replayer/target/issue.h"
#include "replayer/target/operation_codec.h"
#include "replayer/target/policy.h"

namespace iotape {
namespace {

constexpr Nanoseconds kForever{3'600'000'000'000};
constexpr int kInterruptSignal = SIGUSR1;
constexpr std::size_t kStackBytes = std::size_t{256} << 10U;

void do_nothing(int /*signal*/) {}

// Without SA_RESTART: a call that is interrupted must return.
void install_interrupt_handler() {
  struct sigaction action {};
  action.sa_handler = do_nothing;
  ::sigaction(kInterruptSignal, &action, nullptr);
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Keeps what is permitted, makes nothing of it effective: permission bits count again.
void lay_down_privileges() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return;
  for (auto& word : data) word.effective = 0;
  ::syscall(SYS_capset, &header, data.data());
}

class Worker {
 public:
  Worker(Channel& channel, DataPool pool, BlockLimits block_limits)
      : channel_(channel), shared_{std::move(pool), {}, {}, {}}, block_limits_(block_limits) {}

  int run_warden();

 private:
  struct ThreadArgument {
    Worker* worker;
    std::size_t index;
  };
  static void* thread_main(void* argument);

  int start_thread(std::size_t index);
  void run_thread(std::size_t index);
  int take_context(std::size_t index);
  void carry_out(std::size_t index, IssueContext& context);
  int sync_target();
  int measure_space();
  int obey_warden(const Channel::Warden& warden);
  void interrupt_waiters();
  ThreadLife wait_for_start(std::size_t index);

  Channel& channel_;
  IssueShared shared_;
  BlockLimits block_limits_;
  Nanoseconds waited_;  // by the calls that were interrupted
};

void* Worker::thread_main(void* argument) {
  const std::unique_ptr<ThreadArgument> start(static_cast<ThreadArgument*>(argument));
  start->worker->run_thread(start->index);
  return nullptr;
}

ThreadLife Worker::wait_for_start(std::size_t index) {
  constexpr auto kStarting = static_cast<std::uint32_t>(ThreadLife::kStarting);
  std::uint32_t life = kStarting;
  while (life == kStarting) life = channel_.slot(index).life.wait_while(kStarting, Nanoseconds(0), kForever);
  return static_cast<ThreadLife>(life);
}

// The starter waits until the new thread has its own copies: what it changes afterwards must not be in them.
int Worker::start_thread(std::size_t index) {
  auto argument = std::make_unique<ThreadArgument>(ThreadArgument{this, index});
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread{};
  const int error = ::pthread_create(&thread, &attributes, thread_main, argument.get());
  ::pthread_attr_destroy(&attributes);
  if (error == 0) {
    static_cast<void>(argument.release());
    wait_for_start(index);
    return 0;
  }
  channel_.slot(index).failure = error;
  channel_.slot(index).life.set(static_cast<std::uint32_t>(ThreadLife::kFailed));
  return error;
}

int Worker::take_context(std::size_t index) {
  const SlotStart& start = channel_.slot(index).start;
  if (!start.share_descriptors && ::unshare(CLONE_FILES) != 0) return errno;
  if (!start.share_filesystem && ::unshare(CLONE_FS) != 0) return errno;
  if (!start.has_parent) {
    ::umask(start.umask);
    const std::span<std::byte> area = channel_.request_area(index);
    const std::string directory(reinterpret_cast<const char*>(area.data()), channel_.slot(index).request_bytes);
    // A working directory the target does not have is the trace's affair: its relative paths will miss.
    if (::chdir(directory.c_str()) != 0 && ::chdir("/") != 0) return errno;
  }
  if (!start.privileged) lay_down_privileges();
  return 0;
}

void Worker::run_thread(std::size_t index) {
  ThreadSlot& slot = channel_.slot(index);
  keep_timers_sharp();
  slot.system_thread.store(static_cast<std::int32_t>(::syscall(SYS_gettid)));
  std::uint32_t seen = slot.request.value.load(std::memory_order_acquire);
  slot.failure = take_context(index);
  IssueContext context{shared_, channel_.response_area(index), {}, {}, 0};
  slot.life.set(static_cast<std::uint32_t>(slot.failure == 0 ? ThreadLife::kRunning : ThreadLife::kFailed));
  bool running = slot.failure == 0;
  while (running) {
    std::uint32_t posted = seen;
    while (posted == seen) {
      posted = slot.request.wait_while(seen, channel_.begin_spin(), kForever);
      channel_.end_spin();
    }
    seen = posted;
    // Read once: the engine writes the next command as soon as this one's answer is out.
    const SlotCommand command = slot.command;
    if (command == SlotCommand::kCall) carry_out(index, context);
    if (command == SlotCommand::kStartChild) {
      start_thread(slot.child);
      Channel::bump(slot.answered);
    }
    running = command != SlotCommand::kEnd;
  }
  // Closed here and not by the dying thread, so that locks and deleted files are gone when the engine is told.
  ::close_range(0, UINT_MAX, CLOSE_RANGE_UNSHARE);
  slot.life.set(static_cast<std::uint32_t>(ThreadLife::kFree));
}

void Worker::carry_out(std::size_t index, IssueContext& context) {
  ThreadSlot& slot = channel_.slot(index);
  const auto operation = decode_operation(channel_.request_area(index).first(slot.request_bytes));
  slot.interrupted.store(false, std::memory_order_relaxed);
  const Nanoseconds now = wait_until(slot.not_before);
  IssuedCall issued{-ENOSYS, now, now};
  const Nanoseconds computed = thread_computed();
  if (operation) {
    const bool waits = may_wait(*operation);
    if (waits) slot.waiting_since.store(now.value, std::memory_order_relaxed);
    issued = issue(*operation, slot.number, context);
    if (waits) slot.waiting_since.store(0, std::memory_order_relaxed);
  }
  slot.raw = issued.raw;
  slot.begun = issued.start;
  slot.ended = issued.end;
  const Nanoseconds waited = issued.end - issued.start - (thread_computed() - computed);
  slot.blocked = std::max(waited, Nanoseconds{});
  slot.opened = context.opened;
  slot.response_bytes = static_cast<std::uint32_t>(context.response_bytes);
  channel_.complete(index);
}

int Worker::sync_target() {
  const int top = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (top < 0) return errno;
  const int error = ::syncfs(top) == 0 ? 0 : errno;
  ::close(top);
  return error;
}

int Worker::measure_space() {
  struct statfs state {};
  if (::statfs("/", &state) != 0) return errno;
  const std::uint64_t used = state.f_blocks > state.f_bfree ? state.f_blocks - state.f_bfree : 0;
  channel_.warden().space = used * static_cast<std::uint64_t>(state.f_bsize);
  return 0;
}

int Worker::obey_warden(const Channel::Warden& warden) {
  switch (warden.command) {
    case WardenCommand::kStartThread:
      return start_thread(warden.slot);
    case WardenCommand::kSync:
      return sync_target();
    case WardenCommand::kSpace:
      return measure_space();
    case WardenCommand::kExit:
      break;
  }
  return 0;
}

void Worker::interrupt_waiters() {
  const Nanoseconds now = host_now();
  const std::uint32_t slots = channel_.highest_slot().load();
  for (std::uint32_t i = 0; i < slots; ++i) {
    ThreadSlot& slot = channel_.slot(i);
    const std::int64_t since = slot.waiting_since.load(std::memory_order_relaxed);
    const Nanoseconds limit =
        waited_ < block_limits_.total ? block_limits_.each : std::min(block_limits_.each, kShortestWait);
    if (since == 0 || now.value - since < limit.value) continue;
    // The same wait is seen again until the call has returned.
    if (!slot.interrupted.load(std::memory_order_relaxed)) waited_ += now - Nanoseconds(since);
    slot.interrupted.store(true, std::memory_order_relaxed);
    ::syscall(SYS_tgkill, ::getpid(), slot.system_thread.load(), kInterruptSignal);
  }
}

int Worker::run_warden() {
  constexpr std::int64_t kShortest = 10'000'000;
  constexpr std::int64_t kLongest = 500'000'000;
  const Nanoseconds usual(std::clamp(block_limits_.each.value / 4, kShortest, kLongest));
  Channel::Warden& warden = channel_.warden();
  std::uint32_t seen = warden.request.value.load(std::memory_order_acquire);
  channel_.state().set(static_cast<std::uint32_t>(WorkerState::kReady));
  while (true) {
    const Nanoseconds period = waited_ < block_limits_.total ? usual : Nanoseconds(kShortest);
    const std::uint32_t posted = warden.request.wait_while(seen, Nanoseconds(0), period);
    interrupt_waiters();
    if (posted == seen) continue;
    seen = posted;
    if (warden.command == WardenCommand::kExit) return 0;
    warden.result = obey_warden(warden);
    Channel::bump(warden.done);
  }
}

int fail(Channel& channel, const Error& error) {
  channel.set_error(error);
  channel.state().set(static_cast<std::uint32_t>(WorkerState::kFailed));
  return 1;
}

}  // namespace

int run_worker(Channel& channel, const WorkerPlan& plan) {
  // Otherwise malloc counts processors in /sys when threads appear: calls of ours on the target's files.
  ::mallopt(M_ARENA_MAX, 2);
  install_interrupt_handler();
  raise_descriptor_limit();
  keep_timers_sharp();
  auto pool = DataPool::make(plan.fill, plan.seed);
  if (!pool) return fail(channel, pool.error());
  if (auto confined = enter_sandbox(plan.sandbox); !confined) return fail(channel, confined.error());
  Worker worker(channel, std::move(*pool), plan.block_limits);
  return worker.run_warden();
}

}  // namespace iotape
