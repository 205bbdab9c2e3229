// Damage done on purpose: whatever e2fsck complains of, our checker complains of, and calls it by the right name.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <sstream>

#include "replayer/ext3/check/check_filesystem.h"
#include "replayer/ext3/device/file_device.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3::test {
namespace {

using iotape::test::CommandOutput;
using iotape::test::read_file;
using iotape::test::run_program;
using iotape::test::run_shell;
using iotape::test::ScratchDirectory;
using iotape::test::write_file;

// An image with a file of every kind, attributes in inodes and in a block, an indexed directory of two levels.
class DamagedImageLong : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = std::make_unique<ScratchDirectory>();
    const std::string tree = *scratch_ / "tree";
    run_shell(
        fmt::format("mkdir -p {0}/a/b/c {0}/d; cd {0}; head -c 700000 /dev/zero | tr '\\0' x > big; ln -s big a/short; "
                    "ln -s $(printf 'x%.0s' $(seq 200)) a/long; mkfifo a/fifo; ln big a/hard; "
                    "seq -f 'a-rather-long-name-for-a-file-%g' 3000 | (cd d; xargs touch)",
                    tree));
    ASSERT_TRUE(run_mke2fs(base(), 32 << 20, fmt::format("-t ext3 -b 1024 -N 4000 -d {}", tree)));
    write_file(*scratch_ / "empty", "");
    const std::string said =
        run_debugfs(base(), {"mkdir t", fmt::format("write {} t/one", *scratch_ / "empty"),
                             fmt::format("write {} t/two", *scratch_ / "empty"), "ea_set t/one user.in inner",
                             "ea_set t/two user.out " + std::string(600, 'v')});
    run_program({"/sbin/e2fsck", "-fyD", base()});
    const CommandOutput judged = run_program({"/sbin/e2fsck", "-fn", base()});
    ASSERT_EQ(judged.status, 0) << judged.out << said;
    ASSERT_EQ(check_text(*load_device(base())), "");
  }
  static void TearDownTestSuite() { scratch_.reset(); }

  static std::string base() { return *scratch_ / "base"; }
  static std::string image() { return *scratch_ / "image"; }
  // A block number that debugfs prints.
  static std::string ask(const std::string& request) {
    const std::string out = run_program({"/sbin/debugfs", "-R", request, base()}).out;
    return out.substr(0, out.find_first_of("\n "));
  }

  static std::unique_ptr<ScratchDirectory> scratch_;
};

std::unique_ptr<ScratchDirectory> DamagedImageLong::scratch_;

struct Damage {
  const char* what;
  ProblemKind kind;
  std::vector<std::string> requests;  // to debugfs -w
  bool e2fsck_complains = true;
};

std::vector<Damage> damages_of_the_volume() {
  using Kind = ProblemKind;
  return {
      {"free blocks of the volume", Kind::kFreeCount, {"ssv free_blocks_count 5"}},
      {"free inodes of the volume", Kind::kFreeCount, {"ssv free_inodes_count 5"}},
      {"free blocks of a group", Kind::kFreeCount, {"set_bg 1 free_blocks_count 5"}},
      {"free inodes of a group", Kind::kFreeCount, {"set_bg 1 free_inodes_count 5"}},
      {"directories of a group", Kind::kFreeCount, {"set_bg 1 used_dirs_count 5"}},
      {"more blocks than the device", Kind::kSuperblock, {"ssv blocks_count 99999"}},
      {"inodes that are no multiple", Kind::kSuperblock, {"ssv inodes_count 4001"}},
      {"reserved blocks", Kind::kSuperblock, {"ssv r_blocks_count 30000"}},
      {"an unknown incompatible feature", Kind::kFeature, {"ssv feature_incompat 0x80000002"}},
      {"an unknown read-only feature", Kind::kFeature, {"ssv feature_ro_compat 0x80000003"}},
      {"a bitmap outside its group", Kind::kDescriptor, {"set_bg 1 block_bitmap 5"}},
      {"a table outside its group", Kind::kDescriptor, {"set_bg 1 inode_table 0"}},
      {"a table over a bitmap", Kind::kSharedBlock, {"set_bg 2 inode_table 16385"}},
      {"a used block marked free", Kind::kBlockBitmap, {"freeb 300"}},
      {"a free block marked used", Kind::kBlockBitmap, {"setb 32000"}},
      {"a used inode marked free", Kind::kInodeBitmap, {"freei big"}},
      {"a free inode marked used", Kind::kInodeBitmap, {"seti <3900>"}},
      {"a reserved inode marked free", Kind::kInodeBitmap, {"freei <9>"}},
      {"sectors of a file", Kind::kSectorCount, {"sif big blocks 2"}},
      {"sectors of a directory", Kind::kSectorCount, {"sif a blocks 8"}},
      {"a file shorter than its blocks", Kind::kSize, {"sif big size 10"}},
      {"a directory shorter than its blocks", Kind::kSize, {"sif d size 1024"}},
      {"a directory longer than its blocks", Kind::kSize, {"sif a size 4096"}},
      {"a directory of an odd size", Kind::kSize, {"sif a size 1000"}},
      {"names of a file, more", Kind::kLinkCount, {"sif big links_count 7"}},
      {"names of a file, none", Kind::kInode, {"sif big links_count 0"}},
      {"names of a directory", Kind::kLinkCount, {"sif a/b links_count 9"}},
      {"a name without a count", Kind::kLinkCount, {"ln big another"}},
      {"a name gone", Kind::kLinkCount, {"unlink a/hard"}},
      {"the only name gone", Kind::kUnattached, {"unlink a/fifo"}},
      {"a directory's name gone", Kind::kUnattached, {"unlink a/b"}},
      {"two names of a directory", Kind::kParent, {"ln a/b again"}},
      {"a time of deletion", Kind::kInode, {"sif big dtime 1700000000"}},
      {"a mode of no type", Kind::kInode, {"sif big mode 0644"}},
      {"a file that calls itself a directory", Kind::kDirectory, {"sif big mode 040755"}},
      {"a directory that calls itself a file", Kind::kFileType, {"sif a/b mode 0100644"}},
      {"a pointer outside the volume", Kind::kBlockPointer, {"sif big block[2] 99999999"}},
      {"an indirect pointer outside the volume", Kind::kBlockPointer, {"sif big block[IND] 99999999"}},
      {"a pointer to the superblock", Kind::kBlockPointer, {"sif big block[2] 1"}},
      {"a pointer to a bitmap", Kind::kSharedBlock, {"sif big block[2] 16385"}},
      {"an indirect pointer to itself", Kind::kSharedBlock, {"sif big block[DIND] {big:12}"}},
      {"a hole in a directory", Kind::kDirectory, {"sif d block[3] 0"}},
      {"an empty directory map", Kind::kSize, {"sif a block[0] 0"}},
      {"a short link's size", Kind::kSize, {"sif a/short size 2"}},
      {"a short link beyond its place", Kind::kSize, {"sif a/short size 59"}},
      {"a long link's size", Kind::kSize, {"sif a/long size 10"}},
      {"a long link without a block", Kind::kSize, {"sif a/long block[0] 0", "sif a/long size 200"}},
      {"a fifo with a size", Kind::kSize, {"sif a/fifo size 5"}},
      {"a fifo with blocks", Kind::kInode, {"sif a/fifo block[5] 77"}, false},
      {"a fragment", Kind::kInode, {"sif big faddr 5"}},
      {"an index on a plain file", Kind::kIndex, {"sif big flags 0x1000"}},
      {"an index on a linear directory", Kind::kIndex, {"sif a flags 0x1000"}},
      {"extents", Kind::kInode, {"sif big flags 0x80000"}},
      {"extra bytes", Kind::kInode, {"sif big extra_isize 255"}},
      {"an inode that an entry names is gone", Kind::kDirectory, {"clri a/fifo"}},
      {"an entry's length", Kind::kDirectory, {"zap -f t -o 28 -l 1 -p 13 0"}},
      {"an entry that leaves its block", Kind::kDirectory, {"zap -f t -o 29 -l 1 -p 16 0"}},
      {"an entry too short for its name", Kind::kDirectory, {"zap -f t -o 30 -l 1 -p 200 0"}},
  };
}

std::vector<Damage> damages_of_files() {
  using Kind = ProblemKind;
  return {
      {"an entry without a name", Kind::kDirectory, {"zap -f t -o 30 -l 1 -p 0 0"}},
      {"an entry's type", Kind::kFileType, {"zap -f t -o 31 -l 1 -p 2 0"}},
      {"an entry of no inode that is", Kind::kDirectory, {"zap -f t -o 26 -l 1 -p 255 0"}},
      {"an entry of a reserved inode", Kind::kDirectory, {"zap -f t -o 24 -l 2 -p 0 0", "zap -f t -o 24 -l 1 -p 8 0"}},
      {"a name with a slash", Kind::kDirectory, {"zap -f t -o 32 -l 1 -p 47 0"}},
      {"a name with a zero", Kind::kDirectory, {"zap -f t -o 32 -l 1 -p 0 0"}},
      {"a name twice", Kind::kDirectory, {"zap -f t -o 32 -l 3 -p 120 0", "zap -f t -o 44 -l 3 -p 120 0"}},
      {"'.' of another", Kind::kDirectory, {"zap -f t -o 0 -l 1 -p 2 0"}},
      {"no '.'", Kind::kDirectory, {"zap -f t -o 8 -l 1 -p 120 0"}},
      {"no '..'", Kind::kDirectory, {"zap -f t -o 20 -l 1 -p 120 0"}},
      {"'..' of another", Kind::kParent, {"zap -f a/b -o 12 -l 2 -p 0 0", "zap -f a/b -o 12 -l 1 -p 2 0"}},
      {"a directory of zeros", Kind::kDirectory, {"zap -f a/b/c -p 0 0"}},
      {"the index's root: version", Kind::kIndex, {"zap -f d -o 28 -l 1 -p 77 0"}},
      {"the index's root: length", Kind::kIndex, {"zap -f d -o 29 -l 1 -p 7 0"}},
      {"the index's root: levels", Kind::kIndex, {"zap -f d -o 30 -l 1 -p 4 0"}},
      {"the index's root: flags", Kind::kIndex, {"zap -f d -o 31 -l 1 -p 1 0"}},
      {"the index's root: limit", Kind::kIndex, {"zap -f d -o 32 -l 1 -p 99 0"}},
      {"the index's root: count", Kind::kIndex, {"zap -f d -o 34 -l 2 -p 255 0"}},
      {"the index's root: a count of none", Kind::kIndex, {"zap -f d -o 34 -l 2 -p 0 0"}},
      {"the index's root: order", Kind::kIndex, {"zap -f d -o 43 -l 1 -p 0 0"}, false},
      {"the index's root: a block beyond", Kind::kIndex, {"zap -f d -o 46 -l 1 -p 255 0"}},
      {"the index's root: a block twice", Kind::kIndex, {"zap -f d -o 36 -l 2 -p 1 0"}},
      {"a node's limit", Kind::kIndex, {"zap -f d -o 8 -l 1 -p 9 {node}"}},
      {"a node's count", Kind::kIndex, {"zap -f d -o 10 -l 1 -p 0 {node}"}},
      {"a node's order", Kind::kIndex, {"zap -f d -o 19 -l 1 -p 255 {node}"}},
      {"a leaf's range", Kind::kIndex, {"zap -f d -o 27 -l 1 -p 1 {node}"}},
      {"another seed", Kind::kIndex, {"ssv hash_seed 11111111-2222-3333-4444-555555555555"}},
      {"a name changed in a leaf", Kind::kIndex, {"zap -f d -o 12 -l 1 -p 90 1"}},
      {"attributes' magic", Kind::kXattr, {"zap -o 0 -l 4 -p 1 {xattr}"}},
      {"attributes' references", Kind::kXattr, {"zap -o 4 -l 1 -p 3 {xattr}"}},
      {"an attribute's hash", Kind::kXattr, {"zap -o 44 -l 1 -p 3 {xattr}"}},
      {"an attribute's value", Kind::kXattr, {"zap -o 1000 -l 1 -p 3 {xattr}"}},
      {"an attribute's place", Kind::kXattr, {"zap -o 34 -l 2 -p 255 {xattr}"}},
      {"an attribute's value elsewhere", Kind::kXattr, {"zap -o 36 -l 1 -p 1 {xattr}"}},
      {"attributes outside the volume", Kind::kBlockPointer, {"sif t/two file_acl 99999999"}},
      {"attributes in another's block", Kind::kSharedBlock, {"sif t/two file_acl 16385"}},
      {"the journal's magic", Kind::kJournal, {"zap -f <8> -o 0 -l 4 -p 0 0"}},
      {"the journal's blocks", Kind::kJournal, {"zap -f <8> -o 14 -l 1 -p 1 0"}},
      {"the journal's length", Kind::kJournal, {"zap -f <8> -o 16 -l 2 -p 1 0"}},
      {"the journal's features", Kind::kJournal, {"zap -f <8> -o 40 -l 4 -p 255 0"}},
      {"a log in a clean volume", Kind::kJournal, {"zap -f <8> -o 31 -l 1 -p 1 0"}},
      {"the journal is no file", Kind::kJournal, {"sif <8> mode 040755"}},
      {"the journal has a hole", Kind::kJournal, {"sif <8> block[5] 0"}},
      {"another journal", Kind::kJournal, {"ssv journal_inum 13"}},
      {"a journal's number without one", Kind::kJournal, {"ssv feature_compat 0x38"}},
      {"the resize inode's mode", Kind::kResizeBlocks, {"sif <7> mode 040755"}},
      {"the resize inode's sectors", Kind::kResizeBlocks, {"sif <7> blocks 2"}},
      {"the resize inode's root", Kind::kResizeBlocks, {"zap -o 4 -l 2 -p 9 {resize}"}},
      {"the resize inode's copies", Kind::kResizeBlocks, {"zap -o 0 -l 1 -p 9 3"}},
      {"the resize inode's copies, one more", Kind::kResizeBlocks, {"zap -o 600 -l 1 -p 9 3"}},
      {"the resize inode's root, one more", Kind::kResizeBlocks, {"zap -o 1000 -l 1 -p 9 {resize}"}},
      {"the resize inode without its feature", Kind::kInode, {"ssv feature_compat 0x2c"}},
      {"an orphan", Kind::kOrphanList, {"ssv last_orphan 13"}, false},
      {"an orphan that cannot be", Kind::kOrphanList, {"ssv last_orphan 999999"}, false},
      {"one of the orphan list, alone", Kind::kOrphanList, {"sif <3900> dtime 20", "sif <3900> mode 0100644"}},
      {"a file to be recovered", Kind::kState, {"ssv feature_incompat 6"}, false},
      {"errors in the past", Kind::kState, {"ssv state 3"}, false},
      {"padding of the block bitmap", Kind::kBlockBitmap, {"zap -o 1023 -l 1 -p 0 {lastbitmap}"}},
  };
}

std::vector<Damage> damages() {
  std::vector<Damage> all = damages_of_the_volume();
  for (Damage& damage : damages_of_files()) all.push_back(std::move(damage));
  return all;
}

TEST_F(DamagedImageLong, OfEveryKindIsReportedByItsName) {
  const std::string xattr = [] {
    const std::string out = run_program({"/sbin/debugfs", "-R", "stat t/two", base()}).out;
    const std::size_t at = out.find("File ACL: ") + 10;
    return out.substr(at, out.find('\n', at) - at);
  }();
  const std::string nodes = run_program({"/sbin/debugfs", "-R", "htree_dump /d", base()}).out;
  const std::size_t node_at = nodes.find("block ") + 6;
  const std::map<std::string, std::string> places{
      {"{xattr}", xattr},
      {"{node}", nodes.substr(node_at, nodes.find_first_of("\n ,", node_at) - node_at)},
      {"{big:12}", ask("bmap big 0")},
      {"{resize}",
       [] {
         const std::string out = run_program({"/sbin/debugfs", "-R", "stat <7>", base()}).out;
         const std::size_t at = out.find("(DIND):") + 7;
         return out.substr(at, out.find(',', at) - at);
       }()},
      {"{lastbitmap}",
       [] {
         const std::string out = run_program({"/sbin/dumpe2fs", base()}).out;
         const std::size_t at = out.rfind("Block bitmap at ") + 16;
         return out.substr(at, out.find(' ', at) - at);
       }()},
  };
  std::map<ProblemKind, int> kinds;
  for (const Damage& damage : damages()) {
    run_program({"cp", "--sparse=always", base(), image()});
    std::vector<std::string> requests;
    for (std::string request : damage.requests) {
      for (const auto& [name, value] : places)
        if (const std::size_t at = request.find(name); at != std::string::npos) request.replace(at, name.size(), value);
      requests.push_back(request.starts_with("zap ") ? "zap_block" + request.substr(3) : request);
    }
    const std::string said = run_debugfs(image(), requests);
    const CommandOutput judged = e2fsck_file(image());
    EXPECT_EQ(judged.status != 0, damage.e2fsck_complains) << damage.what << "\n" << said << judged.out;
    auto device = load_device(image());
    const CheckReport report = check_filesystem(*device);
    EXPECT_NE(report.problem_count, 0U) << damage.what << "\n" << said << judged.out;
    bool found = false;
    for (const Problem& problem : report.problems) found = found || problem.kind == damage.kind;
    EXPECT_TRUE(found) << damage.what << "\n" << check_text(*device) << judged.out;
    ++kinds[damage.kind];
  }
  EXPECT_GE(kinds.size(), 21U);
}

// A few bytes changed at random wherever metadata lies. What e2fsck may find and ours need not: times.
TEST_F(DamagedImageLong, AtRandomIsNeverMissed) {
  std::vector<std::uint32_t> blocks{1, 2, 3};
  const std::string groups = run_program({"/sbin/dumpe2fs", base()}).out;
  for (const char* table : {"Block bitmap at ", "Inode bitmap at ", "Inode table at "})
    for (std::size_t at = groups.find(table); at != std::string::npos; at = groups.find(table, at + 1))
      std::istringstream(groups.substr(at + std::string(table).size(), 12)) >> blocks.emplace_back();
  for (const char* file : {"/", "a", "a/b", "t", "d", "lost+found", "<7>", "<8>", "big"}) {
    const std::string list = run_program({"/sbin/debugfs", "-R", fmt::format("blocks {}", file), base()}).out;
    std::istringstream words(list);
    std::uint32_t block = 0;
    for (int i = 0; i < (file[0] == 'b' ? 300 : 12) && words >> block; ++i) blocks.push_back(block);
  }
  const std::uint32_t first_table = blocks[3 + 8];
  for (std::uint32_t i = 1; i < 12; ++i) blocks.push_back(first_table + i);
  const std::string whole = read_file(base());
  std::mt19937 random(4);
  int complained = 0;
  int only_ours = 0;
  for (int trial = 0; trial < 400; ++trial) {
    std::string bytes = whole;
    std::string changes;
    const std::uint32_t block = blocks[random() % blocks.size()];
    for (int n = 0; n < 1 + trial % 3; ++n) {
      // Most structures are denser at a block's start.
      const std::size_t at = block * std::size_t{1024} + random() % (trial % 2 == 0 ? 1024 : 128);
      const auto value = static_cast<char>(random() % 4 == 0 ? bytes[at] ^ (1 << random() % 8) : random() % 256);
      changes += fmt::format("{}+{}: {:02x} to {:02x}; ", block, at % 1024, static_cast<unsigned char>(bytes[at]),
                             static_cast<unsigned char>(value));
      bytes[at] = value;
    }
    write_file(image(), bytes);
    const CommandOutput judged = e2fsck_file(image());
    auto device = load_device(image());
    const CheckReport report = check_filesystem(*device);
    complained += judged.status != 0 ? 1 : 0;
    only_ours += judged.status == 0 && !report.sound() ? 1 : 0;
    EXPECT_FALSE(judged.status != 0 && report.sound()) << changes << judged.out << judged.err;
    if (judged.status == 0 && !report.sound() && std::getenv("IOTAPE_SHOW") != nullptr)
      fmt::print("{}\n{}", changes, check_text(*device));
  }
  fmt::print("e2fsck complained {} times, ours alone {} times\n", complained, only_ours);
}

}  // namespace
}  // namespace iotape::ext3::test
