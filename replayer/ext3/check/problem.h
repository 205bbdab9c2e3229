// One thing that is wrong with a volume.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/ext3/types.h"

namespace iotape::ext3 {

enum class ProblemKind : std::uint8_t {
  kUnreadable,    // the device fails
  kSuperblock,    // a field that cannot be, or a copy that differs
  kFeature,       // not ext3's
  kState,         // an error was noted here before; a journal or orphans wait
  kDescriptor,    // of a group: a table outside of it
  kJournal,       // its inode or its superblock
  kResizeBlocks,  // the blocks reserved for a larger descriptor table
  kOrphanList,    // the chain of files to be deleted
  kInode,         // a field that cannot be
  kBlockPointer,  // leaves the volume
  kSharedBlock,   // belongs to two
  kSize,          // of a file, against its blocks
  kSectorCount,   // of a file, against its blocks
  kXattr,         // attributes: block, entries, references
  kDirectory,     // entries
  kIndex,         // of an htree directory
  kFileType,      // in an entry, against the inode
  kParent,        // ".." against where the directory is
  kUnattached,    // in use but without a name
  kLinkCount,     // against the names
  kBlockBitmap,   // against what is in use
  kInodeBitmap,
  kFreeCount,  // of a group or the volume, and its directories
};
inline constexpr int kProblemKindCount = 23;

// In the words of the list above: "block_bitmap".
std::string_view problem_kind_name(ProblemKind kind);

struct Problem {
  ProblemKind kind = ProblemKind::kSuperblock;
  InodeNumber inode;  // 0: concerns none
  BlockNumber block;  // 0: concerns none
  std::string what;   // one line; bytes of names that are not printable ASCII are written \xNN
};

// Keeps the first problems and counts all.
class ProblemList {
 public:
  explicit ProblemList(std::uint32_t most) : most_(most) {}
  void add(ProblemKind kind, InodeNumber inode, BlockNumber block, std::string what);
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::vector<Problem> take() { return std::move(problems_); }

 private:
  std::uint32_t most_;
  std::uint64_t count_ = 0;
  std::vector<Problem> problems_;
};

}  // namespace iotape::ext3
