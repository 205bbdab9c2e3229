// Extended attributes: entries in the inode's own record, and in a block that inodes may share.
#include <algorithm>
#include <cstring>

#include "replayer/ext3/check/check_state.h"
#include "replayer/ext3/disk_format/xattr_record.h"

namespace iotape::ext3::check {
namespace {

struct EntryList {
  std::span<const std::byte> area;  // entries and values
  std::size_t first = 0;            // where entries begin, in the area
  std::size_t value_base = 0;       // what value offsets count from
  bool hashes_required = false;
};

std::uint32_t entry_hash(std::span<const std::byte> name, std::span<const std::byte> value, bool signed_bytes) {
  std::uint32_t hash = 0;
  for (const std::byte b : name) {
    const auto byte = std::to_integer<std::uint32_t>(b);
    hash = (hash << 5U) ^ (hash >> 27U) ^ (signed_bytes && byte >= 0x80 ? byte | 0xFFFFFF00U : byte);
  }
  for (std::size_t at = 0; at < value.size(); at += 4) {
    le32 word;
    std::memcpy(&word, value.data() + at, std::min<std::size_t>(4, value.size() - at));
    hash = (hash << 16U) ^ (hash >> 16U) ^ word;
  }
  return hash;
}

// What is wrong with a list of entries, or nothing. combined: the hash of all of them, as a block keeps it.
const char* fault_of(const EntryList& list, std::uint32_t& combined) {
  std::vector<std::pair<std::size_t, std::size_t>> taken;  // of the area: [from, to)
  std::size_t at = list.first;
  bool hashed = true;
  combined = 0;
  for (;;) {
    if (at + 4 > list.area.size()) return "have no end";
    if (record_at<le32>(list.area, at) == 0) break;
    if (at + sizeof(XattrEntry) > list.area.size()) return "have no end";
    const auto entry = record_at<XattrEntry>(list.area, at);
    const std::size_t next = (at + sizeof(XattrEntry) + entry.name_length + 3) & ~std::size_t{3};
    if (next > list.area.size()) return "have a name that leaves its place";
    if (entry.name_length == 0 && entry.name_index != kXattrAccessAcl && entry.name_index != kXattrDefaultAcl)
      return "have an entry without a name";
    if (entry.name_index == 0) return "have an entry without a kind";
    if (entry.value_block != 0) return "have a value elsewhere";
    const std::size_t from = list.value_base + entry.value_offset;
    const std::size_t padded = (std::size_t{entry.value_size} + 3) & ~std::size_t{3};
    if (entry.value_size != 0) {
      if (padded > list.area.size() || from > list.area.size() - padded) return "have a value that leaves its place";
      taken.emplace_back(from, from + padded);
    }
    const auto name = list.area.subspan(at + sizeof(XattrEntry), entry.name_length);
    const auto value = list.area.subspan(entry.value_size != 0 ? from : 0, entry.value_size != 0 ? padded : 0);
    if ((list.hashes_required || entry.hash != 0) && entry.hash != entry_hash(name, value, true) &&
        entry.hash != entry_hash(name, value, false))
      return "have an entry with a wrong hash";
    hashed = hashed && entry.hash != 0;
    combined = (combined << 16U) ^ (combined >> 16U) ^ entry.hash;
    at = next;
  }
  if (!hashed) combined = 0;
  taken.emplace_back(0, at + 4);
  std::sort(taken.begin(), taken.end());
  for (std::size_t i = 1; i < taken.size(); ++i)
    if (taken[i].first < taken[i - 1].second) return "overlap";
  return nullptr;
}

}  // namespace

void check_inner_attributes(CheckState& state, InodeNumber inode, std::span<const std::byte> record) {
  if (record.size() <= sizeof(InodeRecord)) return;
  const std::size_t extra = record_at<le16>(record, sizeof(InodeRecord));
  const std::size_t magic = sizeof(InodeRecord) + extra;
  if (extra == 0 || extra % 4 != 0 || magic + 4 > record.size()) return;
  if (record_at<le32>(record, magic) != kXattrMagic) return;
  EntryList list;
  list.area = record;
  list.first = list.value_base = magic + 4;
  std::uint32_t combined = 0;
  if (const char* const fault = fault_of(list, combined); fault != nullptr)
    state.problem(ProblemKind::kXattr, inode, kNoBlock, "inode {}: its own attributes {}", inode.value, fault);
}

bool check_attribute_block(CheckState& state, InodeNumber inode, BlockNumber block) {
  const auto wrong = [&](const char* fault) {
    state.problem(ProblemKind::kXattr, inode, block, "inode {}: its attributes in block {} {}", inode.value,
                  block.value, fault);
  };
  if (!state.has(kFeatureExtAttr)) wrong("need the ext_attr feature");
  if (!state.geometry.plausible(block)) {
    state.problem(ProblemKind::kBlockPointer, inode, block, "inode {}: its attributes point outside the volume, at {}",
                  inode.value, block.value);
    return false;
  }
  if (const auto known = state.attribute_blocks.find(block.value); known != state.attribute_blocks.end()) {
    ++known->second.references_counted;
    return true;
  }
  if (!state.claim(block)) {
    state.problem(ProblemKind::kSharedBlock, inode, block, "inode {}: its attributes' block {} is another's too",
                  inode.value, block.value);
    return true;
  }
  Bytes bytes(state.geometry.block_size);
  if (!state.read(block, bytes)) return true;
  const auto header = record_at<XattrBlockHeader>(bytes, 0);
  state.attribute_blocks[block.value] = {1, header.reference_count};
  if (header.magic != kXattrMagic || header.blocks != 1) {
    wrong("do not begin as they must");
    return true;
  }
  EntryList list;
  list.area = bytes;
  list.first = sizeof(XattrBlockHeader);
  list.hashes_required = true;
  std::uint32_t combined = 0;
  const char* fault = fault_of(list, combined);
  if (fault == nullptr && header.hash != 0 && header.hash != combined) fault = "have a wrong hash";
  if (fault != nullptr) wrong(fault);
  return true;
}

void check_attribute_references(CheckState& state) {
  std::vector<std::pair<std::uint32_t, AttributeBlockNote>> wrong;
  for (const auto& [block, note] : state.attribute_blocks)
    if (note.references_counted != note.references_stored) wrong.emplace_back(block, note);
  std::sort(wrong.begin(), wrong.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [block, note] : wrong)
    state.problem(ProblemKind::kXattr, kNoInode, BlockNumber(block),
                  "attribute block {} counts {} references, it has {}", block, note.references_stored,
                  note.references_counted);
}

}  // namespace iotape::ext3::check
