// The built-in ext3 as a target: what it answers, that a replayed tree is sound to e2fsck, and that every key of its
// specification changes the block requests it makes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <chrono>
#include <map>
#include <thread>

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

// A target whose requests are watched from the first call on.
class Watched {
 public:
  explicit Watched(const std::string& spec) : driver_(spec) {
    EXPECT_TRUE(driver_) << driver_.error().message;
    EXPECT_TRUE(driver_.target().watch_requests());
    thread_ = driver_.start();
  }
  std::int64_t must(long number, Operation operation) { return driver_.must(thread_, number, std::move(operation)); }
  void make_directory(const std::string& path) { must(SYS_mkdir, MakeDirectory{at(path), 0755}); }
  void make(const std::string& path, std::int64_t bytes = 0) {
    const std::int64_t opened = must(SYS_openat, open_call(path, O_CREAT | O_WRONLY, 0644));
    if (bytes > 0) must(SYS_write, write_call(opened, bytes));
    must(SYS_close, Close{handle(opened)});
  }
  void sync() { must(SYS_sync, SyncAll{}); }
  Driver& driver() { return driver_; }
  TargetThread thread() const { return thread_; }
  const std::vector<BlockRequest>& requests() {
    EXPECT_TRUE(driver_.target().take_requests(collected_));
    return collected_.requests;
  }

 private:
  Driver driver_;
  TargetThread thread_;
  test::CollectedRequests collected_;
};

std::string signature(const std::vector<BlockRequest>& requests) {
  std::string text;
  for (const BlockRequest& request : requests) {
    text += std::to_string(static_cast<int>(request.operation)) + " " + std::to_string(request.sector.value) + " " +
            std::to_string(request.bytes) + ":";
    for (const RequestPart& part : request.parts) text += std::to_string(static_cast<int>(part.cause)) + ",";
    text += "\n";
  }
  return text;
}

std::size_t count_parts(const std::vector<BlockRequest>& requests, BlockCause cause) {
  std::size_t count = 0;
  for (const BlockRequest& request : requests)
    for (const RequestPart& part : request.parts) count += part.cause == cause ? 1 : 0;
  return count;
}
std::size_t count_operations(const std::vector<BlockRequest>& requests, BlockOperation operation) {
  return static_cast<std::size_t>(std::ranges::count(requests, operation, &BlockRequest::operation));
}

// Directories at the top, a large directory emptied in its own order, two files written in turns, syncs between.
std::string mixed_requests(const std::string& keys) {
  Watched target("ext3:,size=1G" + keys);
  for (int i = 0; i < 12; ++i) target.make_directory("/top" + std::to_string(i));
  target.make_directory("/top0/many");
  for (int i = 0; i < 800; ++i) target.make("/top0/many/a_rather_long_name_of_file_" + std::to_string(i));
  target.sync();
  const std::int64_t listed = target.must(SYS_openat, open_call("/top0/many", O_RDONLY | O_DIRECTORY));
  ReadDirectory read;
  read.descriptor = handle(listed);
  read.length = 1024;  // the first of them, in the index's order
  const Completion names = target.driver().run(target.thread(), SYS_getdents64, read);
  for (const std::string& name : names.directory_names)
    if (name != "." && name != "..") target.must(SYS_unlink, Unlink{at("/top0/many/" + name), 0});
  target.sync();
  const std::int64_t first = target.must(SYS_openat, open_call("/top1/one", O_CREAT | O_WRONLY, 0644));
  const std::int64_t second = target.must(SYS_openat, open_call("/top1/two", O_CREAT | O_WRONLY, 0644));
  for (int i = 0; i < 40; ++i) {
    target.must(SYS_write, write_call(first, 8192));
    target.must(SYS_write, write_call(second, 8192));
  }
  target.must(SYS_fsync, Sync{handle(first)});
  target.sync();
  return signature(target.requests());
}

class Ext3KeyTest : public ::testing::TestWithParam<const char*> {};

TEST_P(Ext3KeyTest, ChangesTheRequestsOfAMixedWorkload) {
  const std::string usual = mixed_requests("");
  ASSERT_FALSE(usual.empty());
  EXPECT_EQ(usual, mixed_requests("")) << "the same twice must be the same";
  EXPECT_NE(usual, mixed_requests(std::string(",") + GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Keys, Ext3KeyTest,
                         ::testing::Values("inodes=40000", "inode_size=128", "data=writeback", "data=journal",
                                           "data=none", "htree=off", "hash=tea", "hash=legacy",
                                           "hash_seed=01234567-89ab-cdef-0123-456789abcdef", "seed=7", "alloc=classic",
                                           "alloc=leaf", "reserve=off", "barrier=off"));

TEST(Ext3Target, SizeAndBlockSizeMoveEverything) {
  const auto requests = [](const std::string& keys) {
    Watched target("ext3:," + keys);
    for (int i = 0; i < 20; ++i) target.make_directory("/d" + std::to_string(i));
    target.sync();
    return signature(target.requests());
  };
  EXPECT_NE(requests("size=256M,block=4K"), requests("size=1G,block=4K"));
  EXPECT_NE(requests("size=256M,block=4K"), requests("size=256M,block=1K"));
}

TEST(Ext3Target, ASmallJournalCommitsMoreOften) {
  const auto commits = [](const std::string& journal) {
    Watched target("ext3:,size=1G,journal=" + journal);
    target.make_directory("/d");
    for (int i = 0; i < 8000; ++i) target.make("/d/name" + std::to_string(i));
    target.sync();
    return count_operations(target.requests(), BlockOperation::kFlush);
  };
  EXPECT_GT(commits("4M"), commits("64M"));
}

TEST(Ext3Target, ASmallMemoryReadsAgainWhatALargeOneKeeps) {
  const auto reads = [](const std::string& memory) {
    Watched target("ext3:,size=256M,memory=" + memory);
    target.make("/a", 4 << 20);
    target.make("/b", 40 << 20);
    target.sync();
    const std::int64_t opened = target.must(SYS_openat, open_call("/a", O_RDONLY));
    target.must(SYS_read, read_call(opened, 4 << 20));
    return count_operations(target.requests(), BlockOperation::kRead);
  };
  EXPECT_GT(reads("8M"), reads("256M") + 10);
}

TEST(Ext3Target, AShortCommitIntervalCommitsWhatALongOneGathers) {
  const auto commits = [](const std::string& interval) {
    Watched target("ext3:,size=64M,commit=" + interval);
    for (int i = 0; i < 3; ++i) {
      target.make("/f" + std::to_string(i), 100);
      std::this_thread::sleep_for(std::chrono::milliseconds(130));
    }
    target.make("/last");
    return count_operations(target.requests(), BlockOperation::kFlush);
  };
  EXPECT_GT(commits("20ms"), commits("1h"));
}

TEST(Ext3Target, StrictAccessTimesWriteWhatReadingChanged) {
  const auto writes = [](const std::string& atime) {
    Watched target("ext3:,size=64M,atime=" + atime);
    target.make("/f", 100);
    target.sync();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::size_t before = target.requests().size();
    const std::int64_t opened = target.must(SYS_openat, open_call("/f", O_RDONLY));
    target.must(SYS_read, read_call(opened, 100));
    target.sync();
    std::size_t inodes = 0;
    const auto& all = target.requests();
    for (std::size_t i = before; i < all.size(); ++i)
      inodes += all[i].operation == BlockOperation::kWrite ? all[i].parts.size() : 0;
    return inodes;
  };
  EXPECT_GT(writes("on"), writes("off"));
}

TEST(Ext3Target, ALargerReadAheadMakesFewerRequests) {
  const auto reads = [](const std::string& readahead) {
    Watched target("ext3:,size=64M,memory=256M,readahead=" + readahead);
    target.make("/f", 2 << 20);
    EXPECT_TRUE(target.driver().target().finish(true));
    EXPECT_TRUE(target.driver().target().make_cold());
    const TargetThread thread = target.driver().start();
    const std::int64_t opened = target.driver().must(thread, SYS_openat, open_call("/f", O_RDONLY));
    for (int i = 0; i < 512; ++i) target.driver().must(thread, SYS_read, read_call(opened, 4096));
    return count_operations(target.requests(), BlockOperation::kRead);
  };
  EXPECT_GT(reads("4K"), 2 * reads("128K"));
}

TEST(Ext3Target, EveryStructureHasItsCause) {
  Watched target("ext3:,size=64M,block=1K");
  target.make_directory("/d");
  for (int i = 0; i < 300; ++i) target.make("/d/a_long_enough_name_for_an_index_" + std::to_string(i), 100);
  target.make("/big", 600'000);
  target.sync();
  EXPECT_TRUE(target.driver().target().finish(true));
  const std::vector<BlockRequest> before = target.requests();
  EXPECT_GT(count_parts(before, BlockCause::kJournal), 0U);
  EXPECT_GT(count_parts(before, BlockCause::kData), 0U);
  EXPECT_TRUE(target.driver().target().make_cold());  // puts everything in place
  const auto& all = target.requests();
  for (const BlockCause cause :
       {BlockCause::kInodeTable, BlockCause::kInodeBitmap, BlockCause::kBlockBitmap, BlockCause::kDirectoryLeaf,
        BlockCause::kHtreeIndex, BlockCause::kIndirect, BlockCause::kSuperblock, BlockCause::kGroupDescriptor})
    EXPECT_GT(count_parts(all, cause), 0U) << static_cast<int>(cause);
}

TEST(Ext3Target, AnImageIsMadeFilledAndSoundAndRefusedWhenItIsNotEmpty) {
  const test::ScratchDirectory scratch;
  const std::string image = scratch / "image";
  {
    Driver driver("ext3:" + image + ",size=64M");
    ASSERT_TRUE(driver) << driver.error().message;
    const TargetThread thread = driver.start();
    const std::int64_t opened = driver.must(thread, SYS_openat, open_call("/kept", O_CREAT | O_WRONLY, 0644));
    driver.must(thread, SYS_write, write_call(opened, 100'000));
    ASSERT_TRUE(driver.target().finish(true));
  }
  EXPECT_EQ(test::run_program({"/sbin/e2fsck", "-fn", image}).status, 0);
  const Driver again("ext3:" + image);
  EXPECT_FALSE(again);
  EXPECT_THAT(again.error().message, ::testing::HasSubstr("--tree existing"));
  TargetOptions existing;
  existing.tree = TreePolicy::kExisting;
  for (const char* const key : {"size=128M", "block=1K", "inodes=100", "inode_size=128", "journal=1M", "hash=tea"}) {
    const Driver shaped("ext3:" + image + "," + key, existing);
    EXPECT_FALSE(shaped) << key;
    EXPECT_THAT(shaped.error().message, ::testing::HasSubstr("says how a filesystem is made")) << key;
  }
  Driver third("ext3:" + image, existing);
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_GE(third.must(third.start(), SYS_openat, open_call("/kept", O_RDONLY)), 0);
}

TEST(Ext3Target, AnImageWithoutAJournalIsExt2AndTakesNoWayOfJournaling) {
  const test::ScratchDirectory scratch;
  const std::string image = scratch / "image";
  ASSERT_TRUE(Driver("ext3:" + image + ",size=64M,data=none"));
  Driver plain("ext3:" + image);
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain.target().facts().filesystem, "ext2 (built in)");
  for (const std::string disk : {"", ",disk=ssd"}) {
    const test::ScratchDirectory other;
    ASSERT_TRUE(Driver("ext3:" + (other / "image") + ",size=64M,data=none"));
    const Driver asked("ext3:" + (other / "image") + ",data=journal" + disk);
    EXPECT_FALSE(asked);
    EXPECT_THAT(asked.error().message, ::testing::HasSubstr("has no journal"));
  }
}

TEST(Ext3Target, AnImageThatCannotBeFilledIsNotLeftBehind) {
  const test::ScratchDirectory scratch;
  const std::string image = scratch / "image";
  Driver driver("ext3:" + image + ",size=1M,data=none");
  ASSERT_TRUE(driver) << driver.error().message;
  InitialNode large;
  large.path = "/large";
  large.kind = FileKind::kRegular;
  large.size = 1U << 24U;
  EXPECT_FALSE(driver.target().prepare({large}, {}));
  EXPECT_NE(::access(image.c_str(), F_OK), 0);
}

TEST(Ext3Target, AWrongKeyOrValueIsNamed) {
  for (const auto& [spec, word] :
       std::map<std::string, std::string>{{"ext3:,alloc=orlow", "orlov"},
                                          {"ext3:,aloc=orlov", "alloc"},
                                          {"ext3:,data=fast", "writeback"},
                                          {"ext3:,hash_seed=12", "UUID"},
                                          {"ext3:,inode_size=200", "128"},
                                          {"ext3:,memory=1", "memory=1 is too little"},
                                          {"ext3:,journal=1", "less than a block"},
                                          {"ext3:,data=none,journal=8M", "leave journal= out"},
                                          {"ext3:,size=1K", "small"},
                                          {"ext3:/nowhere/at/all", "/nowhere/at/all"}}) {
    const Driver driver(spec);
    EXPECT_FALSE(driver) << spec;
    EXPECT_THAT(driver.error().message, ::testing::HasSubstr(word)) << spec;
  }
}

TEST(Ext3Target, DescriptorsAndDirectoriesAreSharedAsTheCloneFlagsSay) {
  Driver driver("ext3:,size=16M");
  ASSERT_TRUE(driver);
  const TargetThread parent = driver.start();
  driver.must(parent, SYS_mkdir, MakeDirectory{at("/d"), 0755});
  const TargetThread own = driver.fork(parent);
  const TargetThread shared = driver.fork(parent, true, true);
  const std::int64_t opened = driver.must(parent, SYS_openat, open_call("/d/f", O_CREAT | O_RDWR, 0644));
  EXPECT_EQ(driver.call(own, SYS_write, write_call(opened, 10)), failed_with(EBADF));
  EXPECT_EQ(driver.must(shared, SYS_write, write_call(opened, 10)), 10);
  driver.must(shared, SYS_chdir, ChangeDirectoryPath{at("/d")});
  EXPECT_GE(driver.must(parent, SYS_openat, open_call("f", O_RDONLY)), 0);
  EXPECT_EQ(driver.call(own, SYS_openat, open_call("f", O_RDONLY)), failed_with(ENOENT));
}

}  // namespace
}  // namespace iotape
