// Our own checker, judged by e2fsck: silent on what it finds clean, and never silent where it complains.
#include "replayer/ext3/check/check_filesystem.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3::test {
namespace {

using iotape::test::CommandOutput;
using iotape::test::run_mounting_shell;
using iotape::test::run_program;
using iotape::test::run_shell;
using iotape::test::ScratchDirectory;

constexpr std::uint64_t kMiB = 1 << 20;

// A tree with something of every kind, for mke2fs -d and genext2fs: deep and wide directories, sparse and large files,
// links of all sorts, long names.
void make_tree(const std::string& path) {
  const CommandOutput made = run_shell(fmt::format(
      "set -e; mkdir -p {0}/a/b/c/d {0}/wide; cd {0}; for i in $(seq 300); do echo $i > wide/file-with-a-long-name-$i; "
      "done; "
      "head -c 3000000 /dev/zero | tr '\\0' x > big; truncate -s 5M sparse; echo end >> sparse; ln big a/hard; "
      "ln -s big a/short; ln -s $(printf 'x%.0s' $(seq 200)) a/long; mkfifo a/fifo; "
      "echo n > a/$(printf 'n%.0s' $(seq 255)); if [ $(id -u) = 0 ]; then mknod a/device c 300 7; mknod a/disk b 8 1; "
      "fi",
      path));
  ASSERT_EQ(made.status, 0) << made.err;
}

std::string check_file(const std::string& path) { return check_text(*load_device(path)); }

TEST(CheckFilesystem, FreshVolumesAreSound) {
  for (const std::uint32_t block_size : {1024, 2048, 4096})
    for (const std::uint32_t inode_size : {128, 256})
      for (const std::uint64_t megabytes : {1, 20, 300}) {
        FilesystemOptions options;
        options.block_size = block_size;
        options.inode_size = inode_size;
        TestVolumeImage image(megabytes * kMiB, options);
        EXPECT_EQ(check_text(image.device()), "") << block_size << " " << inode_size << " " << megabytes;
      }
}

TEST(CheckFilesystem, ImagesThatMke2fsFilledAreSound) {
  const ScratchDirectory scratch;
  make_tree(scratch / "tree");
  for (const char* options : {"-b 1024", "-b 2048 -I 128", "-b 4096", "-O ^has_journal", "-O ^filetype -b 1024",
                              "-O ^dir_index", "-O ^resize_inode,^sparse_super", "-N 2000 -g 1024 -b 1024"}) {
    run_mke2fs(scratch / "image", 64 * kMiB, fmt::format("-t ext3 {} -d {}", options, scratch / "tree"));
    EXPECT_EQ(check_file(scratch / "image"), "") << options;
  }
}

TEST(CheckFilesystemLong, DirectoriesThatE2fsckIndexedAreSound) {
  for (const char* options : {"-b 1024", "-b 4096", "-b 2048 -I 128"}) {
    const ScratchDirectory scratch;
    run_shell(fmt::format("mkdir -p {0}/t/d; cd {0}/t/d; seq -f 'a-rather-long-name-for-a-file-%g' 4000 | xargs touch",
                          scratch.path().string()));
    run_mke2fs(scratch / "image", 32 * kMiB, fmt::format("-t ext3 -N 8000 {} -d {}", options, scratch / "t"));
    for (const char* hash : {"legacy", "half_md4", "tea"}) {
      run_shell(fmt::format("tune2fs -E hash_alg={0} {1}; e2fsck -fyD {1}", hash, scratch / "image"));
      EXPECT_NE(run_debugfs(scratch / "image", {"htree_dump /d"}).find("Number of entries"), std::string::npos);
      EXPECT_EQ(check_file(scratch / "image"), "") << options << " " << hash;
    }
  }
}

TEST(CheckFilesystem, ImagesOfGenext2fsAreSound) {
  const ScratchDirectory scratch;
  make_tree(scratch / "tree");
  for (const char* block_size : {"1024", "2048", "4096"}) {
    const CommandOutput made = run_shell(
        fmt::format("genext2fs -B {} -b 32768 -N 1000 -d {} {}", block_size, scratch / "tree", scratch / "image"));
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(run_program({"/sbin/e2fsck", "-fn", scratch / "image"}).status, 0);
    EXPECT_EQ(check_file(scratch / "image"), "") << block_size;
  }
}

TEST(CheckFilesystem, AttributesThatDebugfsSetAreSound) {
  const ScratchDirectory scratch;
  make_tree(scratch / "tree");
  for (const char* inode_size : {"128", "256"}) {
    run_mke2fs(scratch / "image", 64 * kMiB, fmt::format("-t ext3 -I {} -d {}", inode_size, scratch / "tree"));
    run_debugfs(scratch / "image", {"ea_set big user.one value", "ea_set big user.two " + std::string(500, 'v'),
                                    "ea_set a/b trusted.x \"\"", "ea_set a/short user.n 1",
                                    "ea_set a/long user.n " + std::string(300, 'w')});
    EXPECT_EQ(run_program({"/sbin/e2fsck", "-fn", scratch / "image"}).status, 0);
    EXPECT_EQ(check_file(scratch / "image"), "") << inode_size;
  }
}

TEST(CheckFilesystemLive, WhatTheKernelMadeIsSound) {
  IOTAPE_NEEDS_RECORDER();
  for (const char* options : {"-b 1024", "-b 2048 -I 128", "-b 4096"}) {
    const ScratchDirectory scratch;
    run_mke2fs(scratch / "image", 128 * kMiB, fmt::format("-t ext3 -N 20000 {}", options));
    const CommandOutput used = run_mounting_shell(fmt::format(
        "set -e; cd {}; mkdir m; mount -t ext3 -o loop image m; trap 'umount m' EXIT; mkdir m/d m/e; "
        "for i in $(seq 6000); do : > m/d/a-rather-long-name-for-a-file-$i; done; "
        "for i in $(seq 1 3 6000); do echo m/d/a-rather-long-name-for-a-file-$i; done | xargs rm; "
        "dd if=/dev/zero of=m/big bs=1M count=20; dd if=/dev/zero of=m/hole bs=1k seek=70000 count=1; "
        "for i in 1 2 3; do echo x > m/e/$i; setfattr -n user.same -v $(printf 'v%.0s' $(seq 200)) m/e/$i || true; "
        "done; "
        "ln -s $(printf 'x%.0s' $(seq 300)) m/e/link; mv m/e m/d/e; cp -a {}/replayer m/tree; umount m; trap - EXIT; "
        // Another process's copy of the mounts may hold it a moment longer.
        "for i in $(seq 100); do losetup -j image | grep -q . || break; sleep 0.1; done",
        scratch.path().string(), IOTAPE_SOURCE_DIR));
    EXPECT_EQ(used.status, 0) << used.out << used.err;
    EXPECT_EQ(check_file(scratch / "image"), "") << options;
  }
}

}  // namespace
}  // namespace iotape::ext3::test
