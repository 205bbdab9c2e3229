#include "replayer/target/null_target.h"

#include <algorithm>
#include <type_traits>

#include "replayer/target/host_clock.h"

namespace iotape {
namespace {

constexpr auto kDueLater = [](const TargetCall& a, const TargetCall& b) { return a.not_before > b.not_before; };

template <typename Op>
inline constexpr bool kMakesHandle = std::is_same_v<Op, Open> || std::is_same_v<Op, Duplicate>;
template <typename Op>
inline constexpr bool kMovesBytes =
    std::is_same_v<Op, Read> || std::is_same_v<Op, Write> || std::is_same_v<Op, Transfer>;

std::int64_t successful_value(const Operation& operation, std::int64_t& next_handle) {
  return std::visit(
      [&](const auto& op) -> std::int64_t {
        using Op = std::remove_cvref_t<decltype(op)>;
        if constexpr (kMakesHandle<Op>) return next_handle++;
        if constexpr (kMovesBytes<Op>) return op.length;
        if constexpr (std::is_same_v<Op, Seek>) return op.offset;
        return 0;
      },
      operation);
}

}  // namespace

TargetFacts NullTarget::facts() const {
  TargetFacts facts;
  facts.description = "null:";
  facts.filesystem = "null";
  facts.answers = false;
  return facts;
}

Nanoseconds NullTarget::now() const { return host_now(); }
Result<void> NullTarget::prepare(const InitialTree&, const PrepareProgress&) { return {}; }
Result<void> NullTarget::start_thread(const ThreadStart&) { return {}; }
Result<void> NullTarget::end_thread(TargetThread) { return {}; }
Result<void> NullTarget::finish(bool) { return {}; }

Result<void> NullTarget::submit(TargetCall call) {
  pending_.push_back(std::move(call));
  std::ranges::push_heap(pending_, kDueLater);
  return {};
}

Result<Completion> NullTarget::next_completion() {
  if (pending_.empty()) return failure(ErrorCode::kIo, "null: no call is in flight");
  std::ranges::pop_heap(pending_, kDueLater);
  const TargetCall call = std::move(pending_.back());
  pending_.pop_back();
  Completion completion;
  completion.thread = call.thread;
  completion.cookie = call.cookie;
  completion.start = wait_until(call.not_before);
  completion.outcome = {successful_value(call.operation, next_handle_), 0};
  completion.end = host_now();
  return completion;
}

}  // namespace iotape
