#include "replayer/ext3/xattr/acl.h"

#include <algorithm>
#include <cstring>

#include "replayer/ext3/disk_format/xattr_record.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint32_t kPosixVersion = 2;
constexpr std::uint32_t kDiskVersion = 1;
constexpr std::uint32_t kPosixEntry = 8;

template <typename T>
T load(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

bool has_id(std::uint16_t tag) { return tag == kAclUser || tag == kAclGroup; }

// Tags in their order, each of the single ones once.
bool allowed(const Acl& acl) {
  std::uint16_t least = kAclOwner;
  bool named = false;
  std::uint32_t seen = 0;
  for (const AclItem& item : acl) {
    const bool known = has_id(item.tag) || item.tag == kAclOwner || item.tag == kAclOwningGroup ||
                       item.tag == kAclMask || item.tag == kAclOther;
    if (!known || item.permission > 7 || item.tag < least || (has_id(item.tag) && item.id == 0xFFFFFFFF)) return false;
    named = named || has_id(item.tag);
    seen |= item.tag;
    least = has_id(item.tag) ? item.tag : static_cast<std::uint16_t>(item.tag + 1);
  }
  constexpr std::uint32_t kAlways = kAclOwner | kAclOwningGroup | kAclOther;
  return (seen & kAlways) == kAlways && (!named || (seen & kAclMask) != 0);
}

AclItem* find(Acl& acl, std::uint16_t tag) {
  const auto at = std::find_if(acl.begin(), acl.end(), [tag](const AclItem& item) { return item.tag == tag; });
  return at == acl.end() ? nullptr : &*at;
}

// The entry that the mode's group bits are about.
AclItem* group_class(Acl& acl) {
  AclItem* const mask = find(acl, kAclMask);
  return mask != nullptr ? mask : find(acl, kAclOwningGroup);
}

// Calls change(item, shift) for the entries that stand for the mode's three parts.
template <typename Change>
void each_class(Acl& acl, const Change& change) {
  for (const auto& [item, shift] :
       {std::pair{find(acl, kAclOwner), 6U}, {group_class(acl), 3U}, {find(acl, kAclOther), 0U}})
    if (item != nullptr) change(*item, shift);
}

}  // namespace

Answer<Acl> parse_posix_acl(std::string_view value) {
  if (value.size() < sizeof(le32)) return refuse(EINVAL);
  if (load<le32>(value, 0) != kPosixVersion) return refuse(EOPNOTSUPP);
  if ((value.size() - sizeof(le32)) % kPosixEntry != 0) return refuse(EINVAL);
  Acl acl;
  for (std::size_t at = sizeof(le32); at < value.size(); at += kPosixEntry) {
    const auto entry = load<AclEntry>(value, at);
    acl.push_back({entry.tag, entry.permission, has_id(entry.tag) ? std::uint32_t{entry.id} : 0xFFFFFFFF});
  }
  if (!allowed(acl)) return refuse(EINVAL);
  return acl;
}

std::string format_posix_acl(const Acl& acl) {
  std::string value;
  append(value, le32(kPosixVersion));
  for (const AclItem& item : acl) append(value, AclEntry{item.tag, item.permission, item.id});
  return value;
}

Answer<Acl> parse_disk_acl(std::string_view value) {
  if (value.size() < sizeof(AclHeader) || load<AclHeader>(value, 0).version != kDiskVersion) return refuse(EUCLEAN);
  Acl acl;
  for (std::size_t at = sizeof(AclHeader); at < value.size();) {
    if (value.size() - at < sizeof(AclShortEntry)) return refuse(EUCLEAN);
    const auto entry = load<AclShortEntry>(value, at);
    AclItem item{entry.tag, entry.permission, 0xFFFFFFFF};
    at += sizeof(AclShortEntry);
    if (has_id(item.tag)) {
      if (value.size() - at < sizeof(le32)) return refuse(EUCLEAN);
      item.id = load<le32>(value, at);
      at += sizeof(le32);
    }
    acl.push_back(item);
  }
  if (!allowed(acl)) return refuse(EUCLEAN);
  return acl;
}

std::string format_disk_acl(const Acl& acl) {
  std::string value;
  append(value, AclHeader{kDiskVersion});
  for (const AclItem& item : acl) {
    append(value, AclShortEntry{item.tag, item.permission});
    if (has_id(item.tag)) append(value, le32(item.id));
  }
  return value;
}

std::uint32_t acl_mode(const Acl& acl) {
  std::uint32_t mode = 0;
  Acl copy = acl;
  each_class(copy,
             [&mode](const AclItem& item, std::uint32_t shift) { mode |= std::uint32_t{item.permission} << shift; });
  return mode;
}

bool acl_equals_mode(const Acl& acl) {
  return std::all_of(acl.begin(), acl.end(), [](const AclItem& item) {
    return item.tag == kAclOwner || item.tag == kAclOwningGroup || item.tag == kAclOther;
  });
}

void acl_take_mode(Acl& acl, std::uint32_t mode) {
  each_class(acl, [mode](AclItem& item, std::uint32_t shift) {
    item.permission = static_cast<std::uint16_t>(mode >> shift & 7U);
  });
}

void acl_restrict_to(Acl& acl, std::uint32_t mode) {
  each_class(acl, [mode](AclItem& item, std::uint32_t shift) {
    item.permission = static_cast<std::uint16_t>(item.permission & (mode >> shift));
  });
}

}  // namespace iotape::ext3
