// New filesystems, held against mke2fs -t ext3 and judged by e2fsck.
#include "replayer/ext3/make_filesystem.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3::test {
namespace {

using iotape::test::run_shell;
using iotape::test::ScratchDirectory;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kGiB = 1 << 30;

constexpr Uuid kUuid{0x11, 0x11, 0x11, 0x11, 0x22, 0x22, 0x33, 0x33, 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55};
constexpr Uuid kHashSeed{0x66, 0x66, 0x66, 0x66, 0x77, 0x77, 0x88, 0x88,
                         0x99, 0x99, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa};
constexpr std::int64_t kNow = 1'700'000'000;

FilesystemOptions named_options() {
  FilesystemOptions options;
  options.uuid = kUuid;
  options.hash_seed = kHashSeed;
  options.now = kNow;
  return options;
}

// Every byte of an image that our mkfs and mke2fs make of the same size and options; the first differences, or nothing.
std::string differences(std::uint64_t bytes, const FilesystemOptions& options, const std::string& words) {
  const ScratchDirectory scratch;
  TestVolumeImage ours(bytes, options);
  ours.save(scratch / "ours");
  ::setenv("E2FSPROGS_FAKE_TIME", fmt::format("{}", kNow).c_str(), 1);
  const bool made = run_mke2fs(scratch / "theirs", bytes,
                               "-t ext3 -U 11111111-2222-3333-4444-555555555555 "
                               "-E hash_seed=66666666-7777-8888-9999-aaaaaaaaaaaa " +
                                   words);
  ::unsetenv("E2FSPROGS_FAKE_TIME");
  if (!made) return "mke2fs failed";
  auto theirs = load_device(scratch / "theirs");
  std::string found;
  std::vector<std::byte> mine(64 << 10);
  std::vector<std::byte> other(mine.size());
  std::map<std::uint64_t, std::size_t> written;  // by either
  const auto note = [&](std::uint64_t offset, auto bytes_there) { written[offset] = bytes_there.size(); };
  theirs->for_each_written(note);
  ours.device().for_each_written(note);
  const auto read = [](MemoryDevice& device, std::uint64_t offset, std::size_t size, std::vector<std::byte>& into) {
    const std::array<IoPart, 1> parts{{{into.data(), static_cast<std::uint32_t>(size), {}}}};
    return device.read(offset, parts, IoReason::kDemand).has_value();
  };
  for (const auto& [offset, size] : written) {
    if (!read(ours.device(), offset, size, mine) || !read(*theirs, offset, size, other)) return "a read failed";
    for (std::size_t i = 0; i < size && found.size() < 1000; ++i)
      if (mine[i] != other[i])
        found += fmt::format("{:#x}: {:02x} {:02x}; ", offset + i, std::to_integer<int>(mine[i]),
                             std::to_integer<int>(other[i]));
  }
  return found;
}

TEST(MakeFilesystem, DefaultsAreByteForByteThoseOfMke2fs) {
  for (const std::uint64_t megabytes : {1, 2, 3, 4, 8, 9, 33, 100, 511, 512, 1024, 2049})
    EXPECT_EQ(differences(megabytes * kMiB, named_options(), ""), "") << megabytes << " MiB";
}

TEST(MakeFilesystem, IsCleanForE2fsckInEveryBlockAndInodeSize) {
  for (const std::uint32_t block_size : {1024, 2048, 4096})
    for (const std::uint32_t inode_size : {128, 256})
      for (const std::uint64_t megabytes : {2, 20, 200}) {
        FilesystemOptions options = named_options();
        options.block_size = block_size;
        options.inode_size = inode_size;
        TestVolumeImage image(megabytes * kMiB, options);
        const auto judged = image.e2fsck();
        EXPECT_EQ(judged.status, 0) << block_size << " " << inode_size << " " << megabytes << judged.out << judged.err;
      }
}

TEST(MakeFilesystemLong, BigVolumesAreClean) {
  TestVolumeImage image(64 * kGiB, named_options());
  IOTAPE_EXPECT_E2FSCK_CLEAN(image.device());
}

}  // namespace
}  // namespace iotape::ext3::test
