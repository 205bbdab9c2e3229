// Kernel threads are named when they first submit a request; processes are not taken for one.
#include <gtest/gtest.h>
#include <unistd.h>

#include "recorder/kernel_threads.h"

namespace iotape {
namespace {

constexpr ThreadKey kKthreadd{ProcessId(2), ThreadId(2)};

TEST(KernelThreads, OneIsNamedTheFirstTimeItIsMet) {
  if (kernel_thread_name(kKthreadd.thread) != "kthreadd") GTEST_SKIP() << "a pid namespace without kthreadd";
  KernelThreads threads;
  const auto met = threads.meet(kKthreadd, Nanoseconds(7));
  ASSERT_TRUE(met.has_value());
  EXPECT_EQ(met->command, "kthreadd");
  EXPECT_EQ(met->time, Nanoseconds(7));
  EXPECT_TRUE(met->already_running);
  EXPECT_FALSE(threads.meet(kKthreadd, Nanoseconds(8)).has_value());
}

TEST(KernelThreads, AProcessIsNone) {
  EXPECT_FALSE(kernel_thread_name(ThreadId(static_cast<std::int32_t>(::getpid()))).has_value());
  EXPECT_FALSE(kernel_thread_name(ThreadId(-1)).has_value());
  KernelThreads threads;
  EXPECT_FALSE(threads.meet({ProcessId(0), ThreadId(0)}, Nanoseconds(1)).has_value());
}

}  // namespace
}  // namespace iotape
