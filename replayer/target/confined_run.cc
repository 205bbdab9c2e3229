#include "replayer/target/confined_run.h"

#include "replayer/target/channel.h"
#include "replayer/target/child_process.h"

namespace iotape {

Result<void> run_confined(const SandboxPlan& plan,
                          const std::function<Result<void>(std::atomic<std::uint64_t>& done)>& work,
                          const PrepareProgress& progress, const std::atomic<bool>* stop) {
  constexpr Nanoseconds kReport{100'000'000};
  constexpr auto kRunning = static_cast<std::uint32_t>(WorkerState::kStarting);
  IOTAPE_ASSIGN(Channel channel, Channel::make());
  const auto body = [&] {
    auto done = enter_sandbox(plan).and_then([&] { return work(channel.progress()); });
    if (!done) channel.set_error(done.error());
    channel.state().set(static_cast<std::uint32_t>(done ? WorkerState::kReady : WorkerState::kFailed));
    return 0;
  };
  IOTAPE_ASSIGN(ChildProcess child, ChildProcess::start(body));
  std::uint32_t state = kRunning;
  std::optional<int> ended;
  while (state == kRunning && !ended) {
    state = channel.state().wait_while(kRunning, Nanoseconds(0), kReport);
    if (progress) progress(channel.progress().load());
    if (stop != nullptr && stop->load()) return failure(ErrorCode::kInterrupted, "interrupted");
    if (state == kRunning) ended = child.poll();
  }
  if (child.running()) child.wait();
  if (state == kRunning) state = channel.state().value.load();
  if (state == static_cast<std::uint32_t>(WorkerState::kReady)) return {};
  if (state == static_cast<std::uint32_t>(WorkerState::kFailed)) return tl::make_unexpected(channel.error());
  return failure(ErrorCode::kIo, "the process that prepares the target " + describe_wait_status(*ended));
}

}  // namespace iotape
