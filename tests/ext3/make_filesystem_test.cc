// New filesystems, held against mke2fs -t ext3 and judged by e2fsck.
#include "replayer/ext3/make_filesystem.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>

#include "replayer/ext3/device/file_device.h"
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
std::string differences(std::uint64_t bytes, const FilesystemOptions& options, const std::string& words,
                        const std::string& size = "") {
  const ScratchDirectory scratch;
  TestVolumeImage ours(bytes, options);
  ours.save(scratch / "ours");
  ::setenv("E2FSPROGS_FAKE_TIME", fmt::format("{}", kNow).c_str(), 1);
  const bool made = run_mke2fs(scratch / "theirs", bytes,
                               "-t ext3 -U 11111111-2222-3333-4444-555555555555 "
                               "-E hash_seed=66666666-7777-8888-9999-aaaaaaaaaaaa " +
                                   words,
                               size);
  ::unsetenv("E2FSPROGS_FAKE_TIME");
  if (!made) return "mke2fs failed";
  auto theirs = load_device(scratch / "theirs");
  std::string found;
  std::vector<std::byte> mine(64 << 10);
  const auto compare = [&](std::uint64_t offset, std::span<const std::byte> bytes_there, MemoryDevice& other) {
    const std::array<IoPart, 1> parts{{{mine.data(), static_cast<std::uint32_t>(bytes_there.size()), {}}}};
    if (!other.read(offset, parts, IoReason::kDemand)) return;
    for (std::size_t i = 0; i < bytes_there.size() && found.size() < 1000; ++i)
      if (mine[i] != bytes_there[i])
        found += fmt::format("{:#x}: {:02x} {:02x}; ", offset + i, std::to_integer<int>(mine[i]),
                             std::to_integer<int>(bytes_there[i]));
  };
  theirs->for_each_written([&](std::uint64_t offset, auto there) { compare(offset, there, ours.device()); });
  ours.device().for_each_written([&](std::uint64_t offset, auto there) { compare(offset, there, *theirs); });
  return found;
}

TEST(MakeFilesystem, DefaultsAreByteForByteThoseOfMke2fs) {
  for (const std::uint64_t megabytes : {1, 2, 3, 4, 8, 9, 33, 100, 511, 512, 1024, 2049})
    EXPECT_EQ(differences(megabytes * kMiB, named_options(), ""), "") << megabytes << " MiB";
}

TEST(MakeFilesystem, EveryOptionIsByteForByteThatOfMke2fs) {
  using Change = void (*)(FilesystemOptions&);
  struct Case {
    std::uint64_t megabytes;
    const char* words;
    Change change;
  };
  const std::vector<Case> cases{
      {9, "-b 1024 -I 128", [](auto& o) { o.block_size = 1024, o.inode_size = 128; }},
      {40, "-b 2048", [](auto& o) { o.block_size = 2048; }},
      {70, "-b 2048 -I 128", [](auto& o) { o.block_size = 2048, o.inode_size = 128; }},
      {40, "-b 4096 -I 128", [](auto& o) { o.block_size = 4096, o.inode_size = 128; }},
      {1100, "-b 1024", [](auto& o) { o.block_size = 1024; }},
      {100, "-N 5000", [](auto& o) { o.inode_count = 5000; }},
      {9, "-i 1024", [](auto& o) { o.bytes_per_inode = 1024; }},
      {100, "-i 1024 -I 128", [](auto& o) { o.bytes_per_inode = 1024, o.inode_size = 128; }},
      {600, "-i 65536", [](auto& o) { o.bytes_per_inode = 65536; }},
      {600, "-m 0", [](auto& o) { o.reserved_percent = 0; }},
      {600, "-m 7.5", [](auto& o) { o.reserved_percent = 7.5; }},
      {600, "-J size=64", [](auto& o) { o.journal_blocks = 64 * 256; }},
      {100, "-J size=32", [](auto& o) { o.journal_blocks = 32 * 1024; }},
      {300, "-b 1024 -J size=100", [](auto& o) { o.block_size = 1024, o.journal_blocks = 100 * 1024; }},
      {600, "-L sixteen-letters.", [](auto& o) { o.label = "sixteen-letters."; }},
      {600, "-O ^has_journal", [](auto& o) { o.features.has_journal = false; }},
      {600, "-O ^resize_inode", [](auto& o) { o.features.resize_inode = false; }},
      {600, "-O ^dir_index", [](auto& o) { o.features.dir_index = false; }},
      {600, "-O ^filetype", [](auto& o) { o.features.filetype = false; }},
      {600, "-O ^ext_attr", [](auto& o) { o.features.ext_attr = false; }},
      {600, "-O ^large_file", [](auto& o) { o.features.large_file = false; }},
      {100, "-O ^large_file", [](auto& o) { o.features.large_file = false; }},
      {600, "-O ^sparse_super,^resize_inode",
       [](auto& o) { o.features.sparse_super = o.features.resize_inode = false; }},
  };
  for (const Case& each : cases) {
    FilesystemOptions options = named_options();
    each.change(options);
    EXPECT_EQ(differences(each.megabytes * kMiB, options, each.words), "") << each.words;
  }
}

// The kinds of remainder that a last group can have: none, too little for its tables, just enough.
TEST(MakeFilesystem, OddSizesAreByteForByteThoseOfMke2fs) {
  for (const std::uint64_t kilobytes : {8193, 8194, 8400, 8700, 8800, 9000, 16384, 16385, 16900, 24577, 25000, 25200}) {
    EXPECT_EQ(differences(kilobytes << 10U, named_options(), ""), "") << kilobytes << " KiB";
    FilesystemOptions options = named_options();
    options.bytes = kilobytes << 10U;
    EXPECT_EQ(differences(30 * kMiB, options, "", fmt::format("{}K", kilobytes)), "") << kilobytes << " KiB of 30 MiB";
  }
}

TEST(MakeFilesystemLong, LargeSizesAreByteForByteThoseOfMke2fs) {
  for (const std::uint64_t gigabytes : {4, 16, 33, 64})
    EXPECT_EQ(differences(gigabytes * kGiB, named_options(), ""), "") << gigabytes << " GiB";
  FilesystemOptions options = named_options();
  options.block_size = 1024;
  EXPECT_EQ(differences(20 * kGiB, options, "-b 1024"), "");
  options.block_size = 2048;
  options.inode_size = 128;
  EXPECT_EQ(differences(40 * kGiB, options, "-b 2048 -I 128"), "");
}

std::string bytes_of(MemoryDevice& device) {
  std::string bytes;
  device.for_each_written([&](std::uint64_t offset, std::span<const std::byte> there) {
    bytes += fmt::format("@{}:", offset);
    bytes.append(reinterpret_cast<const char*>(there.data()), there.size());
  });
  return bytes;
}

TEST(MakeFilesystem, TheSameSeedAndClockGiveTheSameBytesAndAnotherSeedDoesNot) {
  FilesystemOptions options;
  options.now = kNow;
  options.seed = 7;
  TestVolumeImage first(20 * kMiB, options);
  TestVolumeImage second(20 * kMiB, options);
  EXPECT_EQ(bytes_of(first.device()), bytes_of(second.device()));
  options.seed = 8;
  TestVolumeImage third(20 * kMiB, options);
  EXPECT_NE(first.made().uuid, third.made().uuid);
}

void fill(BlockDevice& device) {
  std::vector<std::byte> junk(1 << 20);
  for (std::size_t i = 0; i < junk.size(); i += 8) {
    const std::array<be32, 2> header{
        be32(0xC03B3998), be32(static_cast<std::uint32_t>(1 + i / 1024 % 5))};  // the start of journal records
    std::memcpy(junk.data() + i, header.data(), 8);
  }
  for (std::uint64_t offset = 0; offset < device.size(); offset += junk.size()) {
    const std::array<IoPart, 1> parts{{{junk.data(), static_cast<std::uint32_t>(junk.size()), {}}}};
    ASSERT_TRUE(device.write(offset, parts, IoReason::kDemand));
  }
}

// lwext4 issue 29, e2fsprogs issue 120: records of a former life must not be found again.
TEST(MakeFilesystem, OldContentsLeaveNoTraceInTablesAndJournal) {
  for (const std::uint32_t block_size : {1024, 2048, 4096}) {
    FilesystemOptions options = named_options();
    options.block_size = block_size;
    MemoryDevice device(32 * kMiB);
    fill(device);
    ASSERT_TRUE(make_filesystem(device, options));
    IOTAPE_EXPECT_E2FSCK_CLEAN(device);
    TestVolumeImage fresh(32 * kMiB, options);
    const ScratchDirectory scratch;
    TestVolumeImage::save_device(device, scratch / "dirty");
    fresh.save(scratch / "fresh");
    for (const char* file : {"<8>", "<2>", "<11>"}) {
      for (const char* image : {"dirty", "fresh"})
        run_debugfs(scratch / image, {fmt::format("dump {} {}.file", file, scratch / image)});
      EXPECT_EQ(run_shell(fmt::format("cmp {}.file {}.file", scratch / "dirty", scratch / "fresh")).out, "") << file;
    }
  }
}

TEST(MakeFilesystem, AFileStaysSparseThoughItWasFull) {
  const ScratchDirectory scratch;
  iotape::test::run_shell(fmt::format("truncate -s 64M {}", scratch / "image"));
  FilesystemOptions options = named_options();
  options.block_size = 4096;
  auto device = FileDevice::open(scratch / "image", FileDeviceMode::kReadWrite);
  ASSERT_TRUE(device);
  fill(*device);
  ASSERT_TRUE(make_filesystem(*device, options));
  std::string sizes = run_shell(fmt::format("e2fsck -fn {} && du -k {}", scratch / "image", scratch / "image")).out;
  struct stat status {};
  ASSERT_EQ(::stat((scratch / "image").c_str(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 60 << 20) << sizes;  // the 4 MiB of journal and 4 MiB of tables were given up
  iotape::test::run_shell(fmt::format("rm {0} && truncate -s 4G {0}", scratch / "image"));
  auto fresh = FileDevice::open(scratch / "image", FileDeviceMode::kReadWrite);
  ASSERT_TRUE(fresh);
  ASSERT_TRUE(make_filesystem(*fresh, named_options()));
  ASSERT_EQ(::stat((scratch / "image").c_str(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 8 << 20);
}

TEST(MakeFilesystem, WhatCannotBeMetIsOneClearError) {
  using Change = void (*)(FilesystemOptions&);
  struct Case {
    std::uint64_t bytes;
    Change change;
    const char* says;
  };
  const std::vector<Case> cases{
      {0, [](auto&) {}, "too small"},
      {1024, [](auto&) {}, "too small"},
      {16 << 10, [](auto&) {}, "too small"},
      {20 << 10, [](auto& o) { o.block_size = 4096; }, "too small"},
      {9 * kMiB, [](auto& o) { o.block_size = 8192; }, "1024, 2048 or 4096"},
      {9 * kMiB, [](auto& o) { o.inode_size = 512; }, "128 or 256"},
      {9 * kMiB, [](auto& o) { o.inode_count = 100'000'000; }, "too many"},
      {9 * kMiB, [](auto& o) { o.journal_blocks = 8192; }, "more than half"},
      {9 * kMiB, [](auto& o) { o.journal_blocks = 1023; }, "1024 to 10240000"},
      {9 * kMiB, [](auto& o) { o.label = "seventeen letters"; }, "longer than 16"},
      {9 * kMiB, [](auto& o) { o.reserved_percent = 51; }, "0 to 50"},
      {9 * kMiB, [](auto& o) { o.bytes = 10 * kMiB; }, "the device has"},
      {9 * kMiB, [](auto& o) { o.features.sparse_super = false; }, "needs sparse_super"},
  };
  for (const Case& each : cases) {
    FilesystemOptions options = named_options();
    each.change(options);
    MemoryDevice device(each.bytes);
    const auto made = make_filesystem(device, options);
    ASSERT_FALSE(made) << each.bytes << each.says;
    EXPECT_EQ(made.error().code, ErrorCode::kUsage);
    EXPECT_NE(made.error().message.find(each.says), std::string::npos) << made.error().message;
  }
}

class EndlessDevice final : public BlockDevice {
 public:
  [[nodiscard]] std::uint64_t size() const override { return std::uint64_t{5} << 40U; }
  Answer<void> read(std::uint64_t, std::span<const IoPart>, IoReason) override { return refuse(EIO); }
  Answer<void> write(std::uint64_t, std::span<const IoPart>, IoReason) override { return refuse(EIO); }
  Answer<void> flush() override { return refuse(EIO); }
};

TEST(MakeFilesystem, TooManyBlocksAndADeviceThatFailsAreErrors) {
  EndlessDevice device;
  FilesystemOptions options = named_options();
  options.block_size = 1024;
  const auto too_many = make_filesystem(device, options);
  ASSERT_FALSE(too_many);
  EXPECT_NE(too_many.error().message.find("most a filesystem can have"), std::string::npos);
  options.block_size = 4096;
  const auto failed = make_filesystem(device, options);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().os_errno, EIO);
}

// A named difference: mke2fs makes groups of 8 inodes and puts lost+found into the second.
TEST(MakeFilesystem, AsksForFewInodesStillHaveRoomForLostAndFoundInTheFirstGroup) {
  FilesystemOptions options = named_options();
  options.inode_count = 1;
  TestVolumeImage image(100 * kMiB, options);
  EXPECT_EQ(image.made().geometry.inodes_per_group, 16U);
  IOTAPE_EXPECT_E2FSCK_CLEAN(image.device());
}

// Whatever the size, a filesystem or an error; never an image that e2fsck finds fault with.
TEST(MakeFilesystem, SmallSizesAreCleanOrRefused) {
  int made_count = 0;
  for (std::uint64_t kilobytes = 24; kilobytes < 2600; kilobytes += 61) {
    MemoryDevice device(kilobytes << 10U);
    if (!make_filesystem(device, named_options())) continue;
    ++made_count;
    IOTAPE_EXPECT_E2FSCK_CLEAN(device);
  }
  EXPECT_GT(made_count, 30);
}

TEST(MakeFilesystemLive, TheKernelMountsIt) {
  IOTAPE_NEEDS_RECORDER();
  for (const std::uint32_t block_size : {1024, 2048, 4096})
    for (const std::uint32_t inode_size : {128, 256}) {
      const ScratchDirectory scratch;
      FilesystemOptions options = named_options();
      options.block_size = block_size;
      options.inode_size = inode_size;
      TestVolumeImage image(64 * kMiB, options);
      image.save(scratch / "image");
      const auto used = run_shell(
          fmt::format("set -e; cd {}; mkdir m; mount -t ext3 -o loop image m; trap 'umount m' EXIT; mkdir m/d; "
                      "for i in $(seq 300); do echo $i > m/d/file$i; done; dd if=/dev/zero of=m/big bs=1M count=20; "
                      "umount m; trap - EXIT; e2fsck -fn image",
                      scratch.path().string()));
      EXPECT_EQ(used.status, 0) << used.out << used.err;
    }
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
