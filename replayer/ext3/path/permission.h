// Who may do what to an inode, as POSIX has it, without access control lists.
#pragma once

#include <cstdint>
#include <vector>

#include "replayer/ext3/inode.h"
#include "replayer/ext3/operations/caller.h"

namespace iotape::ext3 {

struct Credentials {
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::vector<std::uint32_t> groups;  // supplementary
  bool privileged = true;             // permission bits do not bind

  [[nodiscard]] Caller caller() const { return {user, group, privileged, groups}; }
  [[nodiscard]] bool in_group(std::uint32_t wanted) const { return caller().in_group(wanted); }
  [[nodiscard]] bool owns(const Inode& inode) const { return privileged || user == inode.user; }
};

// wanted: R_OK, W_OK, X_OK of access(2), combined. EACCES.
Answer<void> check_access(const Inode& inode, int wanted, const Credentials& credentials);
// Taking `victim`'s name out of a directory: write and search permission, and in a sticky one its owner or the
// victim's. EACCES, EPERM.
Answer<void> check_removal(const Inode& directory, const Inode& victim, const Credentials& credentials);
// IMMUTABLE and APPEND flags bind everybody. EPERM.
Answer<void> check_flags(const Inode& inode, bool append_only_is_enough);

}  // namespace iotape::ext3
