// Programs at work on a mount of ours, judged by e2fsck and by the kernel's own driver.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/fuse_mount/support/fuse_mount.h"

namespace iotape::fuse_mount::test {
namespace {

using iotape::test::read_file;
using iotape::test::run_program;
using iotape::test::run_shell;

#define EXPECT_WHOLE(mounted)                                  \
  do {                                                         \
    EXPECT_TRUE((mounted).unmount()) << (mounted).complaint(); \
    EXPECT_EQ((mounted).judge(), "");                          \
  } while (false)

// What the kernel's driver finds on the image is what was there through us.
void expect_kernel_agrees(MountedImage& mounted) {
  const std::string ours = describe_tree(mounted.path());
  EXPECT_WHOLE(mounted);
  ASSERT_TRUE(mounted.mount_by_kernel("ro"));
  EXPECT_EQ(describe_tree(mounted.path()), ours);
  EXPECT_TRUE(mounted.unmount());
}

class MountLive : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Kinds, MountLive,
                         ::testing::Values("-t ext3", "-t ext3 -b 1024 -I 128", "-t ext2 -b 2048",
                                           "-t ext3 -O ^dir_index"));

TEST_P(MountLive, ATreeOfEveryKindOfFileIsTheSameToTheKernel) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("256M", GetParam());
  ASSERT_TRUE(mounted.mount()) << mounted.complaint();
  const auto made =
      run_shell("set -e; cd " + mounted.path() +
                "; mkdir -p a/b/c; echo hello > a/f; ln a/f a/b/g; ln -s ../f a/b/short; "
                "ln -s $(printf 'x%.0s' $(seq 200)) a/b/long; mkfifo a/p; mknod a/c1 c 1 3; mknod a/b1 b 700 70000; "
                "dd if=/dev/urandom of=a/big bs=1M count=20 status=none; truncate -s 400M a/hole; echo end >> a/hole; "
                "printf tail | dd of=a/hole bs=1 seek=1M conv=notrunc status=none; "
                "touch -d '1999-05-05 05:05:05.123456789' a/f; chmod 4751 a/big; chown 12:70000 a/big; "
                "setfattr -n user.one -v 1 a/f; setfattr -n trusted.two -v $(printf 'y%.0s' $(seq 300)) a/b; "
                "for i in $(seq 500); do : > a/b/c/name-$i; done; for i in $(seq 1 2 500); do rm a/b/c/name-$i; done; "
                "mv a/b/c a/d; truncate -s 5000000 a/big");
  ASSERT_EQ(made.status, 0) << made.err;
  expect_kernel_agrees(mounted);
}

TEST_P(MountLive, CopiedUnpackedAndRemovedTreesAgree) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("512M", GetParam());
  ASSERT_TRUE(mounted.mount()) << mounted.complaint();
  const std::string source = IOTAPE_SOURCE_DIR;
  const auto made = run_shell("set -e; cd " + mounted.path() + "; cp -a " + source + "/tests " + source +
                              "/replayer .; tar cf t.tar replayer; mkdir out; tar xf t.tar -C out; "
                              "diff -r replayer out/replayer; diff -r " +
                              source + "/tests tests; rm -rf replayer; mv out/replayer again");
  ASSERT_EQ(made.status, 0) << made.out << made.err;
  expect_kernel_agrees(mounted);
}

TEST(MountConcurrentLive, ManyWritersInOneDirectoryLeaveEveryNameAndByte) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("512M");
  ASSERT_TRUE(mounted.mount()) << mounted.complaint();
  const auto made = run_shell(
      "cd " + mounted.path() +
      "; for w in 1 2 3 4; do ( for i in $(seq 250); do echo $w.$i > n.$w.$i.new; mv n.$w.$i.new n.$w.$i; "
      "ln n.$w.$i l.$w.$i; rm l.$w.$i; mkdir d.$w.$i; [ $((i % 2)) = 0 ] && rmdir d.$w.$i; done ) & done; "
      "( dd if=/dev/zero of=stream1 bs=64K count=600 status=none ) & ( dd if=/dev/zero of=stream2 bs=7000 "
      "count=4000 status=none ) & wait; ls | grep -c '^n\\.'; ls | grep -c '^d\\.'; cat n.* | sort -u | wc -l");
  EXPECT_EQ(made.out, "1000\n500\n1000\n") << made.err;
  expect_kernel_agrees(mounted);
}

TEST(MountConcurrentLive, OneDirectoryHammeredByTwoIsSoundWhoeverWins) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("128M");
  ASSERT_TRUE(mounted.mount()) << mounted.complaint();
  run_shell("cd " + mounted.path() +
            "; for w in 1 2 3; do ( for i in $(seq 200); do mkdir -p h/d/e; : > h/d/e/f; mv h/d h/x$w; "
            "mv h/d/e h/e$w; ls -R h; rm -rf h; done ) >/dev/null 2>&1 & done; wait");
  EXPECT_WHOLE(mounted);
}

TEST(MountEndLive, EverySignalUnmountsCleanly) {
  IOTAPE_NEEDS_FUSE();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    MountedImage mounted("64M");
    ASSERT_TRUE(mounted.mount("commit=1h")) << mounted.complaint();
    run_shell("echo kept > " + (mounted / "file"));
    EXPECT_TRUE(mounted.end_by_signal(signal));
    EXPECT_EQ(run_shell("dumpe2fs -h " + mounted.image() + " 2>/dev/null | grep -c needs_recovery").out, "0\n");
    EXPECT_EQ(mounted.judge(), "");
    EXPECT_EQ(run_shell("debugfs -R 'cat /file' " + mounted.image() + " 2>/dev/null").out, "kept\n");
  }
}

TEST(MountEndLive, ASignalWhileFilesAreOpenKeepsWhatWasWrittenAndFreesWhatWasDeleted) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("64M");
  ASSERT_TRUE(mounted.mount("commit=1h")) << mounted.complaint();
  const int kept = ::open((mounted / "mapped").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const int deleted = ::open((mounted / "deleted").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::ftruncate(kept, 4096), 0);
  ASSERT_EQ(::pwrite(deleted, "gone", 4, 1 << 20U), 4);
  ::unlink((mounted / "deleted").c_str());
  void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, kept, 0);
  ASSERT_NE(page, MAP_FAILED);
  std::memcpy(page, "through memory", 14);
  EXPECT_TRUE(mounted.end_by_signal(SIGTERM));
  ::munmap(page, 4096);
  ::close(kept);
  ::close(deleted);
  EXPECT_EQ(mounted.judge(), "");
  EXPECT_EQ(run_shell("debugfs -R 'cat /mapped' " + mounted.image() + " 2>/dev/null | head -c 14").out,
            "through memory");
}

TEST(MountEndLive, InTheBackgroundItReturnsWhenItStandsAndUnmountsWhenItIsClean) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("64M");
  ASSERT_EQ(run_program({IOTAPE_BINARY, "mount", "-q", mounted.image(), mounted.path()}).status, 0);
  run_shell("echo kept > " + (mounted / "file"));
  EXPECT_EQ(run_program({IOTAPE_BINARY, "mount", "-u", mounted.path()}).status, 0);
  EXPECT_EQ(run_shell("e2fsck -fn " + mounted.image()).status, 0);
  EXPECT_EQ(run_program({IOTAPE_BINARY, "mount", "-u", mounted.path()}).status, 1);
}

// Whoever unmounts must not go by the path alone: the kernel spells some names otherwise, and an image may be renamed.
TEST(MountEndLive, UnmountingWaitsForTheProgramWhateverTheImageIsCalledByThen) {
  IOTAPE_NEEDS_FUSE();
  for (const std::string& name : std::vector<std::string>{"plain", "h#h", "tab\there", "back\\slash", "renamed"}) {
    const iotape::test::ScratchDirectory scratch;
    const std::string place = scratch / "mnt";
    std::filesystem::create_directory(place);
    std::string image = scratch / name;
    ASSERT_EQ(run_program({IOTAPE_BINARY, "mkfs", "-q", image, "64M"}).status, 0);
    for (const std::string options : {"rw", "ro"}) {
      ASSERT_EQ(run_program({IOTAPE_BINARY, "mount", "-q", "-o", options, image, place}).status, 0) << name;
      if (options == "rw") run_shell("head -c 30M /dev/urandom > " + place + "/x");
      if (name == "renamed") {
        std::filesystem::rename(image, image + "x");
        image += "x";
      }
      EXPECT_EQ(run_program({IOTAPE_BINARY, "mount", "-u", place}).status, 0) << name << " " << options;
      // Free at once for somebody who wants it alone.
      EXPECT_EQ(run_program({"/usr/bin/flock", "-n", "-x", image, "true"}).status, 0) << name << " " << options;
      EXPECT_EQ(run_program({"/sbin/e2fsck", "-fn", image}).status, 0) << name << " " << options;
    }
  }
}

// ---- crashes ----

TEST(MountCrashLive, WhatWasFsyncedIsThereAfterAKillInTheMiddleOfWork) {
  IOTAPE_NEEDS_FUSE();
  for (const std::string mode : {"data=ordered", "data=journal", "data=writeback"}) {
    for (int round = 0; round < 3; ++round) {
      MountedImage mounted("256M");
      ASSERT_TRUE(mounted.mount(mode + ",commit=1")) << mounted.complaint();
      // Each name is printed when its file, and then the directory, were synced.
      std::jthread noise([&] {
        run_shell("cd " + mounted.path() +
                  " && mkdir n && for i in $(seq 100000); do echo $i > n/$i && rm -f n/$((i-9)) || break; done");
      });
      std::jthread killer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(700 + 400 * round));
        mounted.kill();
      });
      const std::string synced =
          run_shell("cd " + mounted.path() +
                    " && mkdir s && for i in $(seq 100000); do head -c $((i * 700)) /dev/zero | tr '\\0' $((i % 10)) > "
                    "s/$i && sync s/$i && sync s && echo $i || break; done 2>/dev/null")
              .out;
      killer.join();
      noise.join();
      EXPECT_EQ(mounted.mount_by_kernel(), true);  // the kernel replays our journal
      const auto check = [&](const std::string& whose) {
        const auto missing =
            run_shell("cd " + mounted.path() + "/s && for i in " +
                      std::string(run_shell("printf %s '" + synced + "' | tr '\\n' ' '").out) +
                      "; do head -c $((i * 700)) /dev/zero | tr '\\0' $((i % 10)) | cmp -s - $i || echo $i; done");
        EXPECT_EQ(missing.out, "") << whose << " " << mode << " " << missing.err;
      };
      check("kernel");
      EXPECT_TRUE(mounted.unmount());
      EXPECT_EQ(mounted.judge(), "");
      EXPECT_TRUE(mounted.mount()) << mounted.complaint();
      check("ours");
      EXPECT_WHOLE(mounted);
    }
  }
}

TEST(MountCrashLive, OurOwnReplayAfterAKillIsClean) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("128M");
  for (int round = 0; round < 4; ++round) {
    ASSERT_TRUE(mounted.mount("commit=100ms")) << mounted.complaint();
    std::jthread killer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(600));
      mounted.kill();
    });
    run_shell(
        "cd " + mounted.path() +
        " && for i in $(seq 100000); do mkdir -p r/$i && echo $i > r/$i/f && mv r/$i q.$i && rm -rf q.$((i-5)) || "
        "break; done 2>/dev/null");
    killer.join();
    ASSERT_TRUE(mounted.mount()) << mounted.complaint();
    EXPECT_WHOLE(mounted);
  }
}

// A mount that only reads puts a crashed image in order where it may write, is refused where it may not; a check judges
// it without either.
TEST(MountCrashLive, ACrashedImageIsReplayedForReadersAndJudgedInMemory) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("64M");
  ASSERT_TRUE(mounted.mount("commit=1h")) << mounted.complaint();
  const auto made = run_shell("cd " + mounted.path() + " && for i in $(seq 200); do echo $i > f$i; done; sync f200; " +
                              "exec 9> gone; echo gone >&9; rm gone; sync .");
  ASSERT_EQ(made.status, 0) << made.err;
  mounted.kill();
  const std::string& image = mounted.image();
  const std::string before = run_shell("sha1sum < " + image).out;
  const auto judged = run_program({IOTAPE_BINARY, "check", image});
  EXPECT_EQ(judged.status, 0) << judged.out << judged.err;
  EXPECT_NE(judged.out.find("replayed in memory"), std::string::npos) << judged.out;
  EXPECT_NE(run_program({IOTAPE_BINARY, "check", "--json", image}).out.find("\"journal_waits\": true"),
            std::string::npos);
  EXPECT_EQ(run_shell("sha1sum < " + image).out, before);
  // Root may write a file of any mode; a filesystem that is read-only stops him, too.
  const auto refused =
      run_shell("set -e; mkdir " + image + ".d; mount --bind $(dirname " + image + ") " + image +
                ".d; mount -o remount,bind,ro " + image + ".d; status=0; " + IOTAPE_BINARY + " mount -o ro " + image +
                ".d/image " + mounted.path() + " || status=$?; umount " + image + ".d; exit $status");
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("make it writable"), std::string::npos) << refused.err;
  EXPECT_EQ(run_shell("sha1sum < " + image).out, before);
  ASSERT_TRUE(mounted.mount("ro")) << mounted.complaint();
  EXPECT_EQ(read_file(mounted / "f200"), "200\n");
  EXPECT_NE(run_shell("touch " + (mounted / "f200")).status, 0);
  EXPECT_WHOLE(mounted);
  EXPECT_EQ(run_program({IOTAPE_BINARY, "check", image}).out.find("replayed"), std::string::npos);
}

// Long reads come from the image's pages, from our cache and, while they are written, from both.
TEST(MountFileLive, GreatReadsAndWritesKeepEveryByte) {
  IOTAPE_NEEDS_FUSE();
  for (const std::string words : {"-t ext3 -b 4096", "-t ext3 -b 1024"}) {
    MountedImage mounted("512M", words);
    ASSERT_TRUE(mounted.mount("cache=16M")) << mounted.complaint();
    const auto made = run_shell(
        "set -e; cd " + mounted.path() +
        "; head -c 100000007 /dev/urandom > ../one; cp ../one one; cmp one ../one; echo 3 > /proc/sys/vm/drop_caches; "
        "cmp one ../one; printf changed | dd of=one bs=1 seek=50000001 conv=notrunc status=none; "
        "printf changed | dd of=../one bs=1 seek=50000001 conv=notrunc status=none; "
        "echo 3 > /proc/sys/vm/drop_caches; cmp one ../one; "
        "dd if=../one of=two bs=3333333 skip=3 status=none & dd if=../one of=three bs=70001 seek=11 status=none & "
        "for i in 1 2 3; do echo 3 > /proc/sys/vm/drop_caches; cmp one ../one; done; wait; "
        "dd if=../one bs=3333333 skip=3 status=none | cmp - two; tail -c +770012 three | cmp - ../one; "
        "truncate -s 60000000 one; truncate -s 90000000 one; truncate -s 60000000 ../one; truncate -s 90000000 ../one; "
        "echo 3 > /proc/sys/vm/drop_caches; cmp one ../one");
    EXPECT_EQ(made.status, 0) << made.out << made.err;
    EXPECT_WHOLE(mounted);
  }
}

// ---- refusals ----

TEST(MountRefusalLive, ReadOnlyChangesNoByteOfTheImage) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("64M");
  ASSERT_TRUE(mounted.mount()) << mounted.complaint();
  run_shell("echo data > " + (mounted / "file"));
  ASSERT_TRUE(mounted.unmount());
  const std::string before = run_shell("sha1sum < " + mounted.image()).out;
  ASSERT_TRUE(mounted.mount("ro,strictatime")) << mounted.complaint();
  EXPECT_EQ(read_file(mounted / "file"), "data\n");
  EXPECT_NE(run_shell("touch " + (mounted / "file") + " || touch " + (mounted / "other")).err.find("Read-only"),
            std::string::npos);
  ASSERT_TRUE(mounted.unmount());
  EXPECT_EQ(run_shell("sha1sum < " + mounted.image()).out, before);
}

TEST(MountRefusalLive, AnImageInUseIsNotMountedTwice) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("64M");
  ASSERT_TRUE(mounted.mount()) << mounted.complaint();
  std::filesystem::create_directory(mounted.image() + ".second");
  const auto second = run_program({IOTAPE_BINARY, "mount", mounted.image(), mounted.image() + ".second"});
  EXPECT_EQ(second.status, 1);
  EXPECT_NE(second.err.find("in use"), std::string::npos) << second.err;
}

TEST(MountRefusalLive, AMountWhoseProgramWasKilledIsNamedAsWhatItIs) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("64M");
  ASSERT_TRUE(mounted.mount()) << mounted.complaint();
  mounted.kill_only();
  const auto second = run_program({IOTAPE_BINARY, "mount", mounted.image(), mounted.path()});
  EXPECT_EQ(second.status, 1);
  EXPECT_NE(second.err.find("iotape mount -u " + mounted.path() + " takes it away"), std::string::npos) << second.err;
  const auto taken_away = run_program({IOTAPE_BINARY, "mount", "-u", mounted.path()});
  EXPECT_EQ(taken_away.status, 1);
  EXPECT_NE(taken_away.err.find("the next mount replays its journal"), std::string::npos) << taken_away.err;
  ASSERT_TRUE(mounted.mount()) << mounted.complaint();
  EXPECT_WHOLE(mounted);
}

TEST(MountRefusalLive, AReadOnlyDeviceIsNamedAsWhatItIs) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("64M");
  ASSERT_TRUE(mounted.mount()) << mounted.complaint();
  run_shell("echo kept > " + (mounted / "file") + "; sync " + (mounted / "file"));
  mounted.kill();  // a journal waits
  const auto attached = run_shell("losetup -r -f --show " + mounted.image());
  ASSERT_EQ(attached.status, 0) << attached.err;
  const std::string loop = attached.out.substr(0, attached.out.find('\n'));
  const auto writing = run_program({IOTAPE_BINARY, "mount", loop, mounted.path()});
  EXPECT_EQ(writing.status, 1);
  EXPECT_NE(writing.err.find(loop + " is a read-only device"), std::string::npos) << writing.err;
  const auto reading = run_program({IOTAPE_BINARY, "mount", "-o", "ro", loop, mounted.path()});
  EXPECT_EQ(reading.status, 1);
  EXPECT_NE(reading.err.find(loop + ": its journal must be replayed first"), std::string::npos) << reading.err;
  EXPECT_EQ(run_shell("losetup -d " + loop).status, 0);
}

TEST(MountRefusalLive, AWayOfJournalingWantsAJournal) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("64M", "-t ext2");
  EXPECT_FALSE(mounted.mount("data=journal"));
  EXPECT_NE(mounted.complaint().find("has no journal"), std::string::npos) << mounted.complaint();
  EXPECT_TRUE(mounted.mount("data=none"));
}

TEST(MountRefusalLive, WhatCannotBeMountedIsSaidInOneLine) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("64M");
  const std::string& image = mounted.image();
  const std::string& place = mounted.path();
  const auto mount = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {IOTAPE_BINARY, "mount"});
    return run_program(words);
  };
  EXPECT_EQ(mount({image}).status, 2);
  EXPECT_EQ(mount({image, place, "-o", "dta=journal"}).status, 2);
  EXPECT_NE(mount({image, place, "-o", "dta=journal"}).err.find("did you mean data"), std::string::npos);
  EXPECT_EQ(mount({image, place, "-o", "data=all"}).status, 2);
  EXPECT_EQ(mount({image, image}).status, 2);
  for (const std::string& hidden : std::vector<std::string>{place + "/a.iotape", place + "/b/../a.iotape"}) {
    EXPECT_EQ(mount({image, place, "--trace", hidden}).status, 2) << hidden;
    EXPECT_FALSE(std::filesystem::exists(place + "/a.iotape"));
  }
  EXPECT_EQ(mount({image + ".none", place}).status, 1);
  run_shell("head -c 1M /dev/urandom > " + image + ".junk");
  EXPECT_EQ(mount({image + ".junk", place}).status, 4);
  run_shell("truncate -s 16M " + image + ".ext4; mke2fs -q -t ext4 " + image + ".ext4");
  EXPECT_NE(mount({image + ".ext4", place}).err.find("ext4"), std::string::npos);
}

// ---- a full volume ----

TEST(MountFullLive, AFullVolumeSaysSoAndGoesOnAfterwards) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("16M");
  ASSERT_TRUE(mounted.mount()) << mounted.complaint();
  EXPECT_NE(run_shell("dd if=/dev/zero of=" + (mounted / "fill") + " bs=100K").err.find("No space"), std::string::npos);
  EXPECT_NE(run_shell("for i in $(seq 20000); do mkdir " + (mounted / "d$i") + " || break; done").err.find("No space"),
            std::string::npos);
  ASSERT_EQ(run_shell("rm -rf " + (mounted / "d*") + " " + (mounted / "fill")).status, 0);
  const auto after =
      run_shell("dd if=/dev/zero of=" + (mounted / "again") + " bs=1M count=8 && sync " + (mounted / "again"));
  EXPECT_EQ(after.status, 0) << after.err;
  expect_kernel_agrees(mounted);
}

// A sparse image on a disk that fills up: as on a dying disk, what memory took cannot be written.
TEST(MountFullLive, WhatTheDiskUnderTheImageDidNotTakeIsSaidWhenItIsUnmounted) {
  IOTAPE_NEEDS_FUSE();
  for (const std::string kind : {"ext2", "ext3"}) {
    const iotape::test::ScratchDirectory scratch;
    const std::string disk = scratch / "disk";
    const std::string place = scratch / "mnt";
    const std::string image = disk + "/image";
    ASSERT_EQ(
        run_shell("mkdir " + disk + " " + place + " && mount -t tmpfs -o size=12M none " + disk +
                  " && truncate -s 64M " + image + " && mke2fs -q -t " + kind + " -E lazy_journal_init=1 " + image)
            .status,
        0);
    ASSERT_EQ(run_program({IOTAPE_BINARY, "mount", "-q", image, place}).status, 0);
    run_shell("head -c 30M /dev/urandom > " + place + "/large");
    EXPECT_NE(run_shell("sync " + place + "/large").status, 0) << kind;
    const auto unmounted = run_program({IOTAPE_BINARY, "mount", "-u", place});
    EXPECT_EQ(unmounted.status, 4) << kind;
    EXPECT_NE(unmounted.err.find("is unmounted, but not whole"), std::string::npos) << unmounted.err;
    run_shell("mount -o remount,size=100M " + disk);
    EXPECT_LT(run_shell("e2fsck -fy " + image).status, 4) << kind;
    EXPECT_EQ(run_shell("e2fsck -fn " + image).status, 0) << kind;
    EXPECT_EQ(run_program({IOTAPE_BINARY, "mount", "-q", image, place}).status, 0) << kind;
    EXPECT_EQ(run_program({IOTAPE_BINARY, "mount", "-u", place}).status, 0) << kind;
    EXPECT_EQ(run_shell("umount " + disk).status, 0);
  }
}

// ---- open files ----

TEST(MountFileLive, FlagsSeeksAndSparseFilesBehaveAsOnTheKernel) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("64M", "-t ext3 -b 4096");
  ASSERT_TRUE(mounted.mount()) << mounted.complaint();
  const std::string name = mounted / "file";
  const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_APPEND | O_DSYNC | O_CLOEXEC, 0600);
  ASSERT_EQ(::write(file, "one", 3), 3);
  ASSERT_EQ(::lseek(file, 0, SEEK_SET), 0);
  ASSERT_EQ(::write(file, "two", 3), 3);
  EXPECT_EQ(read_file(name), "onetwo");
  EXPECT_EQ(::fallocate(file, 0, 0, 4096), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
  ASSERT_EQ(::ftruncate(file, 10 << 20U), 0);
  ASSERT_EQ(::write(file, "end", 3), 3);
  EXPECT_EQ(::lseek(file, 100, SEEK_HOLE), 4096);
  EXPECT_EQ(::lseek(file, 4096, SEEK_DATA), 10 << 20U);
  EXPECT_EQ(::lseek(file, 20 << 20U, SEEK_DATA), -1);
  EXPECT_EQ(errno, ENXIO);
  struct stat status {};
  ::fstat(file, &status);
  EXPECT_EQ(status.st_blocks, 2 * 8 + 2 * 8);  // two blocks of data, two that map the second
  ::close(::open(name.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  ::fstat(file, &status);
  EXPECT_EQ(status.st_size, 0);
  EXPECT_EQ(status.st_blocks, 0);
  ::close(file);
  EXPECT_WHOLE(mounted);
}

TEST(MountFileLive, ALargeDirectoryIsReadOnceEachWhileItChanges) {
  IOTAPE_NEEDS_FUSE();
  MountedImage mounted("128M");
  ASSERT_TRUE(mounted.mount()) << mounted.complaint();
  run_shell("cd " + mounted.path() + " && seq -f keep-%g 3000 | xargs touch && seq -f go-%g 3000 | xargs touch");
  std::jthread changes([&] {
    run_shell("cd " + mounted.path() +
              " && seq -f go-%g 3000 | xargs -n 50 rm; seq -f new-%g 2000 | xargs -n 50 touch");
  });
  for (int round = 0; round < 20; ++round)
    EXPECT_EQ(run_shell("ls -U " + mounted.path() + " | grep ^keep- | sort | uniq -c | grep -c '^ *1 '").out, "3000\n");
  changes.join();
  EXPECT_WHOLE(mounted);
}

}  // namespace
}  // namespace iotape::fuse_mount::test
