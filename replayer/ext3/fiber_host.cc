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
  std::size_t place = 0;  // in fibers_
  Wait wait;
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
  raw->place = fibers_.size();
  fibers_.push_back(std::move(fiber));
  if (!daemon) ++working_;
  ready_.push_back(raw);
}

void FiberHost::spawn(std::uint32_t thread, std::function<void()> body) { add(thread, false, std::move(body)); }
void FiberHost::spawn_daemon(std::uint32_t thread, std::function<void()> body) { add(thread, true, std::move(body)); }

void FiberHost::make_ready(Fiber& fiber) {
  const Wait& wait = fiber.wait;
  if (wait.channel != nullptr) channels_.erase({wait.channel, wait.since, &fiber});
  if (wait.deadline) deadlines_.erase({*wait.deadline, wait.since, &fiber});
  fiber.wait = {};
  ready_.push_back(&fiber);
}

std::uint32_t FiberHost::thread() const { return current_ != nullptr ? current_->thread : 0; }

void FiberHost::suspend(const void* channel, std::optional<Nanoseconds> deadline) {
  Fiber& fiber = *current_;
  fiber.wait = {channel, deadline, ++sequence_};
  if (channel != nullptr) channels_.insert({channel, sequence_, &fiber});
  if (deadline) deadlines_.insert({*deadline, sequence_, &fiber});
  give_way();
}

void FiberHost::give_way() {
  Fiber& fiber = *current_;
  fiber.caller = std::move(fiber.caller).resume();
}

void FiberHost::wait(const void* channel) {
  if (current_ == nullptr) return;  // a caller outside any fiber looks at its condition again
  suspend(channel, std::nullopt);
}

void FiberHost::wait_until(const void* channel, Nanoseconds deadline) {
  if (deadline <= now_) return;
  if (current_ == nullptr) {
    now_ = deadline;
    return;
  }
  suspend(channel, deadline);
}

void FiberHost::sleep_until(Nanoseconds moment) {
  const bool alone = ready_.empty() && (deadlines_.empty() || deadlines_.begin()->deadline > moment);
  if (alone)
    now_ = std::max(now_, moment);  // nobody else has anything to do until then
  else
    wait_until(nullptr, moment);
}

void FiberHost::yield() {
  if (current_ == nullptr) return;
  ready_.push_back(current_);
  give_way();
}

// In the order in which they began to wait.
void FiberHost::wake(const void* channel) {
  if (channel == nullptr) return;
  for (;;) {
    const auto first = channels_.lower_bound({channel, 0, nullptr});
    if (first == channels_.end() || first->channel != channel) return;
    make_ready(*first->fiber);
  }
}

bool FiberHost::advance_clock() {
  if (deadlines_.empty()) return false;
  const ByDeadline next = *deadlines_.begin();
  now_ = std::max(now_, next.deadline);
  make_ready(*next.fiber);
  return true;
}

void FiberHost::forget(Fiber& fiber) {
  if (!fiber.daemon) --working_;
  const std::size_t place = fiber.place;
  std::swap(fibers_[place], fibers_.back());
  fibers_[place]->place = place;
  fibers_.pop_back();
}

// One fiber runs until it gives way. False: nobody can.
bool FiberHost::step() {
  if (ready_.empty() && !advance_clock()) return false;
  Fiber& fiber = *ready_.front();
  ready_.pop_front();
  current_ = &fiber;
  fiber.self = std::move(fiber.self).resume();
  current_ = nullptr;
  if (fiber.ended) forget(fiber);
  return true;
}

bool FiberHost::run() {
  while (working_ > 0)
    if (!step()) return false;
  return true;
}

bool FiberHost::run_until(const std::function<bool()>& done) {
  while (!done())
    if (!step()) return false;
  return true;
}

}  // namespace iotape::ext3
