#include "replayer/ext3/operations/namespace_operations.h"

#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/operations/name_rules.h"
#include "replayer/ext3/operations/new_inode.h"
#include "replayer/ext3/operations/retry_allocation.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

Answer<void> check_writable(const Volume& volume, const Inode& directory) {
  if (volume.read_only || volume.journal->aborted() != 0) return refuse(EROFS);
  if (!directory.is_directory()) return refuse(ENOTDIR);
  return {};
}

Answer<void> check_new_node(const Volume& volume, const Inode& directory, const NewNode& node) {
  if (S_ISDIR(node.mode) && directory.links >= kLinkLimit) return refuse(EMLINK);
  if (!S_ISLNK(node.mode)) return {};
  if (node.link_target.empty()) return refuse(ENOENT);
  if (node.link_target.size() >= volume.geometry.block_size) return refuse(ENAMETOOLONG);
  return {};
}

// The name. A directory's ".." counts for the one that holds it.
Answer<void> name_node(Volume& volume, Handle& handle, Inode& inode, Inode& directory, DirectoryProbe& probe,
                       std::string_view name, const Caller& caller) {
  if (inode.is_directory()) ++directory.links;  // written with the name
  const auto inserted =
      insert_name(volume, handle, directory, probe, name, inode.number, inode.mode, caller.privileged);
  if (!inserted && inode.is_directory()) --directory.links;
  return inserted;
}

// What look_up found out a moment ago, while nothing in the directory has changed since.
Answer<DirectoryProbe> probe_new_name(Volume& volume, Inode& directory, std::string_view name) {
  NameMiss& miss = volume.last_miss;
  const bool same = miss.directory == &directory && miss.change_count == directory.change_count && miss.name == name;
  if (!same) return probe_directory(volume, directory, name);
  miss.directory = nullptr;
  return std::move(miss.probe);
}

Answer<InodeReference> create_once(Volume& volume, Inode& directory, std::string_view name, const NewNode& node,
                                   const Caller& caller) {
  InodeReference inode;  // dropped, and deleted when it came to nothing, after the handle and the lock
  const SleepLockGuard locked(volume.host, directory.lock);
  if (directory.links == 0) return refuse(ENOENT);
  EXT3_ASSIGN(DirectoryProbe probe, probe_new_name(volume, directory, name));
  if (probe.found()) return refuse(EEXIST);
  EXT3_TRY(check_new_node(volume, directory, node));
  EXT3_ASSIGN(Handle handle, volume.journal->start(insert_credits(volume) + new_inode_credits(volume, node.mode)));
  EXT3_TRY(make_inode(volume, handle, {directory, name, probe.leaf_block}, node, caller, inode));
  if (const auto named = name_node(volume, handle, *inode, directory, probe, name, caller); !named) {
    EXT3_TRY(unmake_inode(volume, handle, *inode));
    return tl::make_unexpected(named.error());
  }
  if (directory.has_flag(kInodeDirectorySync)) handle.make_synchronous();
  EXT3_TRY(handle.stop());
  return inode;
}

// One name less. The last one makes an orphan of it, whose last reference deletes it.
Answer<void> drop_link(Volume& volume, Handle& handle, Inode& inode) {
  if (inode.links > 0) --inode.links;
  inode.change_time = volume.storable_now();
  if (inode.links == 0) return volume.orphans.add(volume, handle, inode);
  return volume.inodes->write(handle, inode);
}

}  // namespace

Answer<InodeReference> look_up(Volume& volume, Inode& directory, std::string_view name) {
  if (!directory.is_directory()) return refuse(ENOTDIR);
  EXT3_TRY(check_name(name));
  InodeNumber number;
  {
    const SleepLockGuard locked(volume.host, directory.lock);
    EXT3_ASSIGN(DirectoryProbe probe, probe_directory(volume, directory, name));
    if (!probe.found()) {
      volume.last_miss.directory = &directory;
      volume.last_miss.change_count = directory.change_count;
      volume.last_miss.name = name;
      volume.last_miss.probe = std::move(probe);
      return refuse(ENOENT);
    }
    number = probe.inode;
  }
  auto inode = volume.inodes->get(number);
  // Deleted since the directory was left, or a name that leads nowhere: the first is an ordinary race.
  if (!inode && inode.error().value == ESTALE) return refuse(ENOENT);
  return inode;
}

Answer<InodeReference> create_node(Volume& volume, Inode& directory, std::string_view name, const NewNode& node,
                                   const Caller& caller) {
  EXT3_TRY(check_writable(volume, directory));
  EXT3_TRY(check_name(name));
  if (is_dots(name)) return refuse(EEXIST);
  return retry_allocation(volume, [&] { return create_once(volume, directory, name, node, caller); });
}

Answer<void> link_node(Volume& volume, Inode& directory, std::string_view name, Inode& existing) {
  EXT3_TRY(check_writable(volume, directory));
  EXT3_TRY(check_name(name));
  if (is_dots(name)) return refuse(EEXIST);
  if (existing.is_directory()) return refuse(EPERM);
  return retry_allocation(volume, [&]() -> Answer<void> {
    const SleepLockGuard locked(volume.host, directory.lock);
    const SleepLockGuard locked_file(volume.host, existing.lock);
    if (directory.links == 0 || existing.links == 0) return refuse(ENOENT);
    if (existing.links >= kLinkLimit) return refuse(EMLINK);
    EXT3_ASSIGN(DirectoryProbe probe, probe_directory(volume, directory, name));
    if (probe.found()) return refuse(EEXIST);
    EXT3_ASSIGN(Handle handle, volume.journal->start(insert_credits(volume) + InodeCache::kCredits));
    EXT3_TRY(insert_name(volume, handle, directory, probe, name, existing.number, existing.mode));
    ++existing.links;
    existing.change_time = volume.storable_now();
    EXT3_TRY(volume.inodes->write(handle, existing));
    return handle.stop();
  });
}

Answer<void> unlink_name(Volume& volume, Inode& directory, std::string_view name) {
  EXT3_TRY(check_writable(volume, directory));
  EXT3_TRY(check_name(name));
  if (is_dots(name)) return refuse(EISDIR);
  InodeReference inode;
  const SleepLockGuard locked(volume.host, directory.lock);
  EXT3_ASSIGN(const DirectoryProbe probe, probe_directory(volume, directory, name));
  if (!probe.found()) return refuse(ENOENT);
  EXT3_ASSIGN(inode, volume.inodes->get(probe.inode));
  if (inode->is_directory()) return refuse(EISDIR);
  const SleepLockGuard locked_file(volume.host, inode->lock);
  EXT3_ASSIGN(Handle handle, volume.journal->start(kEraseCredits + InodeCache::kCredits + OrphanList::kCredits));
  EXT3_TRY(erase_name(volume, handle, directory, probe));
  EXT3_TRY(drop_link(volume, handle, *inode));
  if (directory.has_flag(kInodeDirectorySync)) handle.make_synchronous();
  return handle.stop();
}

Answer<void> remove_directory(Volume& volume, Inode& directory, std::string_view name) {
  EXT3_TRY(check_writable(volume, directory));
  EXT3_TRY(check_name(name));
  if (name == ".") return refuse(EINVAL);
  if (name == "..") return refuse(ENOTEMPTY);
  InodeReference victim;
  const SleepLockGuard locked(volume.host, directory.lock);
  EXT3_ASSIGN(const DirectoryProbe probe, probe_directory(volume, directory, name));
  if (!probe.found()) return refuse(ENOENT);
  EXT3_ASSIGN(victim, volume.inodes->get(probe.inode));
  if (!victim->is_directory()) return refuse(ENOTDIR);
  if (victim.get() == &directory) return refuse(EUCLEAN);
  const SleepLockGuard locked_victim(volume.host, victim->lock);
  EXT3_ASSIGN(const bool empty, directory_is_empty(volume, *victim));
  if (!empty) return refuse(ENOTEMPTY);
  EXT3_ASSIGN(Handle handle, volume.journal->start(kEraseCredits + InodeCache::kCredits + OrphanList::kCredits));
  if (directory.links > 2) --directory.links;  // its ".."
  EXT3_TRY(erase_name(volume, handle, directory, probe));
  victim->links = 0;
  InodeCache::keep_former_parent(*victim, directory);
  EXT3_TRY(drop_link(volume, handle, *victim));
  if (directory.has_flag(kInodeDirectorySync)) handle.make_synchronous();
  return handle.stop();
}

}  // namespace iotape::ext3
