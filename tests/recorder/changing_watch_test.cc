// Which directories a recording changes, as `record` tells them at its end.
#include "recorder/changing_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace iotape {
namespace {

class Nothing final : public RecordingSink {
 public:
  Result<void> append(EventBody) override { return {}; }
  Result<void> checkpoint(std::uint64_t, std::uint64_t) override { return {}; }
};

Syscall changes_mode(const std::string& path) {
  ChangeModePath change;
  change.path.state = TextState::kPresent;
  change.path.bytes = path;
  change.mode = 0755;
  Syscall call;
  call.number = SYS_chmod;
  call.operation = change;
  return call;
}

TEST(ChangingWatch, ANameInProcOrSysIsNoDirectoryThatAReplayCouldPutSomewhere) {
  Nothing nothing;
  ChangingWatch watch(nothing);
  for (const char* path : {"/proc/self/fd/5", "/proc/x", "/sys/block/loop0/ro"})
    ASSERT_TRUE(watch.append(changes_mode(path)));
  EXPECT_THAT(watch.roots(), testing::IsEmpty());
  ASSERT_TRUE(watch.append(changes_mode("/process/a")));
  ASSERT_TRUE(watch.append(changes_mode("/process/b")));
  ASSERT_EQ(watch.roots().size(), 1U);
  EXPECT_EQ(watch.roots()[0].path, "/process");
  EXPECT_EQ(watch.roots()[0].calls, 2U);
}

}  // namespace
}  // namespace iotape
