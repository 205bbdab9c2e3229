// Access control lists: as a program sees them (the value of system.posix_acl_*, version 2: eight bytes an entry) and
// as ext3 keeps them (version 1: four bytes for entries that need no id).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/ext3/types.h"

namespace iotape::ext3 {

enum AclTag : std::uint16_t {
  kAclOwner = 0x01,
  kAclUser = 0x02,
  kAclOwningGroup = 0x04,
  kAclGroup = 0x08,
  kAclMask = 0x10,
  kAclOther = 0x20,
};
struct AclItem {
  std::uint16_t tag = 0;          // AclTag
  std::uint16_t permission = 0;   // rwx: 4, 2, 1
  std::uint32_t id = 0xFFFFFFFF;  // of kAclUser and kAclGroup
};
using Acl = std::vector<AclItem>;

// EOPNOTSUPP: another version; EINVAL: not whole entries, or not a list that POSIX allows (owner, users, owning group,
// groups, mask, other, in this order; a mask where somebody is named).
Answer<Acl> parse_posix_acl(std::string_view value);
std::string format_posix_acl(const Acl& acl);
// The form on the disk. EUCLEAN: damaged.
Answer<Acl> parse_disk_acl(std::string_view value);
std::string format_disk_acl(const Acl& acl);

// The permission bits that the list says: the mask, where there is one, stands for the group.
std::uint32_t acl_mode(const Acl& acl);
// It says nothing that the mode does not.
bool acl_equals_mode(const Acl& acl);
// After chmod: owner, mask or owning group, other.
void acl_take_mode(Acl& acl, std::uint32_t mode);
// For a new file in a directory whose default list this is: the list takes only what `mode`, which the creator asked
// for (no umask), allows, and the bits of the file are what is left in acl_mode.
void acl_restrict_to(Acl& acl, std::uint32_t mode);

}  // namespace iotape::ext3
