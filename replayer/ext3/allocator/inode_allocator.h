// InodeAllocator: which inode a new file gets. Placement policies are behind one interface, InodePlacementPolicy; see
// ADDING_AN_ALLOCATOR.md beside this file.
//
// Cost does not grow with the inodes in use: groups without a free inode are skipped by GroupTable::with_free_inodes,
// and within a group the search starts at the lowest inode that may be free.
// Source: ext3's ialloc.c before and after Orlov; see each policy's header.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "replayer/ext3/cache/buffer_cache.h"
#include "replayer/ext3/group_table.h"
#include "replayer/ext3/mount_options.h"

namespace iotape::ext3 {

struct Volume;
struct Inode;

// What a policy may look at when a new file needs a place.
struct PlacementRequest {
  const Inode& parent;
  std::uint32_t mode = 0;
  std::string_view name;
  FileBlock leaf;  // the directory block that the name will go into
};
// Where the search for a free inode begins.
struct Placement {
  GroupNumber group;
  std::uint32_t first_bit = 0;  // in the group's inode bitmap; the search goes on from 0 when nothing is free above
};

class InodePlacementPolicy {
 public:
  InodePlacementPolicy() = default;
  InodePlacementPolicy(const InodePlacementPolicy&) = delete;
  InodePlacementPolicy& operator=(const InodePlacementPolicy&) = delete;
  virtual ~InodePlacementPolicy() = default;
  // nullopt: the volume has no free inode. The group returned has at least one.
  virtual std::optional<Placement> place(const Volume& volume, const PlacementRequest& request) = 0;
  // For a policy that must see the group's inode bitmap: where in it the search begins. nullopt: not in this group
  // after all; place() is then asked again.
  virtual std::optional<std::uint32_t> first_bit(const Volume& /*volume*/, const Placement& placement,
                                                 const std::byte* /*bitmap*/) {
    return placement.first_bit;
  }
  // The search found this one.
  virtual void taken(const PlacementRequest& /*request*/, InodeNumber /*inode*/) {}
  virtual void released(InodeNumber /*inode*/, bool /*directory*/) {}
};
std::unique_ptr<InodePlacementPolicy> make_placement_policy(InodePlacement placement, std::uint64_t seed);

class InodeAllocator {
 public:
  static constexpr std::uint32_t kCredits = 2;  // allocate and release: a bitmap and a descriptor block

  InodeAllocator(Volume& volume, std::unique_ptr<InodePlacementPolicy> policy);

  // Takes a free inode's bit. ENOSPC. May wait.
  Answer<InodeNumber> allocate(Handle& handle, const PlacementRequest& request);
  // Clears it again. May wait.
  Answer<void> release(Handle& handle, InodeNumber inode, bool directory);

 private:
  enum class Claim : std::uint8_t { kTaken, kElsewhere, kFull };
  Answer<Claim> claim(Handle& handle, const PlacementRequest& request, const Placement& placement, bool ask_policy,
                      InodeNumber& inode);
  Answer<InodeNumber> claim_anywhere(Handle& handle, const PlacementRequest& request, GroupNumber from);
  [[nodiscard]] std::optional<std::uint32_t> search(GroupNumber group, const std::byte* bits, std::uint32_t from);
  Answer<BufferReference> accessed_bitmap(Handle& handle, GroupNumber group);
  void give_up(Handle& handle, Buffer& bitmap, GroupNumber group);
  std::uint32_t& lowest_free(GroupNumber group);

  Volume& volume_;
  std::unique_ptr<InodePlacementPolicy> policy_;
  std::vector<std::uint32_t> lowest_free_;  // per group: no inode below this bit is free
};

}  // namespace iotape::ext3
