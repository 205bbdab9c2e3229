#include "replayer/ext3/operations/new_inode.h"

#include <cstring>

#include "replayer/ext3/block_map.h"
#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/volume.h"
#include "replayer/ext3/xattr/xattr.h"

namespace iotape::ext3 {
namespace {

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
  else if (!caller.privileged && !caller.in_group(directory.group) && (inode.mode & kRunsAsGroup) == kRunsAsGroup)
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
Answer<void> write_contents(Volume& volume, Handle& handle, Inode& inode, const Inode& directory, const NewNode& node,
                            const Caller& caller) {
  if (inode.is_directory()) {
    inode.links = 2;
    return initialise_directory(volume, handle, inode, directory.number, caller.privileged);
  }
  if (inode.is_symlink()) return write_symlink(volume, handle, inode, node.link_target, caller);
  if (S_ISCHR(inode.mode) || S_ISBLK(inode.mode)) set_device(inode, node.device);
  return {};
}

Answer<void> fill_inode(Volume& volume, Handle& handle, Inode& inode, Inode& directory, const NewNode& node,
                        const Caller& caller) {
  // A list is kept in the record, which must not show an older file's attributes by then.
  if (!directory.no_default_acl) EXT3_TRY(volume.inodes->write(handle, inode));
  EXT3_TRY(inherit_acl(volume, handle, directory, inode, node.umask, caller.privileged));
  EXT3_TRY(write_contents(volume, handle, inode, directory, node, caller));
  return volume.inodes->write(handle, inode);
}

}  // namespace

std::uint64_t device_number(const Inode& inode) {
  if (inode.block[0] != 0) return std::uint64_t{inode.block[0] >> 8U & 0xFFU} << 20U | (inode.block[0] & 0xFFU);
  const std::uint32_t word = inode.block[1];
  return std::uint64_t{word >> 8U & 0xFFFU} << 20U | (word & 0xFFU) | (word >> 12U & 0xFFF00U);
}

std::uint32_t new_inode_credits(const Volume& volume, std::uint32_t mode) {
  const bool has_block = S_ISDIR(mode) || S_ISLNK(mode);
  return InodeAllocator::kCredits + InodeCache::kCredits + OrphanList::kCredits + 2 * xattr_credits() +
         (has_block ? map_credits(volume) + 1 : 0);
}

Answer<void> make_inode(Volume& volume, Handle& handle, const NewPlace& place, const NewNode& node,
                        const Caller& caller, InodeReference& inode) {
  EXT3_ASSIGN(const InodeNumber number,
              volume.inode_numbers->allocate(handle, {place.directory, node.mode, place.name, place.leaf}));
  EXT3_ASSIGN(inode, volume.inodes->create(number));
  initialise(volume, *inode, place.directory, node, caller);
  const auto filled = fill_inode(volume, handle, *inode, place.directory, node, caller);
  if (!filled) EXT3_TRY(unmake_inode(volume, handle, *inode));
  return filled;
}

Answer<void> unmake_inode(Volume& volume, Handle& handle, Inode& inode) {
  inode.links = 0;
  return volume.orphans.add(volume, handle, inode);
}

}  // namespace iotape::ext3
