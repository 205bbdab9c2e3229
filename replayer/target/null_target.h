// null: answers every call at once, as if it had succeeded, and touches nothing. What a replay takes against it is the
// replayer's own cost; its lateness is the best this machine can do.
#pragma once

#include <vector>

#include "replayer/target/target.h"

namespace iotape {

class NullTarget final : public Target {
 public:
  [[nodiscard]] TargetFacts facts() const override;
  [[nodiscard]] Nanoseconds now() const override;
  Result<void> prepare(const InitialTree& tree, const PrepareProgress& progress) override;
  Result<void> make_cold() override { return {}; }
  Result<void> start_thread(const ThreadStart& start) override;
  Result<void> end_thread(TargetThread thread) override;
  Result<void> submit(TargetCall call) override;
  Result<Completion> next_completion() override;
  Result<void> finish(bool sync) override;

 private:
  // A heap ordered by not_before: the call that is due first completes first.
  std::vector<TargetCall> pending_;
  std::int64_t next_handle_ = 0;
};

}  // namespace iotape
