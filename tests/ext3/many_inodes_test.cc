// Twenty million files in a thousand directories on an image: the last million costs about what the first did, memory
// stays within the cache, and e2fsck finds nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "replayer/ext3/device/file_device.h"
#include "replayer/ext3/make_filesystem.h"
#include "tests/ext3/support/mounted_disk.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3::test {
namespace {

constexpr std::uint32_t kDirectories = 1000;
constexpr std::uint32_t kFilesPerDirectory = 20'000;
constexpr std::uint32_t kDirectoriesPerMillion = 1'000'000 / kFilesPerDirectory;
constexpr std::size_t kCacheBytes = std::size_t{512} << 20U;

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::uint64_t resident_mib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) / 1024;
}

// Makes one directory and its files; false when the filesystem refused.
bool fill_directory(MountedDisk& mounted, std::uint32_t number) {
  const std::string path = fmt::format("/d{:04}", number);
  if (mounted.make_directory(path) != 0) return false;
  const InodeReference directory = mounted.get(path);
  const HostEntry inside(mounted.host());
  for (std::uint32_t i = 0; i < kFilesPerDirectory; ++i)
    if (!create_node(mounted.volume(), *directory, fmt::format("file{:08x}", i * 2654435769U), {0100644, 0, {}, 0}, {}))
      return false;
  return static_cast<bool>(tend_volume(mounted.volume()));
}

TEST(ManyInodesLong, TwentyMillionCostEachWhatTheFirstMillionDid) {
  const iotape::test::ScratchDirectory scratch;
  const std::string image = scratch / "image";
  ASSERT_EQ(iotape::test::run_program({"truncate", "-s", "100G", image}).status, 0);
  auto device = FileDevice::open(image, FileDeviceMode::kReadWrite);
  ASSERT_TRUE(device) << device.error().message;
  FilesystemOptions options;
  options.inode_size = 128;
  options.inode_count = 21'000'000;
  ASSERT_TRUE(make_filesystem(*device, options));
  double first_million = 0;
  double dearest = 0;
  {
    MountOptions mount;
    mount.cache_bytes = kCacheBytes;
    MountedDisk mounted(*device, mount);
    ASSERT_TRUE(mounted.valid());
    double start = cpu_seconds();
    for (std::uint32_t number = 0; number < kDirectories; ++number) {
      ASSERT_TRUE(fill_directory(mounted, number)) << number;
      if ((number + 1) % kDirectoriesPerMillion != 0) continue;
      const double spent = cpu_seconds() - start;
      start = cpu_seconds();
      if (first_million == 0) first_million = spent;
      dearest = std::max(dearest, spent);
      fmt::print("million {:2}: {:.2f} us CPU a file, {} MiB resident at most\n", (number + 1) / kDirectoriesPerMillion,
                 spent, resident_mib());
      std::fflush(stdout);
    }
  }
  EXPECT_LE(resident_mib(), (kCacheBytes >> 20U) * 2);
  RecordProperty("first_million_us", fmt::format("{:.2f}", first_million));
  RecordProperty("dearest_million_us", fmt::format("{:.2f}", dearest));
  const auto judged = e2fsck_file(image);
  EXPECT_EQ(judged.status, 0) << judged.out;
}

}  // namespace
}  // namespace iotape::ext3::test
