// What deleting 300,000 empty files of one directory writes, by size of the journal, size of the inodes and order of
// the deletions: the experiment of 2002 that asked for a 192 MB journal. Requests are as the filesystem issues them,
// before any elevator.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "replayer/ext3/device/tracing_device.h"
#include "replayer/ext3/directory/directory.h"
#include "tests/ext3/support/mounted_disk.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3::test {
namespace {

constexpr std::uint32_t kFiles = 300'000;

enum class Order : std::uint8_t { kCreation, kReaddir };

struct Pattern {
  std::uint64_t transactions = 0;
  std::uint64_t writes = 0;          // requests
  std::uint64_t blocks_written = 0;  // 4 KiB
  std::uint64_t jumps = 0;           // requests that do not go on where the one before ended
  double jumped_gib = 0;
};

void add(Pattern& pattern, std::int64_t& last_end, const BlockRequest& request) {
  if (request.operation == BlockOperation::kFlush) return;
  if (request.operation == BlockOperation::kWrite) {
    ++pattern.writes;
    pattern.blocks_written += static_cast<std::uint64_t>(request.bytes) / 4096;
  }
  if (request.sector.value != last_end) {
    ++pattern.jumps;
    pattern.jumped_gib += static_cast<double>(std::abs(request.sector.value - last_end)) * 512 / (1U << 30U);
  }
  last_end = request.sector.value + request.bytes / 512;
}

class Experiment {
 public:
  Experiment(std::uint32_t journal_mib, std::uint32_t inode_size)
      : image_(std::uint64_t{8} << 30U, options(journal_mib, inode_size)),
        traced_(image_.device(), DeviceId(1),
                {[] { return Nanoseconds(); }, [] { return std::pair(ThreadKey{}, std::optional<Nanoseconds>()); },
                 [](InodeNumber) { return 0U; }}) {
    traced_.set_watching(false);
    mount();
    EXPECT_EQ(mounted_->make_directory("/d"), 0);
    for (std::uint32_t i = 0; i < kFiles; ++i) EXPECT_EQ(mounted_->create("/d/" + name(i)), 0);
    mounted_->unmount();
  }

  // Cold: nothing is cached when the deleting begins. The unmount counts.
  Pattern remove(Order order) {
    mount();
    const std::vector<std::string> names = in_order(order);
    mounted_->unmount();
    mount();
    traced_.set_watching(true);
    Pattern pattern;
    std::int64_t last_end = 0;
    for (const std::string& each : names) {
      EXPECT_EQ(mounted_->unlink("/d/" + each), 0);
      for (const BlockRequest& request : traced_.take()) add(pattern, last_end, request);
    }
    {
      const HostEntry inside(mounted_->host());
      EXPECT_TRUE(mounted_->volume().journal->empty());
      pattern.transactions = mounted_->volume().journal->figures().transactions;
    }
    mounted_->unmount();
    for (const BlockRequest& request : traced_.take()) add(pattern, last_end, request);
    traced_.set_watching(false);
    IOTAPE_EXPECT_E2FSCK_CLEAN(image_.device());
    return pattern;
  }

 private:
  static FilesystemOptions options(std::uint32_t journal_mib, std::uint32_t inode_size) {
    FilesystemOptions options;
    options.journal_blocks = journal_mib * 256;
    options.inode_size = inode_size;
    options.bytes_per_inode = 16384;
    return options;
  }
  static std::string name(std::uint32_t i) { return fmt::format("{:08x}", i * 2654435769U); }
  void mount() {
    MountOptions options;
    options.cache_bytes = std::size_t{1} << 30U;
    options.commit_interval = Nanoseconds(std::int64_t{3600} * 1'000'000'000);
    mounted_ = std::make_unique<MountedDisk>(traced_, options);
  }
  std::vector<std::string> in_order(Order order) {
    std::vector<std::string> names;
    if (order == Order::kCreation) {
      for (std::uint32_t i = 0; i < kFiles; ++i) names.push_back(name(i));
      return names;
    }
    const InodeReference directory = mounted_->get("/d");
    const HostEntry inside(mounted_->host());
    const SleepLockGuard locked(mounted_->host(), directory->lock);
    EXPECT_TRUE(read_directory(mounted_->volume(), *directory, 0, [&](const DirectoryListing& entry) {
      if (entry.name != "." && entry.name != "..") names.emplace_back(entry.name);
      return true;
    }));
    EXPECT_EQ(names.size(), kFiles);
    return names;
  }

  TestVolumeImage image_;
  TracingDevice traced_;
  std::unique_ptr<MountedDisk> mounted_;
};

Pattern show(std::uint32_t journal_mib, std::uint32_t inode_size, Order order) {
  Experiment experiment(journal_mib, inode_size);
  const Pattern pattern = experiment.remove(order);
  fmt::print(
      "{:4} MB journal, {} byte inodes, {:8} order: {:3} transactions {:7} writes {:8.1f} MiB {:7} jumps {:9.0f} GiB\n",
      journal_mib, inode_size, order == Order::kCreation ? "creation" : "readdir", pattern.transactions, pattern.writes,
      static_cast<double>(pattern.blocks_written) / 256, pattern.jumps, pattern.jumped_gib);
  std::fflush(stdout);  // before a child inherits it
  return pattern;
}

TEST(WritePatternLong, DeletingAsTheKernelsJournalWasMeasured) {
  const Pattern small_in_creation_order = show(32, 128, Order::kCreation);
  const Pattern small_in_readdir_order = show(32, 128, Order::kReaddir);
  EXPECT_GE(small_in_readdir_order.blocks_written, 5 * small_in_creation_order.blocks_written);
  EXPECT_GE(small_in_readdir_order.jumps, 30 * small_in_creation_order.jumps);
  const Pattern large_in_creation_order = show(192, 128, Order::kCreation);
  const Pattern large_in_readdir_order = show(192, 128, Order::kReaddir);
  EXPECT_EQ(large_in_creation_order.transactions, 1U);
  EXPECT_EQ(large_in_readdir_order.transactions, 1U);
  EXPECT_LE(large_in_readdir_order.blocks_written, large_in_creation_order.blocks_written * 11 / 10);
  show(32, 256, Order::kCreation);
  show(32, 256, Order::kReaddir);
  show(64, 256, Order::kCreation);
  show(64, 256, Order::kReaddir);
  show(192, 256, Order::kCreation);
  show(192, 256, Order::kReaddir);
}

}  // namespace
}  // namespace iotape::ext3::test
