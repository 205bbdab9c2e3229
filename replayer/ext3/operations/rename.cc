// rename(2), with RENAME_NOREPLACE, RENAME_EXCHANGE and RENAME_WHITEOUT.
#include <linux/fs.h>

#include <optional>

#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/operations/name_rules.h"
#include "replayer/ext3/operations/namespace_operations.h"
#include "replayer/ext3/operations/new_inode.h"
#include "replayer/ext3/operations/retry_allocation.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

// A tree deeper than this is a loop on a damaged image: 4,096 bytes of path make at most half as many components.
constexpr std::uint32_t kDeepest = 1U << 16U;

// Whether `ancestor` is `inode` or above it. REQUIRES: the rename lock, which keeps the tree's shape.
Answer<bool> is_ancestor(Volume& volume, const Inode& ancestor, InodeReference inode) {
  for (std::uint32_t depth = 0; depth < kDeepest; ++depth) {
    if (inode.get() == &ancestor) return true;
    if (inode->number == kRootInode || inode->links == 0) return false;
    EXT3_ASSIGN(const InodeNumber parent, directory_parent(volume, *inode));
    if (parent == inode->number) return false;
    EXT3_ASSIGN(inode, volume.inodes->get(parent));
  }
  return volume.damaged(inode->number, "a directory that is its own ancestor");
}

// Both directories' locks, the ancestor's first.
class TwoDirectories {
 public:
  TwoDirectories(Host& host, Inode& first, Inode& second) : first_(host, first.lock) {
    if (&first != &second) second_.emplace(host, second.lock);
  }

 private:
  SleepLockGuard first_;
  std::optional<SleepLockGuard> second_;
};

struct RenameSides {
  Inode& from_directory;
  Inode& to_directory;
  std::string_view from;
  std::string_view to;
  DirectoryProbe from_probe;
  DirectoryProbe to_probe;
  Inode* source = nullptr;
  Inode* target = nullptr;    // what `to` means now
  Inode* whiteout = nullptr;  // what `from` will mean
  [[nodiscard]] bool same_directory() const { return &from_directory == &to_directory; }
};

Answer<void> check_kinds(const RenameSides& sides) {
  if (sides.target == nullptr) return {};
  if (sides.source->is_directory() && !sides.target->is_directory()) return refuse(ENOTDIR);
  if (!sides.source->is_directory() && sides.target->is_directory()) return refuse(EISDIR);
  return {};
}

Answer<void> check_place(Volume& volume, const RenameSides& sides) {
  const bool moves_directory = sides.source->is_directory() && !sides.same_directory();
  if (sides.target == nullptr) {
    if (moves_directory && sides.to_directory.links >= kLinkLimit) return refuse(EMLINK);
    return {};
  }
  if (!sides.target->is_directory()) return {};
  EXT3_ASSIGN(const bool empty, directory_is_empty(volume, *sides.target));
  if (!empty) return refuse(ENOTEMPTY);
  return {};
}

std::uint32_t rename_credits(const Volume& volume) {
  return insert_credits(volume) + 2 * kEraseCredits + 4 + OrphanList::kCredits;
}

// The moved directory's "..", and the links that it and the replaced one counted for.
Answer<void> move_directory(Volume& volume, Handle& handle, RenameSides& sides) {
  if (!sides.same_directory()) EXT3_TRY(set_directory_parent(volume, handle, *sides.source, sides.to_directory.number));
  --sides.from_directory.links;
  if (sides.target == nullptr) ++sides.to_directory.links;
  EXT3_TRY(volume.inodes->write(handle, sides.from_directory));
  return volume.inodes->write(handle, sides.to_directory);
}

// The old name goes, or means the whiteout.
Answer<void> leave_old_name(Volume& volume, Handle& handle, RenameSides& sides) {
  // The insertion may have moved the old name: a leaf that was split, a directory that got its index.
  EXT3_ASSIGN(sides.from_probe, probe_directory(volume, sides.from_directory, sides.from));
  if (!sides.from_probe.found()) return volume.damaged(sides.from_directory.number, "a name lost while renaming");
  if (sides.whiteout == nullptr) return erase_name(volume, handle, sides.from_directory, sides.from_probe);
  return rewrite_name(volume, handle, sides.from_directory, sides.from_probe, sides.whiteout->number,
                      sides.whiteout->mode);
}

Answer<void> replace(Volume& volume, Handle& handle, RenameSides& sides) {
  if (sides.target != nullptr)
    EXT3_TRY(
        rewrite_name(volume, handle, sides.to_directory, sides.to_probe, sides.source->number, sides.source->mode));
  else
    EXT3_TRY(insert_name(volume, handle, sides.to_directory, sides.to_probe, sides.to, sides.source->number,
                         sides.source->mode));
  sides.source->change_time = volume.storable_now();
  EXT3_TRY(volume.inodes->write(handle, *sides.source));
  EXT3_TRY(leave_old_name(volume, handle, sides));
  if (sides.source->is_directory()) EXT3_TRY(move_directory(volume, handle, sides));
  if (sides.target == nullptr) return {};
  sides.target->links -= sides.target->is_directory() ? sides.target->links : 1;
  sides.target->change_time = sides.source->change_time;
  if (sides.target->is_directory()) InodeCache::keep_former_parent(*sides.target, sides.to_directory);
  if (sides.target->links == 0) return volume.orphans.add(volume, handle, *sides.target);
  return volume.inodes->write(handle, *sides.target);
}

Answer<void> exchange(Volume& volume, Handle& handle, RenameSides& sides) {
  EXT3_TRY(rewrite_name(volume, handle, sides.to_directory, sides.to_probe, sides.source->number, sides.source->mode));
  EXT3_TRY(
      rewrite_name(volume, handle, sides.from_directory, sides.from_probe, sides.target->number, sides.target->mode));
  sides.source->change_time = sides.target->change_time = volume.storable_now();
  if (!sides.same_directory()) {
    for (auto [moved, away, into] : {std::tuple(sides.source, &sides.from_directory, &sides.to_directory),
                                     std::tuple(sides.target, &sides.to_directory, &sides.from_directory)}) {
      if (!moved->is_directory()) continue;
      EXT3_TRY(set_directory_parent(volume, handle, *moved, into->number));
      --away->links;
      ++into->links;
    }
    EXT3_TRY(volume.inodes->write(handle, sides.from_directory));
    EXT3_TRY(volume.inodes->write(handle, sides.to_directory));
  }
  EXT3_TRY(volume.inodes->write(handle, *sides.source));
  return volume.inodes->write(handle, *sides.target);
}

// replace, with a whiteout made first: the kernel finds that no inode is left before it looks at what is replaced.
// `whiteout` is the caller's, to be dropped last.
Answer<void> replace_with_whiteout(Volume& volume, Handle& handle, RenameSides& sides, const Caller& caller,
                                   InodeReference& whiteout) {
  const NewPlace place{sides.from_directory, sides.from, sides.from_probe.leaf_block};
  EXT3_TRY(make_inode(volume, handle, place, {S_IFCHR, 0, {}}, caller, whiteout));
  sides.whiteout = whiteout.get();
  auto replaced = check_place(volume, sides);
  if (replaced) replaced = replace(volume, handle, sides);
  if (!replaced) EXT3_TRY(unmake_inode(volume, handle, *whiteout));
  return replaced;
}

Answer<void> check_exchange(const RenameSides& sides) {
  if (sides.same_directory() || sides.source->is_directory() == sides.target->is_directory()) return {};
  const Inode& gains = sides.source->is_directory() ? sides.to_directory : sides.from_directory;
  if (gains.links >= kLinkLimit) return refuse(EMLINK);
  return {};
}

Answer<void> rename_once(Volume& volume, Inode& from_directory, std::string_view from, Inode& to_directory,
                         std::string_view to, std::uint32_t flags, const Caller& caller) {
  InodeReference source;  // dropped after every lock and handle
  InodeReference target;
  InodeReference whiteout;
  const SleepLockGuard one_at_a_time(volume.host, volume.rename_lock);
  EXT3_ASSIGN(const bool from_above, is_ancestor(volume, from_directory, InodeReference(&to_directory)));
  const TwoDirectories locked(volume.host, from_above ? from_directory : to_directory,
                              from_above ? to_directory : from_directory);
  RenameSides sides{from_directory, to_directory, from, to, {}, {}};
  EXT3_ASSIGN(sides.from_probe, probe_directory(volume, from_directory, from));
  if (!sides.from_probe.found()) return refuse(ENOENT);
  EXT3_ASSIGN(source, volume.inodes->get(sides.from_probe.inode));
  sides.source = source.get();
  if (to_directory.links == 0) return refuse(ENOENT);
  EXT3_ASSIGN(sides.to_probe, probe_directory(volume, to_directory, to));
  if (sides.to_probe.found()) {
    if ((flags & RENAME_NOREPLACE) != 0) return refuse(EEXIST);
    EXT3_ASSIGN(target, volume.inodes->get(sides.to_probe.inode));
    sides.target = target.get();
  } else if ((flags & RENAME_EXCHANGE) != 0) {
    return refuse(ENOENT);
  }
  if (source->is_directory()) {
    EXT3_ASSIGN(const bool into_itself, is_ancestor(volume, *source, InodeReference(&to_directory)));
    if (into_itself) return refuse(EINVAL);
  }
  if (target && target->is_directory()) {
    EXT3_ASSIGN(const bool above, is_ancestor(volume, *target, InodeReference(&from_directory)));
    if (above) return refuse((flags & RENAME_EXCHANGE) != 0 ? EINVAL : ENOTEMPTY);
  }
  if (source.get() == target.get()) return {};  // two names of one file: nothing is done
  std::optional<SleepLockGuard> locked_target;
  if (target && (flags & RENAME_EXCHANGE) == 0) locked_target.emplace(volume.host, target->lock);
  const bool leaves_whiteout = (flags & RENAME_WHITEOUT) != 0;
  if ((flags & RENAME_EXCHANGE) != 0) {
    EXT3_TRY(check_exchange(sides));
  } else {
    EXT3_TRY(check_kinds(sides));
    if (!leaves_whiteout) EXT3_TRY(check_place(volume, sides));
  }
  EXT3_ASSIGN(Handle handle, volume.journal->start(rename_credits(volume) +
                                                   (leaves_whiteout ? new_inode_credits(volume, S_IFCHR) : 0)));
  if ((flags & RENAME_EXCHANGE) != 0)
    EXT3_TRY(exchange(volume, handle, sides));
  else if (leaves_whiteout)
    EXT3_TRY(replace_with_whiteout(volume, handle, sides, caller, whiteout));
  else
    EXT3_TRY(replace(volume, handle, sides));
  if (from_directory.has_flag(kInodeDirectorySync) || to_directory.has_flag(kInodeDirectorySync))
    handle.make_synchronous();
  return handle.stop();
}

}  // namespace

bool renames_with(std::uint64_t flags) {
  if ((flags & ~std::uint64_t{RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT}) != 0) return false;
  return (flags & RENAME_EXCHANGE) == 0 || flags == RENAME_EXCHANGE;
}

Answer<void> rename_node(Volume& volume, Inode& from_directory, std::string_view from, Inode& to_directory,
                         std::string_view to, std::uint32_t flags, const Caller& caller) {
  if (volume.read_only || volume.journal->aborted() != 0) return refuse(EROFS);
  if (!from_directory.is_directory() || !to_directory.is_directory()) return refuse(ENOTDIR);
  if (!renames_with(flags)) return refuse(EINVAL);
  if (is_dots(from) || is_dots(to)) return refuse(EBUSY);
  EXT3_TRY(check_name(from));
  EXT3_TRY(check_name(to));
  return retry_allocation(volume,
                          [&] { return rename_once(volume, from_directory, from, to_directory, to, flags, caller); });
}

}  // namespace iotape::ext3
