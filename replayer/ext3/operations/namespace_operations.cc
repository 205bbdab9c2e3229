#include "replayer/ext3/operations/namespace_operations.h"

#include <cstring>

#include "replayer/ext3/block_map.h"
#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/operations/name_rules.h"
#include "replayer/ext3/operations/retry_allocation.h"
#include "replayer/ext3/volume.h"
#include "replayer/ext3/xattr/xattr.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint32_t kRecordCredits = 1;

Answer<void> check_writable(const Volume& volume, const Inode& directory) {
  if (volume.read_only || volume.journal->aborted() != 0) return refuse(EROFS);
  if (!directory.is_directory()) return refuse(ENOTDIR);
  return {};
}

// The old 8:8 form where it fits, else the new one in the second word, as the kernel lays them down.
void set_device(Inode& inode, std::uint64_t device) {
  const auto major = static_cast<std::uint32_t>(device >> 20U);
  const auto minor = static_cast<std::uint32_t>(device & 0xFFFFFU);
  if (major < 256 && minor < 256) {
    inode.block[0] = major << 8U | minor;
  } else {
    inode.block[1] = (minor & 0xFFU) | major << 8U | (minor & ~0xFFU) << 12U;
  }
}

void set_owner(Inode& inode, const Inode& directory, const Caller& caller) {
  inode.user = caller.user;
  inode.group = caller.group;
  if ((directory.mode & S_ISGID) == 0) return;
  inode.group = directory.group;
  constexpr std::uint32_t kRunsAsGroup = S_ISGID | S_IXGRP;
  if (inode.is_directory())
    inode.mode |= S_ISGID;
  else if (!caller.privileged && caller.group != directory.group && (inode.mode & kRunsAsGroup) == kRunsAsGroup)
    inode.mode &= ~static_cast<std::uint32_t>(S_ISGID);  // nobody makes programs of a group he is not in
}

void initialise(Volume& volume, Inode& inode, const Inode& directory, const NewNode& node, const Caller& caller) {
  inode.mode = node.mode;
  set_owner(inode, directory, caller);
  inode.links = 1;
  inode.flags = directory.flags & kInheritedInodeFlags;
  if (!inode.is_directory()) inode.flags &= ~static_cast<std::uint32_t>(kInodeDirectorySync);
  inode.generation = volume.next_generation++;
  inode.access_time = inode.change_time = inode.modification_time = inode.creation_time = volume.storable_now();
}

Answer<void> write_symlink(Volume& volume, Handle& handle, Inode& inode, std::string_view target,
                           const Caller& caller) {
  inode.size = target.size();
  if (target.size() < kFastSymlinkLimit) {
    std::memcpy(inode.block.data(), target.data(), target.size());
    return {};
  }
  EXT3_ASSIGN(const MappedBlock mapped, map_or_allocate(volume, handle, inode, FileBlock(0), caller.privileged));
  BlockTag tag;
  tag.cause = BlockCause::kData;
  tag.inode = inode.number;
  tag.read_back = true;
  EXT3_ASSIGN(const BufferReference buffer, volume.cache->get_zeroed(mapped.block, tag));
  if (volume.journal->data_mode() == DataMode::kJournal) EXT3_TRY(volume.journal->get_create_access(handle, *buffer));
  std::memcpy(buffer->data, target.data(), target.size());
  return volume.journal->dirty_data(handle, *buffer);
}

// What a node needs beside its record and its name.
Answer<void> write_contents(Volume& volume, Handle& handle, Inode& inode, Inode& directory, const NewNode& node,
                            const Caller& caller) {
  if (inode.is_directory()) {
    inode.links = 2;
    return initialise_directory(volume, handle, inode, directory.number, caller.privileged);
  }
  if (inode.is_symlink()) return write_symlink(volume, handle, inode, node.link_target, caller);
  if (S_ISCHR(inode.mode) || S_ISBLK(inode.mode)) set_device(inode, node.device);
  return {};
}

Answer<void> check_new_node(const Volume& volume, const Inode& directory, const NewNode& node) {
  if (S_ISDIR(node.mode) && directory.links >= kLinkLimit) return refuse(EMLINK);
  if (!S_ISLNK(node.mode)) return {};
  if (node.link_target.empty()) return refuse(ENOENT);
  if (node.link_target.size() >= volume.geometry.block_size) return refuse(ENAMETOOLONG);
  return {};
}

Answer<void> finish_node(Volume& volume, Handle& handle, Inode& inode, Inode& directory, DirectoryProbe& probe,
                         std::string_view name, const NewNode& node, const Caller& caller) {
  // A list is kept in the record, which must not show an older file's attributes by then.
  if (!directory.no_default_acl) EXT3_TRY(volume.inodes->write(handle, inode));
  EXT3_TRY(inherit_acl(volume, handle, directory, inode, node.umask, caller.privileged));
  EXT3_TRY(write_contents(volume, handle, inode, directory, node, caller));
  EXT3_TRY(volume.inodes->write(handle, inode));
  if (inode.is_directory()) ++directory.links;  // its "..": written with the name
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
  const bool has_block = S_ISDIR(node.mode) || S_ISLNK(node.mode);
  EXT3_ASSIGN(Handle handle, volume.journal->start(insert_credits(volume) + InodeAllocator::kCredits + kRecordCredits +
                                                   OrphanList::kCredits + 2 * xattr_credits() +
                                                   (has_block ? map_credits(volume) + 1 : 0)));
  EXT3_ASSIGN(const InodeNumber number,
              volume.inode_numbers->allocate(handle, {directory, node.mode, name, probe.leaf_block}));
  EXT3_ASSIGN(inode, volume.inodes->create(number));
  initialise(volume, *inode, directory, node, caller);
  if (const auto answer = finish_node(volume, handle, *inode, directory, probe, name, node, caller); !answer) {
    inode->links = 0;
    EXT3_TRY(volume.orphans.add(volume, handle, *inode));
    return tl::make_unexpected(answer.error());
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

std::uint64_t device_number(const Inode& inode) {
  if (inode.block[0] != 0) return std::uint64_t{inode.block[0] >> 8U & 0xFFU} << 20U | (inode.block[0] & 0xFFU);
  const std::uint32_t word = inode.block[1];
  return std::uint64_t{word >> 8U & 0xFFFU} << 20U | (word & 0xFFU) | (word >> 12U & 0xFFF00U);
}

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
    EXT3_ASSIGN(Handle handle, volume.journal->start(insert_credits(volume) + kRecordCredits));
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
  EXT3_ASSIGN(Handle handle, volume.journal->start(kEraseCredits + kRecordCredits + OrphanList::kCredits));
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
  EXT3_ASSIGN(Handle handle, volume.journal->start(kEraseCredits + kRecordCredits + OrphanList::kCredits));
  if (directory.links > 2) --directory.links;  // its ".."
  EXT3_TRY(erase_name(volume, handle, directory, probe));
  victim->links = 0;
  EXT3_TRY(drop_link(volume, handle, *victim));
  if (directory.has_flag(kInodeDirectorySync)) handle.make_synchronous();
  return handle.stop();
}

}  // namespace iotape::ext3
