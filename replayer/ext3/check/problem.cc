#include "replayer/ext3/check/problem.h"

#include <array>

namespace iotape::ext3 {

std::string_view problem_kind_name(ProblemKind kind) {
  static constexpr std::array<std::string_view, kProblemKindCount> kNames{
      "unreadable",   "superblock",  "feature",      "state",         "descriptor",   "journal",
      "resize_inode", "orphan_list", "inode",        "block_pointer", "shared_block", "size",
      "sector_count", "xattr",       "directory",    "index",         "file_type",    "parent",
      "unattached",   "link_count",  "block_bitmap", "inode_bitmap",  "free_count"};
  return kNames[static_cast<std::size_t>(kind)];
}

void ProblemList::add(ProblemKind kind, InodeNumber inode, BlockNumber block, std::string what) {
  if (count_++ < most_) problems_.push_back({kind, inode, block, std::move(what)});
}

}  // namespace iotape::ext3
