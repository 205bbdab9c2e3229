// FiberHost: the built-in ext3 on fibers and a virtual clock. One fiber runs at a time and gives way only where it
// waits, in an order that depends on nothing but what the fibers did: the same work gives the same requests on any
// machine. The clock stands while somebody can run, and then jumps to the next moment that anybody waits for.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "replayer/ext3/host.h"

namespace iotape::ext3 {

class FiberHost final : public Host {
 public:
  explicit FiberHost(Nanoseconds start);
  ~FiberHost() override;

  // A fiber that run() will start; its bodies' order is the order of these calls. thread: what thread() says inside.
  // A body may call spawn itself.
  void spawn(std::uint32_t thread, std::function<void()> body);
  // A fiber that does not keep run() going: a daemon that waits for a moment for ever.
  void spawn_daemon(std::uint32_t thread, std::function<void()> body);
  // Runs until every fiber that is not a daemon has ended, or none of them can go on (a deadlock): false then.
  bool run();
  // Runs until done() says so, looked at whenever a fiber gives way. False: none of them can go on before that.
  bool run_until(const std::function<bool()>& done);

  // Only one fiber runs: the monitor is its own.
  void lock() override {}
  void unlock() override {}
  void wait(const void* channel) override;
  void wait_until(const void* channel, Nanoseconds deadline) override;
  void wake(const void* channel) override;
  [[nodiscard]] Nanoseconds now() const override { return now_; }
  [[nodiscard]] std::uint32_t thread() const override;

  // For a device that takes its time, and for think time. Outside a fiber the clock just moves on.
  void sleep_until(Nanoseconds moment);
  // Lets the others run first.
  void yield();

 private:
  struct Fiber;
  // What a suspended fiber waits for. The sets below hold each of them under both: a wake and the clock's next step
  // cost the same among ten fibers and ten thousand.
  struct Wait {
    const void* channel = nullptr;
    std::optional<Nanoseconds> deadline;
    std::uint64_t since = 0;  // sequence_ when it began
  };
  struct ByChannel {
    const void* channel;
    std::uint64_t since;
    Fiber* fiber;
    bool operator<(const ByChannel& other) const {
      return channel != other.channel ? std::less<>()(channel, other.channel) : since < other.since;
    }
  };
  struct ByDeadline {
    Nanoseconds deadline;
    std::uint64_t since;
    Fiber* fiber;
    bool operator<(const ByDeadline& other) const {
      return deadline != other.deadline ? deadline < other.deadline : since < other.since;
    }
  };
  void add(std::uint32_t thread, bool daemon, std::function<void()> body);
  void suspend(const void* channel, std::optional<Nanoseconds> deadline);
  void give_way();
  void make_ready(Fiber& fiber);
  [[nodiscard]] bool advance_clock();
  bool step();
  void forget(Fiber& fiber);

  Nanoseconds now_;
  std::uint64_t sequence_ = 0;  // orders fibers that wait for the same
  std::size_t working_ = 0;     // those that are not daemons
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::deque<Fiber*> ready_;
  std::set<ByChannel> channels_;
  std::set<ByDeadline> deadlines_;
  Fiber* current_ = nullptr;
};

}  // namespace iotape::ext3
