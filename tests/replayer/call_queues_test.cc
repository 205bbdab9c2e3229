// What stands for a descriptor while calls wait lives no longer than it is needed.
#include <sys/syscall.h>

#include "replayer/engine/call_queues.h"
#include "tests/replayer/fake_target.h"

namespace iotape::test {
namespace {

class Nobody final : public QueueClient {
 public:
  Result<void> call_done(QueuedCall&, const Completion&) override { return {}; }
  Result<void> call_skipped(QueuedCall&, SkipReason) override { return {}; }
  Result<void> event_reached(EventBody&) override { return {}; }
};

class Queued : public testing::Test {
 protected:
  void start(std::uint32_t thread, std::optional<std::uint32_t> parent = {},
             std::vector<std::pair<std::int32_t, std::int32_t>> copies = {}) {
    ThreadStart start;
    start.thread = TargetThread(thread);
    if (parent) start.parent = TargetThread(*parent);
    ASSERT_TRUE(queues_.start_thread(start, std::move(copies)));
  }
  std::int32_t open(std::uint32_t thread) {
    const std::int32_t slot = queues_.handles().make();
    EXPECT_TRUE(queues_.add_own_call(TargetThread(thread), SYS_openat, Open{}, {slot, {}}));
    return slot;
  }
  void close(std::uint32_t thread, std::int32_t slot) {
    Close close;
    close.descriptor.number = slot;
    EXPECT_TRUE(queues_.add_own_call(TargetThread(thread), SYS_close, close, {-1, {slot}}));
  }
  void finish() {
    while (!queues_.idle()) ASSERT_TRUE(queues_.take_one());
  }
  FakeTarget target_;
  Nobody client_;
  CallQueues queues_{target_, client_, {}};
};

TEST_F(Queued, SlotsOfClosedDescriptorsAreUsedAgain) {
  start(1);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 50; ++i) close(1, open(1));
    finish();
    EXPECT_EQ(queues_.handles().in_use(), 0U);
  }
  EXPECT_EQ(queues_.own_calls(), 1000U);
}

TEST_F(Queued, ATableThatGoesTakesItsSlotsAlongOnceTheyAreCopied) {
  start(1);
  const std::int32_t slot = open(1);
  const std::int32_t copy = queues_.handles().make();
  start(2, 1, {{slot, copy}});
  ASSERT_TRUE(queues_.end_thread(TargetThread(1), {slot}));
  close(2, copy);
  ASSERT_TRUE(queues_.end_thread(TargetThread(2), {}));
  finish();
  EXPECT_EQ(queues_.handles().in_use(), 0U);
  ASSERT_EQ(target_.of<Close>().size(), 1U);
  EXPECT_EQ(target_.of<Close>()[0].descriptor.number, 100);
}

TEST_F(Queued, ADescriptorThatWasNotGotIsNotClosed) {
  target_.answer = [](const TargetCall&) { return OpOutcome{-1, EMFILE}; };
  start(1);
  close(1, open(1));
  finish();
  EXPECT_EQ(target_.of<Close>().size(), 0U);
  EXPECT_EQ(queues_.handles().in_use(), 0U);
}

}  // namespace
}  // namespace iotape::test
