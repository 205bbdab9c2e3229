// A target whose calls are carried out by a worker process confined to its place: dir: and kernel:.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "replayer/target/channel.h"
#include "replayer/target/child_process.h"
#include "replayer/target/make_target.h"
#include "replayer/target/policy.h"
#include "replayer/target/target_place.h"
#include "replayer/target/worker.h"

namespace iotape {

class SandboxedTarget final : public Target {
 public:
  SandboxedTarget(std::unique_ptr<TargetPlace> place, const TargetOptions& options, BlockLimits block_limits);
  ~SandboxedTarget() override;

  [[nodiscard]] TargetFacts facts() const override;
  [[nodiscard]] Nanoseconds now() const override;
  Result<void> prepare(const InitialTree& tree, const PrepareProgress& progress) override;
  Result<void> make_cold() override;
  Result<void> start_thread(const ThreadStart& start) override;
  [[nodiscard]] std::optional<ThreadKey> system_thread(TargetThread thread) const override;
  Result<void> end_thread(TargetThread thread) override;
  Result<void> submit(TargetCall call) override;
  Result<Completion> next_completion() override;
  [[nodiscard]] bool has_completion() const override;
  Result<std::optional<std::uint64_t>> space_used() override;
  Result<void> finish(bool sync) override;

 private:
  struct InFlight {
    TargetThread thread;
    std::uint64_t cookie = 0;
    std::uint32_t number = 0;
    bool reads_directory = false;
    bool adjusted = false;
  };

  Result<void> ensure_worker();
  Result<void> check_worker(bool stop_matters = true);
  Result<void> ask_warden(WardenCommand command, std::uint32_t slot);
  Result<void> wait_for_change(WaitWord& word, std::uint32_t old);
  Result<std::uint32_t> slot_of(TargetThread thread) const;
  Result<std::uint32_t> take_slot(TargetThread thread);
  void release_slot(TargetThread thread);
  void complete_unissued(const TargetCall& call, SkipReason reason);
  Completion collect(std::uint32_t slot);

  std::unique_ptr<TargetPlace> place_;
  TargetOptions options_;
  Policy policy_;
  BlockLimits block_limits_;
  std::optional<Channel> channel_;
  ChildProcess worker_;
  std::unordered_map<TargetThread, std::uint32_t> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<InFlight> in_flight_;  // by slot
  std::deque<Completion> unissued_;
  std::size_t issued_ = 0;       // calls the worker has and has not answered
  Nanoseconds latest_deadline_;  // of a submitted call; the engine need not spin before it
  std::optional<std::uint64_t> space_at_end_;
};

}  // namespace iotape
