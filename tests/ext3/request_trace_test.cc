// A trace that is written while a volume is in use: it holds the requests that the device saw, and what they are for.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>

#include "format/trace_reader.h"
#include "replayer/ext3/trace/request_trace.h"
#include "tests/ext3/support/mounted_disk.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3::test {
namespace {

struct Seen {
  BlockOperation operation;
  std::int64_t sector;
  std::int64_t bytes;
  auto operator<=>(const Seen&) const = default;
};

// A disk that keeps a list of its own.
class WatchedDisk final : public BlockDevice {
 public:
  explicit WatchedDisk(BlockDevice& below) : below_(below) {}
  [[nodiscard]] std::uint64_t size() const override { return below_.size(); }
  Answer<void> read(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override {
    note(BlockOperation::kRead, offset, bytes_of(parts));
    return below_.read(offset, parts, reason);
  }
  Answer<void> write(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override {
    note(BlockOperation::kWrite, offset, bytes_of(parts));
    return below_.write(offset, parts, reason);
  }
  Answer<void> write_zeros(std::uint64_t offset, std::uint64_t bytes, const BlockTag& tag) override {
    note(BlockOperation::kWriteZeroes, offset, bytes);
    return below_.write_zeros(offset, bytes, tag);
  }
  Answer<void> flush() override {
    note(BlockOperation::kFlush, 0, 0);
    return below_.flush();
  }
  std::vector<Seen> sorted() {
    std::ranges::sort(seen_);
    return seen_;
  }

 private:
  static std::uint64_t bytes_of(std::span<const IoPart> parts) {
    std::uint64_t bytes = 0;
    for (const IoPart& part : parts) bytes += part.bytes;
    return bytes;
  }
  void note(BlockOperation operation, std::uint64_t offset, std::uint64_t bytes) {
    const std::lock_guard held(mutex_);
    seen_.push_back({operation, static_cast<std::int64_t>(offset / 512), static_cast<std::int64_t>(bytes)});
  }
  BlockDevice& below_;
  std::mutex mutex_;
  std::vector<Seen> seen_;
};

struct ReadBack {
  std::vector<Seen> requests;
  std::set<BlockCause> causes;
  std::set<std::uint64_t> inodes;
  std::set<std::int32_t> dirtiers;
  std::uint32_t mounts = 0;
  std::uint32_t devices = 0;
  TraceHeader header;
  ReadReport report;
};

ReadBack read_back(const std::string& path) {
  ReadBack read;
  auto reader = TraceReader::open(path);
  if (!reader) {
    ADD_FAILURE() << reader.error().message;
    return read;
  }
  read.header = (*reader)->header();
  for (auto event = (*reader)->next(); event && *event != nullptr; event = (*reader)->next()) {
    const EventBody& body = (*event)->body;
    read.mounts += std::holds_alternative<MountInfo>(body) ? 1U : 0U;
    read.devices += std::holds_alternative<DeviceInfo>(body) ? 1U : 0U;
    const auto* const request = std::get_if<BlockRequest>(&body);
    if (request == nullptr) continue;
    read.requests.push_back({request->operation, request->sector.value, request->bytes});
    for (const RequestPart& part : request->parts) {
      read.causes.insert(part.cause);
      read.inodes.insert(part.file.identity.inode.value);
      read.dirtiers.insert(part.dirtier.process.value);
    }
  }
  std::ranges::sort(read.requests);
  read.report = (*reader)->report();
  return read;
}

FilesystemOptions small_volume() {
  FilesystemOptions options;
  options.block_size = 1024;
  options.journal_blocks = 1024;
  return options;
}

RequestTraceOptions options_for(const std::string& path, bool force = false) {
  RequestTraceOptions options;
  options.path = path;
  options.force = force;
  options.command = "mount disk";
  return options;
}

void work(MountedDisk& disk, RequestTrace& trace) {
  trace.note_process({ProcessId(77), ThreadId(static_cast<std::int32_t>(disk.host().thread()))}, "worker");
  MountInfo mount;
  mount.mount_point = "/mnt";
  mount.filesystem = "ext3";
  trace.note_mount(std::move(mount));
  EXPECT_EQ(disk.make_directory("/d"), 0);
  for (int i = 0; i < 400; ++i) {
    EXPECT_EQ(disk.create("/d/file" + std::to_string(i)), 0);
    EXPECT_EQ(disk.write("/d/file" + std::to_string(i), 0, std::string(static_cast<std::size_t>(i) * 97, 'x')), 0);
    if (i % 7 == 0) {
      EXPECT_EQ(disk.sync("/d/file" + std::to_string(i)), 0);
    }
  }
  EXPECT_EQ(disk.sync_all(), 0);
}

TEST(RequestTrace, HoldsWhatTheDeviceSawFromTheMountToTheUnmount) {
  const iotape::test::ScratchDirectory scratch;
  TestVolumeImage image(std::uint64_t{32} << 20U, small_volume());
  WatchedDisk watched(image.device());
  auto trace = RequestTrace::create(watched, options_for(scratch / "t.iotape"));
  ASSERT_TRUE(trace) << trace.error().message;
  {
    MountedDisk disk(**trace);
    work(disk, **trace);
  }
  ASSERT_TRUE((*trace)->finish());
  trace->reset();
  const ReadBack read = read_back(scratch / "t.iotape");
  EXPECT_EQ(read.requests, watched.sorted());
  EXPECT_GT(read.requests.size(), 100U);
  EXPECT_TRUE(read.report.whole());
  ASSERT_TRUE(read.report.totals);
  EXPECT_EQ(read.report.totals->requests, read.requests.size());
  EXPECT_EQ(read.header.clock, ClockKind::kBootTime);
  EXPECT_EQ(read.header.cache, CacheCondition::kCold);
  EXPECT_TRUE(read.header.has_block && !read.header.has_syscalls);
  ASSERT_EQ(read.header.history.size(), 1U);
  EXPECT_EQ(read.header.history.front().command, "mount disk");
  EXPECT_EQ(read.mounts, 1U);
  EXPECT_EQ(read.devices, 1U);
  for (const BlockCause cause : {BlockCause::kData, BlockCause::kJournal, BlockCause::kInodeTable,
                                 BlockCause::kDirectoryLeaf, BlockCause::kSuperblock, BlockCause::kBlockBitmap})
    EXPECT_TRUE(read.causes.contains(cause)) << static_cast<int>(cause);
  EXPECT_TRUE(read.dirtiers.contains(77));
  EXPECT_GT(read.inodes.size(), 400U);
}

TEST(RequestTrace, WithoutItsEndReadsAsInterruptedAndHoldsWhatWasAsked) {
  const iotape::test::ScratchDirectory scratch;
  TestVolumeImage image(std::uint64_t{32} << 20U, small_volume());
  WatchedDisk watched(image.device());
  {
    auto trace = RequestTrace::create(watched, options_for(scratch / "t.iotape"));
    ASSERT_TRUE(trace) << trace.error().message;
    MountedDisk disk(**trace);
    work(disk, **trace);
    disk.crash();
  }
  const ReadBack read = read_back(scratch / "t.iotape");
  EXPECT_TRUE(read.report.interrupted);
  EXPECT_EQ(read.requests, watched.sorted());
}

TEST(RequestTrace, ZerosAreOneRequestThatTheDeviceMayFulfilInItsOwnWay) {
  const iotape::test::ScratchDirectory scratch;
  MemoryDevice memory(std::uint64_t{16} << 20U);
  WatchedDisk watched(memory);
  auto trace = RequestTrace::create(watched, options_for(scratch / "t.iotape"));
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_TRUE(make_filesystem(**trace, small_volume()));
  ASSERT_TRUE((*trace)->finish());
  const ReadBack read = read_back(scratch / "t.iotape");
  EXPECT_EQ(read.requests, watched.sorted());
  EXPECT_TRUE(std::ranges::any_of(read.requests,
                                  [](const Seen& seen) { return seen.operation == BlockOperation::kWriteZeroes; }));
}

TEST(RequestTrace, DoesNotOverwriteATraceUnasked) {
  const iotape::test::ScratchDirectory scratch;
  iotape::test::write_file(scratch / "t.iotape", "mine");
  MemoryDevice memory(1 << 20U);
  EXPECT_FALSE(RequestTrace::create(memory, options_for(scratch / "t.iotape")));
  EXPECT_EQ(iotape::test::read_file(scratch / "t.iotape"), "mine");
  EXPECT_TRUE(RequestTrace::create(memory, options_for(scratch / "t.iotape", true)));
}

// A trace that cannot be written any more does not stop who uses the volume.
TEST(RequestTrace, AFullPlaceForTheTraceIsToldAtTheEnd) {
  TestVolumeImage image(std::uint64_t{32} << 20U, small_volume());
  auto trace = RequestTrace::create(image.device(), options_for("/dev/full", true));
  if (trace) {  // the header may not reach the disk yet
    {
      MountedDisk disk(**trace);
      work(disk, **trace);
    }
    EXPECT_FALSE((*trace)->finish());
    IOTAPE_EXPECT_SOUND(image.device());
  }
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full")) << "what is no file of ours is not taken away";
}

}  // namespace
}  // namespace iotape::ext3::test
