#include "replayer/ext3/xattr/xattr_entries.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace iotape::ext3 {
namespace {

struct Namespace {
  std::string_view prefix;
  XattrNameIndex index;
  bool whole;  // the prefix is all of the name
};
constexpr Namespace kNamespaces[] = {
    {"user.", kXattrUser, false},
    {"trusted.", kXattrTrusted, false},
    {"security.", kXattrSecurity, false},
    {"system.posix_acl_access", kXattrAccessAcl, true},
    {"system.posix_acl_default", kXattrDefaultAcl, true},
};

constexpr std::uint32_t padded(std::size_t bytes) { return (static_cast<std::uint32_t>(bytes) + 3) & ~3U; }
std::uint32_t entry_length(std::size_t name_length) {
  return static_cast<std::uint32_t>(sizeof(XattrEntry)) + padded(name_length);
}

template <typename T>
T load(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
template <typename T>
void store(std::span<std::byte> bytes, std::size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// Of the name's bytes as unsigned numbers (both ways are in the world, and e2fsck takes either), then of the value's
// words, the last one filled with zeros.
std::uint32_t entry_hash(std::string_view name, std::span<const std::byte> padded_value) {
  std::uint32_t hash = 0;
  for (const char c : name) hash = (hash << 5U) ^ (hash >> 27U) ^ static_cast<unsigned char>(c);
  for (std::size_t at = 0; at < padded_value.size(); at += 4)
    hash = (hash << 16U) ^ (hash >> 16U) ^ std::uint32_t{load<le32>(padded_value, at)};
  return hash;
}

// One entry; its end, or EUCLEAN.
Answer<std::uint32_t> decode_entry(std::span<const std::byte> bytes, std::uint32_t at, XattrItem& item) {
  if (bytes.size() - at < sizeof(XattrEntry)) return refuse(EUCLEAN);
  const auto entry = load<XattrEntry>(bytes, at);
  const std::uint32_t end = at + entry_length(entry.name_length);
  const std::size_t value_end = std::size_t{entry.value_offset} + entry.value_size;
  if (end > bytes.size() || entry.value_block != 0) return refuse(EUCLEAN);
  if (entry.value_size != 0 && (entry.value_size > bytes.size() || value_end > bytes.size())) return refuse(EUCLEAN);
  const char* const characters = reinterpret_cast<const char*>(bytes.data());
  item.index = entry.name_index;
  item.name.assign(characters + at + sizeof(XattrEntry), entry.name_length);
  if (entry.value_size != 0) item.value.assign(characters + entry.value_offset, entry.value_size);
  return end;
}

bool before(const XattrItem* a, const XattrItem* b) {
  return std::tuple(a->index, a->name.size(), std::string_view(a->name)) <
         std::tuple(b->index, b->name.size(), std::string_view(b->name));
}

std::uint32_t room_for(const XattrList& list) {
  std::uint32_t room = 4;  // the zero word behind the last entry
  for (const XattrItem& item : list) room += entry_length(item.name.size()) + padded(item.value.size());
  return room;
}

}  // namespace

Answer<XattrName> parse_xattr_name(std::string_view full_name) {
  if (full_name.empty() || full_name.size() > 255) return refuse(ERANGE);
  for (const Namespace& space : kNamespaces) {
    if (!full_name.starts_with(space.prefix)) continue;
    const std::string_view rest = full_name.substr(space.prefix.size());
    if (space.whole && !rest.empty()) continue;
    if (!space.whole && rest.empty()) return refuse(EINVAL);
    return XattrName{space.index, rest};
  }
  return refuse(EOPNOTSUPP);
}

std::string full_xattr_name(std::uint8_t index, std::string_view name) {
  for (const Namespace& space : kNamespaces)
    if (space.index == index) return std::string(space.prefix) + std::string(space.whole ? "" : name);
  return {};
}

XattrItem* find_xattr(XattrList& list, const XattrName& name) {
  const auto at = std::find_if(list.begin(), list.end(), [&name](const XattrItem& item) { return item.is(name); });
  return at == list.end() ? nullptr : &*at;
}

Answer<XattrList> decode_xattrs(std::span<const std::byte> bytes, std::uint32_t first) {
  XattrList list;
  for (std::uint32_t at = first;;) {
    if (at > bytes.size() || bytes.size() - at < 4) return refuse(EUCLEAN);
    if (load<le32>(bytes, at) == 0) return list;
    list.emplace_back();
    EXT3_ASSIGN(at, decode_entry(bytes, at, list.back()));
  }
}

bool encode_xattrs(const XattrList& list, const XattrPlace& place, bool sorted_and_hashed) {
  if (place.bytes.size() < place.first || place.bytes.size() - place.first < room_for(list)) return false;
  std::vector<const XattrItem*> order;
  for (const XattrItem& item : list) order.push_back(&item);
  if (sorted_and_hashed) std::stable_sort(order.begin(), order.end(), before);
  std::fill(place.bytes.begin() + place.first, place.bytes.end(), std::byte{0});
  std::uint32_t at = place.first;
  auto values = static_cast<std::uint32_t>(place.bytes.size());
  for (const XattrItem* const item : order) {
    const std::uint32_t room = padded(item->value.size());
    values -= room;
    std::memcpy(place.bytes.data() + values, item->value.data(), item->value.size());
    XattrEntry entry{static_cast<std::uint8_t>(item->name.size()),       item->index,
                     static_cast<std::uint16_t>(room == 0 ? 0 : values), 0,
                     static_cast<std::uint32_t>(item->value.size()),     0};
    if (sorted_and_hashed) entry.hash = entry_hash(item->name, place.bytes.subspan(values, room));
    store(place.bytes, at, entry);
    std::memcpy(place.bytes.data() + at + sizeof(XattrEntry), item->name.data(), item->name.size());
    at += entry_length(item->name.size());
  }
  return true;
}

std::uint32_t xattr_block_hash(std::span<const std::byte> block) {
  std::uint32_t hash = 0;
  for (std::uint32_t at = sizeof(XattrBlockHeader); load<le32>(block, at) != 0;) {
    const auto entry = load<XattrEntry>(block, at);
    if (entry.hash == 0) return 0;  // somebody else's, without hashes: not to be shared
    hash = (hash << 16U) ^ (hash >> 16U) ^ std::uint32_t{entry.hash};
    at += entry_length(entry.name_length);
  }
  return hash;
}

}  // namespace iotape::ext3
