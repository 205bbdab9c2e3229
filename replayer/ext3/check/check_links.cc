// Whether everything in use hangs in the tree, and has as many names as it says.
#include <algorithm>

#include "replayer/ext3/check/check_state.h"

namespace iotape::ext3::check {
namespace {

enum Walk : std::uint8_t { kUnknown, kAsked, kConnected, kLost };

// Goes up from a directory until it meets one whose answer is known; then all on the way have it.
void connect(CheckState& state, DirectoryNote& start, std::vector<DirectoryNote*>& way) {
  way.clear();
  DirectoryNote* at = &start;
  std::uint8_t answer = kLost;
  while (at != nullptr) {
    if (at->number == kRootInode) {
      answer = at->walk = kConnected;
      break;
    }
    if (at->walk == kConnected || at->walk == kLost) {
      answer = at->walk;
      break;
    }
    if (at->walk == kAsked) break;  // in a ring
    at->walk = kAsked;
    way.push_back(at);
    at = at->named_in == kNoInode ? nullptr : state.directory(at->named_in);
  }
  for (DirectoryNote* const passed : way) passed->walk = answer;
}

void check_parents(CheckState& state) {
  std::vector<DirectoryNote*> way;
  for (DirectoryNote& note : state.directories) {
    const bool root = note.number == kRootInode;
    if ((state.types.get(note.number.value) & kOrphanType) != 0) continue;
    connect(state, note, way);
    if (note.walk == kLost && note.named_in != kNoInode)
      state.problem(ProblemKind::kUnattached, note.number, kNoBlock, "directory {} is not reached from the root",
                    note.number.value);
    const InodeNumber parent = root ? kRootInode : note.named_in;
    if (!note.skipped && parent != kNoInode && note.dot_dot != parent)
      state.problem(ProblemKind::kParent, note.number, kNoBlock, "directory {}: '..' is {}, but it is in {}",
                    note.number.value, note.dot_dot.value, parent.value);
  }
}

}  // namespace

void check_links(CheckState& state) {
  // Where entries could not be read, names are missing for that reason alone.
  if (std::any_of(state.directories.begin(), state.directories.end(), [](const auto& note) { return note.skipped; }))
    return;
  check_parents(state);
  const Geometry& g = state.geometry;
  for (std::uint32_t number = 1; number <= g.inode_count; ++number) {
    if (number < g.first_inode && number != kRootInode.value) continue;
    const std::uint32_t links = state.links.get(number);
    const std::uint32_t names = state.names.get(number);
    const bool orphan = (state.types.get(number) & kOrphanType) != 0;
    if (links == names || orphan) continue;
    const DirectoryNote* const directory = state.directory(InodeNumber(number));
    // A directory's own "." is not the name by which it is found.
    const bool nameless =
        directory != nullptr ? directory->named_in == kNoInode && number != kRootInode.value : names == 0;
    if (nameless)
      state.problem(ProblemKind::kUnattached, InodeNumber(number), kNoBlock, "inode {} is in use but has no name",
                    number);
    else
      state.problem(ProblemKind::kLinkCount, InodeNumber(number), kNoBlock, "inode {} counts {} names, it has {}",
                    number, links, names);
  }
}

}  // namespace iotape::ext3::check
