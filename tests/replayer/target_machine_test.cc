// ext3: targets on the simulated machine: virtual time, determinism, threads that compute and wait, a key each.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "analysis/disk/profile_parser.h"
#include "tests/replayer/target_driver.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

using test::at;
using test::Driver;
using test::failed_with;
using test::handle;
using test::open_call;
using test::read_call;
using test::write_call;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1'000 * kMillisecond;
const std::string kMachine = "ext3:,size=1G,disk=laptop-2002,memory=64M";

template <typename Transfer>
Transfer at_offset(Transfer call, std::int64_t offset) {
  call.position.value = offset;
  return call;
}

class Machine {
 public:
  explicit Machine(const std::string& spec) : driver_(spec) {
    EXPECT_TRUE(driver_) << driver_.error().message;
    EXPECT_TRUE(driver_.target().watch_requests());
  }
  TargetThread start() {
    ThreadStart start;
    const auto number = static_cast<std::int32_t>(++threads_ * 100);
    start.recorded = {ProcessId(number), ThreadId(number)};
    return driver_.start(start);
  }
  std::int64_t must(TargetThread thread, long number, Operation operation) {
    return driver_.must(thread, number, std::move(operation));
  }
  std::int64_t make(TargetThread thread, const std::string& path, std::int64_t bytes) {
    const std::int64_t opened = must(thread, SYS_openat, open_call(path, O_CREAT | O_RDWR, 0644));
    if (bytes > 0) must(thread, SYS_write, write_call(opened, bytes));
    return opened;
  }
  void compute(TargetThread thread, Nanoseconds inside, Nanoseconds before = {}) {
    submit_work(thread, inside, before);
    EXPECT_TRUE(target().next_completion());
  }
  void submit_work(TargetThread thread, Nanoseconds inside, Nanoseconds before = {}) {
    TargetCall call{thread, 0, SYS_umask, SetFileCreationMask{022}, {}, {before, inside}};
    EXPECT_TRUE(target().submit(std::move(call)));
  }
  const std::vector<BlockRequest>& requests() {
    EXPECT_TRUE(target().take_requests(collected_));
    return collected_.requests;
  }
  // Those that came since the last time.
  std::vector<BlockRequest> new_requests() {
    (void)requests();
    return std::exchange(collected_.requests, {});
  }
  // Everything that creating and writing reads is in memory, nothing is dirty, nothing is remembered of it.
  void settle(TargetThread thread) {
    make(thread, "/settled", 4096);
    must(thread, SYS_sync, SyncAll{});
    (void)new_requests();
  }
  Target& target() { return driver_.target(); }
  Driver& driver() { return driver_; }

 private:
  Driver driver_;
  std::uint32_t threads_ = 0;
  test::CollectedRequests collected_;
};

// ---- time ----

TEST(MachineTarget, TimeStandsWhileNothingIsModelled) {
  Machine machine(kMachine);
  const TargetThread thread = machine.start();
  const Nanoseconds before = machine.target().now();
  for (int i = 0; i < 100; ++i) machine.must(thread, SYS_umask, SetFileCreationMask{022});
  EXPECT_EQ(machine.target().now(), before);
  EXPECT_EQ(machine.target().facts().clock, ClockKind::kVirtual);
}

TEST(MachineTarget, ACallTakesTheRecordedWorkTimesTheFactor) {
  Machine machine(kMachine + ",cpu=3");
  const TargetThread thread = machine.start();
  const Nanoseconds before = machine.target().now();
  machine.compute(thread, Nanoseconds(2 * kMillisecond), Nanoseconds(5 * kMillisecond));
  EXPECT_EQ((machine.target().now() - before).value, 21 * kMillisecond);
}

TEST(MachineTarget, TheCallBeginsWhenItsThreadHasDoneThinking) {
  Machine machine(kMachine);
  const TargetThread thread = machine.start();
  const Nanoseconds before = machine.target().now();
  machine.submit_work(thread, Nanoseconds(kMillisecond), Nanoseconds(4 * kMillisecond));
  const auto done = machine.target().next_completion();
  ASSERT_TRUE(done);
  EXPECT_EQ((done->start - before).value, 4 * kMillisecond);
  EXPECT_EQ((done->end - done->start).value, kMillisecond);
}

TEST(MachineTarget, WhatACallWaitedForIsTold) {
  Machine machine(kMachine + ",cpu=2");
  const TargetThread thread = machine.start();
  const std::int64_t opened = machine.make(thread, "/file", 4096);
  TargetCall call{thread, 0, SYS_fsync, Sync{handle(opened)}, {}, {{}, Nanoseconds(kMillisecond)}};
  ASSERT_TRUE(machine.target().submit(std::move(call)));
  const auto done = machine.target().next_completion();
  ASSERT_TRUE(done);
  EXPECT_GT(done->blocked.value, kMillisecond);
  EXPECT_EQ((done->end - done->start - done->blocked).value, 2 * kMillisecond);
}

TEST(MachineTarget, ThreadsShareOneProcessorAndHaveTwoToThemselves) {
  const auto together = [](const std::string& keys) {
    Machine machine(kMachine + keys);
    const TargetThread first = machine.start();
    const TargetThread second = machine.start();
    const Nanoseconds before = machine.target().now();
    machine.submit_work(first, Nanoseconds(30 * kMillisecond));
    machine.submit_work(second, Nanoseconds(30 * kMillisecond));
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(machine.target().next_completion());
    return (machine.target().now() - before).value;
  };
  EXPECT_EQ(together(""), 60 * kMillisecond);
  EXPECT_EQ(together(",cpus=2"), 30 * kMillisecond);
}

TEST(MachineTarget, AReadWaitsForTheDiskAndASecondOneForNothing) {
  Machine machine(kMachine);
  TargetThread thread = machine.start();
  machine.make(thread, "/file", 8192);
  machine.must(thread, SYS_sync, SyncAll{});
  ASSERT_TRUE(machine.target().end_thread(thread));
  ASSERT_TRUE(machine.target().make_cold());
  thread = machine.start();
  const std::int64_t opened = machine.must(thread, SYS_openat, open_call("/file", O_RDONLY));
  const Nanoseconds before = machine.target().now();
  machine.must(thread, SYS_read, read_call(opened, 4096));
  const Nanoseconds between = machine.target().now();
  EXPECT_GT((between - before).value, kMillisecond);
  EXPECT_LT((between - before).value, 60 * kMillisecond);
  machine.must(thread, SYS_pread64, at_offset(read_call(opened, 4096), 0));
  EXPECT_EQ(machine.target().now(), between);
}

TEST(MachineTarget, OneThreadComputesWhileAnotherWaitsForTheDisk) {
  Machine machine(kMachine);
  const TargetThread writer = machine.start();
  const TargetThread other = machine.start();
  const std::int64_t opened = machine.make(writer, "/file", 4096);
  const Nanoseconds before = machine.target().now();
  machine.driver().submit(writer, SYS_fsync, Sync{handle(opened)}, 1);
  machine.submit_work(other, Nanoseconds(kMillisecond));
  const auto first = machine.target().next_completion();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->thread, other);
  EXPECT_EQ((first->end - before).value, kMillisecond);
  const auto second = machine.target().next_completion();
  ASSERT_TRUE(second);
  EXPECT_GT((second->end - before).value, kMillisecond);
}

TEST(MachineTarget, TwoWritersOfOneFileWaitForEachOther) {
  Machine machine(kMachine);
  const TargetThread first = machine.start();
  const TargetThread second = machine.start();
  machine.make(first, "/file", 1 << 20);
  machine.must(first, SYS_sync, SyncAll{});
  ASSERT_TRUE(machine.target().end_thread(first));
  ASSERT_TRUE(machine.target().end_thread(second));
  ASSERT_TRUE(machine.target().make_cold());
  // Each changes one byte of a block that must be read first; the inode's lock lets one read at a time.
  std::map<std::uint32_t, Nanoseconds> ends;
  std::vector<TargetThread> threads{machine.start(), machine.start()};
  std::vector<std::int64_t> opened;
  for (const TargetThread thread : threads)
    opened.push_back(machine.must(thread, SYS_openat, open_call("/file", O_WRONLY)));
  machine.driver().submit(threads[0], SYS_pwrite64, at_offset(write_call(opened[0], 1), 900'001), 1);
  machine.driver().submit(threads[1], SYS_pwrite64, at_offset(write_call(opened[1], 1), 1), 2);
  for (int i = 0; i < 2; ++i) {
    const auto done = machine.target().next_completion();
    ASSERT_TRUE(done);
    EXPECT_TRUE(done->outcome.ok());
    ends[done->thread.value] = done->end;
  }
  EXPECT_LT(ends[threads[0].value], ends[threads[1].value]);
  const auto& requests = machine.requests();
  ASSERT_GE(requests.size(), 2U);
  const BlockRequest& last = requests.back();
  EXPECT_GE(last.parts.front().queue, ends[threads[0].value]);
}

// ---- the machine's own threads ----

TEST(MachineTarget, TheJournalCommitsAfterItsIntervalWhileEverybodyComputes) {
  Machine machine(kMachine + ",commit=5s");
  const TargetThread thread = machine.start();
  machine.settle(thread);
  const Nanoseconds before = machine.target().now();
  machine.make(thread, "/file", 0);
  machine.compute(thread, Nanoseconds(4'900 * kMillisecond));
  EXPECT_TRUE(machine.new_requests().empty());
  machine.compute(thread, Nanoseconds(1'000 * kMillisecond));
  const std::vector<BlockRequest> requests = machine.new_requests();
  ASSERT_FALSE(requests.empty());
  EXPECT_GE((*requests.front().issue - before).value, 5 * kSecond - kMillisecond);
  for (const BlockRequest& request : requests)
    for (const RequestPart& part : request.parts) EXPECT_EQ(part.cause, BlockCause::kJournal);
}

TEST(MachineTarget, OneCommitByHand) {
  Machine machine(kMachine + ",barrier=off");
  const TargetThread thread = machine.start();
  machine.settle(thread);
  const std::int64_t opened = machine.make(thread, "/file", 4096);
  machine.must(thread, SYS_fsync, Sync{handle(opened)});
  const std::vector<BlockRequest> requests = machine.new_requests();
  // The data; descriptor, inode and block bitmap, group descriptors, inode table (the directory's inode and the file's
  // lie in one block) and directory, in one request where the journal file is in one piece; the commit block.
  ASSERT_GE(requests.size(), 3U);
  EXPECT_EQ(requests.front().parts.front().cause, BlockCause::kData);
  std::int64_t logged = 0;
  for (std::size_t i = 1; i < requests.size(); ++i) {
    EXPECT_EQ(requests[i].parts.front().cause, BlockCause::kJournal);
    EXPECT_TRUE(i == 1 || requests[i].sector > requests[i - 1].sector);
    logged += requests[i].bytes;
  }
  EXPECT_EQ(logged, 7 * 4096);
  EXPECT_EQ(requests.back().bytes, 4096);
}

TEST(MachineTarget, WhoDirtiesTooMuchWaitsForTheFlusher) {
  Machine machine(kMachine);
  const TargetThread thread = machine.start();
  machine.settle(thread);
  const std::int64_t opened = machine.make(thread, "/file", 0);
  const Nanoseconds before = machine.target().now();
  // More than a bitmap has to be read for.
  constexpr std::int64_t kAlmostNothing = 100 * kMillisecond;
  int free_until = 0;
  for (int i = 0; i < 40; ++i) {
    machine.must(thread, SYS_write, write_call(opened, 1 << 20));
    if ((machine.target().now() - before).value < kAlmostNothing) free_until = i + 1;
  }
  // 64 MiB of memory leave 40 MiB for the cache: 40 % are 16 MiB.
  EXPECT_GE(free_until, 14);
  EXPECT_LE(free_until, 20);
  // 24 MiB and more went to a disk that takes some 25 MB a second.
  EXPECT_GT((machine.target().now() - before).value, 500 * kMillisecond);
  EXPECT_LT((machine.target().now() - before).value, 5 * kSecond);
}

TEST(MachineTarget, OldDataIsWrittenAfterThirtySeconds) {
  Machine machine(kMachine + ",data=writeback,commit=100s");
  const TargetThread thread = machine.start();
  machine.settle(thread);
  machine.compute(thread, Nanoseconds(40 * kSecond));  // what settling left dirty is written
  (void)machine.new_requests();
  machine.make(thread, "/file", 4096);
  machine.compute(thread, Nanoseconds(29 * kSecond));
  EXPECT_TRUE(machine.new_requests().empty());
  machine.compute(thread, Nanoseconds(8 * kSecond));
  const std::vector<BlockRequest> requests = machine.new_requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests.front().parts.front().cause, BlockCause::kData);
  EXPECT_EQ(requests.front().parts.front().dirtier.thread, ThreadId(100));
}

TEST(MachineTarget, AWorkingSetThatDoesNotFitIsReadAgain) {
  const auto second_pass = [](const std::string& memory) {
    Machine machine("ext3:,size=1G,disk=laptop-2002,memory=" + memory);
    const TargetThread thread = machine.start();
    const std::int64_t opened = machine.make(thread, "/file", 48 << 20);
    machine.must(thread, SYS_fsync, Sync{handle(opened)});
    const std::size_t before = machine.requests().size();
    Seek start{handle(opened), 0, SEEK_SET};
    machine.must(thread, SYS_lseek, start);
    for (int i = 0; i < 48; ++i) machine.must(thread, SYS_read, read_call(opened, 1 << 20));
    return machine.requests().size() - before;
  };
  EXPECT_GT(second_pass("32M"), 300U);
  EXPECT_EQ(second_pass("256M"), 0U);
}

// ---- determinism and sums ----

// Eight threads that create, write, read, rename and remove, each with calls in flight while the others' are.
std::string busy_run(const std::string& spec, std::vector<BlockRequest>* kept = nullptr) {
  Machine machine(spec);
  constexpr std::uint32_t kThreads = 8;
  struct Actor {
    TargetThread thread;
    std::mt19937 random;
    int left = 150;
    std::int64_t opened = -1;
  };
  std::map<std::uint32_t, Actor> actors;
  const auto next_call = [&](Actor& actor) {
    const std::string name = "/d" + std::to_string(actor.random() % 4) + "/f" + std::to_string(actor.random() % 40);
    TargetCall call;
    call.thread = actor.thread;
    call.work = {Nanoseconds(actor.random() % 200'000), Nanoseconds(actor.random() % 50'000)};
    switch (actor.random() % 7) {
      case 0:
        call.number = SYS_truncate;
        call.operation = TruncatePath{at(name), static_cast<std::int64_t>(actor.random() % 90'000)};
        break;
      case 1:
        call.number = SYS_unlink;
        call.operation = Unlink{at(name), 0};
        break;
      case 2:
        call.number = SYS_sync;
        call.operation = SyncAll{};
        break;
      case 3:
        call.number = SYS_mkdir;
        call.operation = MakeDirectory{at(name + "d"), 0755};
        break;
      case 4:
      case 5:
        call.number = SYS_write;
        call.operation = write_call(actor.opened, static_cast<std::int64_t>(actor.random() % 60'000));
        break;
      default:
        call.number = SYS_openat;
        call.operation = open_call(name, O_CREAT | O_RDWR | O_TRUNC);
        call.cookie = 1;
    }
    --actor.left;
    EXPECT_TRUE(machine.target().submit(std::move(call)));
  };
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    const TargetThread thread = machine.start();
    if (i == 0)
      for (int d = 0; d < 4; ++d) machine.must(thread, SYS_mkdir, MakeDirectory{at("/d" + std::to_string(d)), 0755});
    actors[thread.value] = {thread, std::mt19937(i), 150, -1};
  }
  std::string told;
  for (auto& [number, actor] : actors) next_call(actor);
  Nanoseconds last = machine.target().now();
  for (std::uint32_t under_way = kThreads; under_way > 0;) {
    const auto done = machine.target().next_completion();
    if (!done) return "broken: " + done.error().message;
    EXPECT_GE(done->end, last) << "time ran backwards";
    EXPECT_GE(done->end, done->start);
    last = done->end;
    told += fmt::format("{} {} {} {}\n", done->thread.value, done->start.value, done->end.value, done->outcome.value);
    Actor& actor = actors[done->thread.value];
    if (done->cookie == 1 && done->outcome.ok()) actor.opened = done->outcome.value;
    if (actor.left == 0)
      --under_way;
    else
      next_call(actor);
  }
  EXPECT_TRUE(machine.target().finish(true));
  for (const BlockRequest& request : machine.requests())
    told += fmt::format("{} {} {} {}\n", request.sector.value, request.bytes, request.issue->value,
                        request.complete->value);
  if (kept != nullptr) *kept = machine.requests();
  return told;
}

class MachineModes : public ::testing::TestWithParam<const char*> {};

TEST_P(MachineModes, EightThreadsTwiceAreTheSameToTheNanosecond) {
  const std::string spec = std::string("ext3:,size=1G,memory=64M,disk=") + GetParam();
  const std::string once = busy_run(spec);
  EXPECT_THAT(once, Not(HasSubstr("broken")));
  EXPECT_EQ(once, busy_run(spec));
}

INSTANTIATE_TEST_SUITE_P(Modes, MachineModes,
                         ::testing::Values("laptop-2002,data=ordered", "laptop-2002,data=writeback",
                                           "scsi-10k,data=journal", "laptop-2002,data=none",
                                           "laptop-2002,elevator=deadline,cpus=2", "laptop-2002,journal=4M", "ssd"));

TEST(MachineTarget, RequestsOfABusyRunAreServedOneAtATimeAndNameTheirThreads) {
  std::vector<BlockRequest> requests;
  (void)busy_run(kMachine, &requests);
  ASSERT_GT(requests.size(), 100U);
  Nanoseconds last;
  std::set<std::int32_t> dirtiers;
  for (const BlockRequest& request : requests) {
    EXPECT_GE(*request.issue, last);
    last = *request.complete;
    std::int64_t bytes = 0;
    for (const RequestPart& part : request.parts) {
      bytes += part.bytes;
      EXPECT_NE(part.cause, BlockCause::kUnknown);
      if (part.dirtier.thread.value < 1000 && part.dirtier.thread.value > 0) dirtiers.insert(part.dirtier.thread.value);
    }
    EXPECT_EQ(bytes, request.bytes);
  }
  EXPECT_THAT(dirtiers, ::testing::IsSubsetOf({100, 200, 300, 400, 500, 600, 700, 800}));
  EXPECT_GE(dirtiers.size(), 6U);
}

// ---- keys ----

class MachineKey : public ::testing::TestWithParam<const char*> {};

TEST_P(MachineKey, ChangesWhatABusyRunTakes) {
  const std::string spec = "ext3:,size=1G,memory=64M,disk=laptop-2002";
  EXPECT_NE(busy_run(spec), busy_run(std::string(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(Keys, MachineKey,
                         ::testing::Values("ext3:,size=1G,memory=64M,disk=laptop-2002,elevator=noop",
                                           "ext3:,size=1G,memory=64M,disk=laptop-2002,elevator=deadline",
                                           "ext3:,size=1G,memory=64M,disk=laptop-2002,position=inner",
                                           "ext3:,size=1G,memory=64M,disk=laptop-2002,position=middle",
                                           "ext3:,size=1G,memory=64M,disk=laptop-2002,cpu=9",
                                           "ext3:,size=1G,memory=64M,disk=laptop-2002,cpus=2",
                                           "ext3:,size=1G,memory=64M,disk=laptop-2002,commit=1ms",
                                           "ext3:,size=1G,memory=64M,disk=scsi-10k",
                                           "ext3:,size=1G,memory=64M,disk=ssd"));

// ---- what leads too far ----

TEST(MachineTarget, ARunBeyondACenturyIsRefusedRatherThanCountedWrong) {
  Machine machine(kMachine + ",cpu=10000");
  const TargetThread thread = machine.start();
  machine.submit_work(thread, Nanoseconds(kMillisecond), Nanoseconds(4'000'000'000LL * kSecond));
  const auto done = machine.target().next_completion();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kLimit);
  EXPECT_THAT(done.error().message, HasSubstr("century"));
}

TEST(MachineTarget, AStopIsSeenWhileALongStretchIsComputed) {
  std::atomic<bool> stop = false;
  TargetOptions options;
  options.stop = &stop;
  Driver driver(kMachine, options);
  ASSERT_TRUE(driver) << driver.error().message;
  const TargetThread thread = driver.start();
  TargetCall call{thread, 0, SYS_umask, SetFileCreationMask{022}, {}, {{}, Nanoseconds(1'000'000 * kSecond)}};
  ASSERT_TRUE(driver.target().submit(std::move(call)));
  stop = true;
  const auto done = driver.target().next_completion();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kInterrupted);
}

TEST(MachineTarget, AnImageLiesWhereItsOwnSizePutsIt) {
  const test::ScratchDirectory scratch;
  const std::string image = scratch / "disk.img";
  { const Driver made("ext3:" + image + ",size=512M"); }
  Machine machine("ext3:" + image + ",disk=laptop-2002,position=inner");
  const TargetThread thread = machine.start();
  machine.make(thread, "/file", 4096);
  machine.must(thread, SYS_sync, SyncAll{});
  const std::vector<BlockRequest> requests = machine.new_requests();
  ASSERT_FALSE(requests.empty());
  const auto profile = load_disk_profile("laptop-2002");
  ASSERT_TRUE(profile);
  const std::int64_t first = profile->capacity() - (std::int64_t{512} << 20U) / 512;
  for (const BlockRequest& request : requests) {
    if (request.operation == BlockOperation::kFlush) continue;
    EXPECT_GE(request.sector.value, first - 8);
    EXPECT_LE(request.sector.value + request.bytes / 512, profile->capacity());
  }
}

TEST(MachineTarget, AnImageThatCannotBeMadeIsNotLeftBehind) {
  const test::ScratchDirectory scratch;
  const std::string image = scratch / "disk.img";
  for (const char* keys : {",block=3K", ",size=1", ",size=1G,disk=ssd,position=9", ",size=64M,journal=1G"}) {
    const Driver driver("ext3:" + image + keys);
    ASSERT_FALSE(driver) << keys;
    EXPECT_THAT(driver.error().message, ::testing::AnyOf(HasSubstr("disk.img"), HasSubstr("position="))) << keys;
    EXPECT_FALSE(std::filesystem::exists(image)) << keys;
  }
}

TEST(MachineTarget, KeysThatAreNoneSayWhatTheyTake) {
  const auto message = [](const std::string& spec) {
    const Driver driver(spec);
    EXPECT_FALSE(driver);
    EXPECT_EQ(driver.error().code, ErrorCode::kUsage) << driver.error().message;
    return driver.error().message;
  };
  EXPECT_THAT(message("ext3:,disk=laptop-2003"), HasSubstr("laptop-2002"));
  EXPECT_THAT(message("ext3:,disk=laptop-2002,elevator=cfq"), HasSubstr("clook, noop or deadline"));
  EXPECT_THAT(message("ext3:,disk=laptop-2002,position=rim"), HasSubstr("outer|middle|inner"));
  EXPECT_THAT(message("ext3:,disk=laptop-2002,cpu=fast"), HasSubstr("cpu="));
  EXPECT_THAT(message("ext3:,disk=laptop-2002,cpu=-1"), HasSubstr("cpu="));
  EXPECT_THAT(message("ext3:,disk=laptop-2002,cpus=0"), HasSubstr("cpus="));
  EXPECT_THAT(message("ext3:,disk=laptop-2002,size=100G"), HasSubstr("more than disk=laptop-2002 holds"));
  EXPECT_THAT(message("ext3:,elevator=noop"), HasSubstr("name its disk"));
  EXPECT_THAT(message("ext3:,cpu=2"), HasSubstr("name its disk"));
}

}  // namespace
}  // namespace iotape
