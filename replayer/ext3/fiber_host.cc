#include "replayer/ext3/fiber_host.h"

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>

namespace iotape::ext3 {
namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10U;

}  // namespace

struct FiberHost::Fiber {
  std::uint32_t thread = 0;
  bool daemon = false;
  bool ended = false;
  bool ready = false;
  const void* channel = nullptr;  // what it waits for
  std::optional<Nanoseconds> deadline;
  std::uint64_t since = 0;  // FiberHost::sequence_ when it began to wait
  std::function<void()> body;
  boost::context::fiber self;    // where it goes on
  boost::context::fiber caller;  // run(), while it runs
};

FiberHost::FiberHost(Nanoseconds start) : now_(start) {}
FiberHost::~FiberHost() = default;

void FiberHost::add(std::uint32_t thread, bool daemon, std::function<void()> body) {
  auto fiber = std::make_unique<Fiber>();
  Fiber* const raw = fiber.get();
  raw->thread = thread;
  raw->daemon = daemon;
  raw->body = std::move(body);
  raw->self = boost::context::fiber(std::allocator_arg, boost::context::fixedsize_stack(kStackBytes),
                                    [raw](boost::context::fiber&& caller) {
                                      raw->caller = std::move(caller);
                                      raw->body();
                                      raw->ended = true;
                                      return std::move(raw->caller);
                                    });
  fibers_.push_back(std::move(fiber));
  make_ready(*raw);
}

void FiberHost::spawn(std::uint32_t thread, std::function<void()> body) { add(thread, false, std::move(body)); }
void FiberHost::spawn_daemon(std::uint32_t thread, std::function<void()> body) { add(thread, true, std::move(body)); }

void FiberHost::make_ready(Fiber& fiber) {
  if (fiber.ready) return;
  fiber.channel = nullptr;
  fiber.deadline.reset();
  fiber.ready = true;
  ready_.push_back(&fiber);
}

std::uint32_t FiberHost::thread() const { return current_ != nullptr ? current_->thread : 0; }

void FiberHost::suspend() {
  Fiber& fiber = *current_;
  fiber.since = ++sequence_;
  fiber.caller = std::move(fiber.caller).resume();
}

void FiberHost::wait(const void* channel) {
  if (current_ == nullptr) return;  // a caller outside any fiber looks at its condition again
  current_->channel = channel;
  suspend();
}

void FiberHost::wait_until(const void* channel, Nanoseconds deadline) {
  if (deadline <= now_) return;
  if (current_ == nullptr) {
    now_ = deadline;
    return;
  }
  current_->channel = channel;
  current_->deadline = deadline;
  suspend();
}

void FiberHost::sleep_until(Nanoseconds moment) {
  const auto earlier = [&](const std::unique_ptr<Fiber>& fiber) {
    return fiber->deadline && *fiber->deadline <= moment;
  };
  if (ready_.empty() && std::ranges::none_of(fibers_, earlier))
    now_ = std::max(now_, moment);  // nobody else has anything to do until then
  else
    wait_until(nullptr, moment);
}

void FiberHost::yield() {
  if (current_ == nullptr) return;
  make_ready(*current_);
  suspend();
}

// In the order in which they began to wait.
void FiberHost::wake(const void* channel) {
  std::vector<Fiber*> woken;
  for (const auto& fiber : fibers_)
    if (!fiber->ended && fiber->channel == channel && channel != nullptr) woken.push_back(fiber.get());
  std::ranges::sort(woken, {}, &Fiber::since);
  for (Fiber* fiber : woken) make_ready(*fiber);
}

bool FiberHost::advance_clock() {
  Fiber* next = nullptr;
  for (const auto& fiber : fibers_) {
    if (fiber->ended || !fiber->deadline) continue;
    if (next == nullptr || std::pair(*fiber->deadline, fiber->since) < std::pair(*next->deadline, next->since))
      next = fiber.get();
  }
  if (next == nullptr) return false;
  now_ = std::max(now_, *next->deadline);
  make_ready(*next);
  return true;
}

void FiberHost::forget_ended() {
  std::erase_if(fibers_, [](const std::unique_ptr<Fiber>& fiber) { return fiber->ended && !fiber->ready; });
}

// One fiber runs until it gives way. False: nobody can.
bool FiberHost::step() {
  if (ready_.empty() && !advance_clock()) return false;
  Fiber& fiber = *ready_.front();
  ready_.pop_front();
  fiber.ready = false;
  current_ = &fiber;
  fiber.self = std::move(fiber.self).resume();
  current_ = nullptr;
  if (fiber.ended) forget_ended();
  return true;
}

bool FiberHost::run() {
  const auto working = [](const std::unique_ptr<Fiber>& fiber) { return !fiber->ended && !fiber->daemon; };
  while (std::ranges::any_of(fibers_, working))
    if (!step()) return false;
  return true;
}

bool FiberHost::run_until(const std::function<bool()>& done) {
  while (!done())
    if (!step()) return false;
  return true;
}

}  // namespace iotape::ext3
