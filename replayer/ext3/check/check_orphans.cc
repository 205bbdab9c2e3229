// The chain of files that wait for their deletion or truncation.
#include <algorithm>

#include "replayer/ext3/check/check_state.h"

namespace iotape::ext3::check {

void check_orphans(CheckState& state) {
  PagedBits seen(std::uint64_t{state.geometry.inode_count} + 1);
  InodeNumber next(state.super.last_orphan);
  while (next != kNoInode) {
    if (!state.valid(next) || (next.value < state.geometry.first_inode && next != kRootInode)) {
      state.problem(ProblemKind::kOrphanList, next, kNoBlock, "the orphan list names inode {}, which cannot be one",
                    next.value);
      break;
    }
    if (!seen.set(next.value)) {
      state.problem(ProblemKind::kOrphanList, next, kNoBlock, "the orphan list comes round to inode {} again",
                    next.value);
      break;
    }
    const Bytes bytes = state.read_inode(next);
    if (bytes.empty()) break;
    state.orphans.push_back(next.value);
    next = InodeNumber(record_at<InodeRecord>(bytes, 0).deletion_time);
  }
  if (!state.orphans.empty())
    state.problem(ProblemKind::kOrphanList, InodeNumber(state.super.last_orphan), kNoBlock,
                  "{} files wait to be deleted or cut; mount it once", state.orphans.size());
  std::sort(state.orphans.begin(), state.orphans.end());
}

}  // namespace iotape::ext3::check
