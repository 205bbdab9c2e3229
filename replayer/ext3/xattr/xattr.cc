#include "replayer/ext3/xattr/xattr.h"

#include <algorithm>

#include "replayer/ext3/volume.h"
#include "replayer/ext3/xattr/acl.h"
#include "replayer/ext3/xattr/xattr_block.h"
#include "replayer/ext3/xattr/xattr_entries.h"
#include "replayer/ext3/xattr/xattr_inode.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint32_t kPermissionBits = 0777;

bool is_acl(const XattrName& name) { return name.index == kXattrAccessAcl || name.index == kXattrDefaultAcl; }

struct BothLists {
  XattrList inner;  // of the inode's record
  XattrList outer;  // of its block
};
Answer<BothLists> read_lists(Volume& volume, Inode& inode) {
  BothLists lists;
  EXT3_ASSIGN(lists.inner, read_inode_xattrs(volume, inode));
  EXT3_ASSIGN(lists.outer, read_xattr_block(volume, inode));
  return lists;
}

// The value as it is stored, or ENODATA.
Answer<std::string> stored_value(Volume& volume, Inode& inode, const XattrName& name) {
  EXT3_ASSIGN(BothLists lists, read_lists(volume, inode));
  if (const XattrItem* const item = find_xattr(lists.inner, name)) return item->value;
  if (const XattrItem* const item = find_xattr(lists.outer, name)) return item->value;
  return refuse(ENODATA);
}

XattrList without(XattrList list, const XattrName& name) {
  std::erase_if(list, [&name](const XattrItem& item) { return item.is(name); });
  return list;
}

XattrList with(XattrList list, const XattrName& name, std::string_view value) {
  if (XattrItem* const item = find_xattr(list, name)) {
    item->value = value;
  } else {
    list.push_back({name.index, std::string(name.name), std::string(value)});
  }
  return list;
}

// Into the record where it fits, else into the block; the other place loses it then.
Answer<void> store(Volume& volume, Handle& handle, Inode& inode, const BothLists& lists, const XattrName& name,
                   std::string_view value, bool privileged) {
  BothLists found = lists;
  const bool in_outer = find_xattr(found.outer, name) != nullptr;
  const Answer<void> inner = write_inode_xattrs(volume, handle, inode, with(lists.inner, name, value));
  if (inner) {
    if (!in_outer) return {};
    // What is left of a shared block may need one of its own, and not get it.
    const Answer<void> outer = write_xattr_block(volume, handle, inode, without(lists.outer, name), privileged);
    if (!outer) (void)write_inode_xattrs(volume, handle, inode, lists.inner);
    return outer;
  }
  if (inner.error().value != ENOSPC) return inner;
  EXT3_TRY(write_xattr_block(volume, handle, inode, with(lists.outer, name, value), privileged));
  if (find_xattr(found.inner, name) == nullptr) return {};
  return write_inode_xattrs(volume, handle, inode, without(lists.inner, name));
}

Answer<void> finish(Volume& volume, Handle& handle, Inode& inode) {
  inode.change_time = volume.storable_now();
  return volume.inodes->write(handle, inode);
}

Answer<void> set_stored(Volume& volume, Handle& handle, Inode& inode, const XattrName& name, std::string_view value,
                        XattrMode mode, bool privileged) {
  inode.no_default_acl = false;
  EXT3_ASSIGN(BothLists lists, read_lists(volume, inode));
  const XattrItem* const inner = find_xattr(lists.inner, name);
  const XattrItem* const old = inner != nullptr ? inner : find_xattr(lists.outer, name);
  if (old != nullptr && mode == XattrMode::kCreate) return refuse(EEXIST);
  if (old == nullptr && mode == XattrMode::kReplace) return refuse(ENODATA);
  if (old == nullptr || old->value != value) EXT3_TRY(store(volume, handle, inode, lists, name, value, privileged));
  return finish(volume, handle, inode);
}

Answer<void> remove_stored(Volume& volume, Handle& handle, Inode& inode, const XattrName& name, bool privileged) {
  EXT3_ASSIGN(BothLists lists, read_lists(volume, inode));
  const bool inner = find_xattr(lists.inner, name) != nullptr;
  if (!inner && find_xattr(lists.outer, name) == nullptr) return refuse(ENODATA);
  if (inner) {
    EXT3_TRY(write_inode_xattrs(volume, handle, inode, without(lists.inner, name)));
  } else {
    EXT3_TRY(write_xattr_block(volume, handle, inode, without(lists.outer, name), privileged));
  }
  return finish(volume, handle, inode);
}

// ---- access control lists ----

constexpr XattrName kAccess{kXattrAccessAcl, {}};
constexpr XattrName kDefault{kXattrDefaultAcl, {}};

Answer<Acl> stored_acl(Volume& volume, Inode& inode, const XattrName& name) {
  EXT3_ASSIGN(const std::string value, stored_value(volume, inode, name));
  auto acl = parse_disk_acl(value);
  if (!acl) return volume.damaged(inode.number, "an access control list cannot be");
  return acl;
}

Answer<void> remove_acl(Volume& volume, Handle& handle, Inode& inode, const XattrName& name, bool privileged) {
  const Answer<void> removed = remove_stored(volume, handle, inode, name, privileged);
  if (!removed && removed.error().value == ENODATA) return {};
  return removed;
}

void take_bits(Inode& inode, std::uint32_t bits) { inode.mode = (inode.mode & ~kPermissionBits) | bits; }

Answer<void> set_access_acl(Volume& volume, Handle& handle, Inode& inode, const Acl& acl, bool privileged) {
  const std::uint32_t mode_before = inode.mode;
  take_bits(inode, acl_mode(acl));
  // What is no more than the mode is kept in the mode alone.
  const Answer<void> done = acl_equals_mode(acl) ? remove_acl(volume, handle, inode, kAccess, privileged)
                                                 : set_stored(volume, handle, inode, kAccess, format_disk_acl(acl),
                                                              XattrMode::kEither, privileged);
  if (!done) {
    inode.mode = mode_before;
    return done;
  }
  return finish(volume, handle, inode);
}

Answer<void> set_acl(Volume& volume, Handle& handle, Inode& inode, const XattrName& name, std::string_view value,
                     bool privileged) {
  if (inode.is_symlink()) return refuse(EOPNOTSUPP);
  // A list without entries is none.
  if (value.size() <= sizeof(le32)) return remove_acl(volume, handle, inode, name, privileged);
  EXT3_ASSIGN(const Acl acl, parse_posix_acl(value));
  if (name == kAccess) return set_access_acl(volume, handle, inode, acl, privileged);
  if (!inode.is_directory()) return refuse(EACCES);
  return set_stored(volume, handle, inode, kDefault, format_disk_acl(acl), XattrMode::kEither, privileged);
}

}  // namespace

Answer<std::string> get_xattr(Volume& volume, Inode& inode, std::string_view full_name) {
  EXT3_ASSIGN(const XattrName name, parse_xattr_name(full_name));
  if (!is_acl(name)) return stored_value(volume, inode, name);
  if (inode.is_symlink()) return refuse(EOPNOTSUPP);
  EXT3_ASSIGN(const Acl acl, stored_acl(volume, inode, name));
  return format_posix_acl(acl);
}

Answer<std::vector<std::string>> list_xattrs(Volume& volume, Inode& inode) {
  EXT3_ASSIGN(const BothLists lists, read_lists(volume, inode));
  std::vector<std::string> names;
  for (const XattrList* const list : {&lists.inner, &lists.outer}) {
    for (const XattrItem& item : *list) {
      std::string name = full_xattr_name(item.index, item.name);
      if (!name.empty()) names.push_back(std::move(name));
    }
  }
  return names;
}

std::uint32_t xattr_credits() { return 1 + xattr_block_credits(); }

Answer<void> set_xattr(Volume& volume, Handle& handle, Inode& inode, std::string_view full_name, std::string_view value,
                       XattrMode mode, bool privileged) {
  EXT3_ASSIGN(const XattrName name, parse_xattr_name(full_name));
  if (is_acl(name)) return set_acl(volume, handle, inode, name, value, privileged);
  return set_stored(volume, handle, inode, name, value, mode, privileged);
}

Answer<void> remove_xattr(Volume& volume, Handle& handle, Inode& inode, std::string_view full_name, bool privileged) {
  EXT3_ASSIGN(const XattrName name, parse_xattr_name(full_name));
  if (!is_acl(name)) return remove_stored(volume, handle, inode, name, privileged);
  if (inode.is_symlink()) return refuse(EOPNOTSUPP);
  return remove_acl(volume, handle, inode, name, privileged);
}

Answer<void> release_xattrs(Volume& volume, Handle& handle, Inode& inode) {
  return release_xattr_block(volume, handle, inode);
}

Answer<void> update_acl_after_chmod(Volume& volume, Handle& handle, Inode& inode, bool privileged) {
  if (inode.is_symlink()) return {};
  auto acl = stored_acl(volume, inode, kAccess);
  if (!acl) return acl.error().value == ENODATA ? Answer<void>() : refuse(acl.error().value);
  acl_take_mode(*acl, inode.mode);
  return set_access_acl(volume, handle, inode, *acl, privileged);
}

Answer<void> inherit_acl(Volume& volume, Handle& handle, Inode& parent, Inode& inode, std::uint32_t umask,
                         bool privileged) {
  if (inode.is_symlink()) return {};
  auto acl = parent.no_default_acl ? Answer<Acl>(refuse(ENODATA)) : stored_acl(volume, parent, kDefault);
  if (!acl) {
    if (acl.error().value != ENODATA) return refuse(acl.error().value);
    parent.no_default_acl = true;
    inode.mode &= ~(umask & kPermissionBits);
    return {};
  }
  if (inode.is_directory()) {
    EXT3_TRY(set_stored(volume, handle, inode, kDefault, format_disk_acl(*acl), XattrMode::kEither, privileged));
  }
  acl_restrict_to(*acl, inode.mode);
  return set_access_acl(volume, handle, inode, *acl, privileged);
}

}  // namespace iotape::ext3
