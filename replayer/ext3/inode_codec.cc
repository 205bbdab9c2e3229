#include "replayer/ext3/inode_codec.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "replayer/ext3/disk_format/inode_record.h"

namespace iotape::ext3 {
namespace {

constexpr std::int64_t kLeastSecond = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kGreatestSecond = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kEpochLength = std::int64_t{1} << 32U;
constexpr std::int64_t kGreatestExtraSecond = kGreatestSecond + 3 * kEpochLength;  // year 2446
constexpr std::uint16_t kNewExtraSize = sizeof(InodeRecordExtra);

struct TimeField {
  FileTime Inode::*member;
  le32 InodeRecord::*seconds;
  le32 InodeRecordExtra::*extra;
};
constexpr TimeField kTimeFields[] = {
    {&Inode::access_time, &InodeRecord::access_time, &InodeRecordExtra::access_time_extra},
    {&Inode::change_time, &InodeRecord::change_time, &InodeRecordExtra::change_time_extra},
    {&Inode::modification_time, &InodeRecord::modification_time, &InodeRecordExtra::modification_time_extra},
};

// Only the low 32 bits are the record's own; the extra word's two bits count epochs of 2^32 seconds from 1970.
FileTime decode_time(std::uint32_t seconds, std::uint32_t extra) {
  FileTime time;
  time.seconds = static_cast<std::int32_t>(seconds);
  time.seconds += std::int64_t{extra & 3U} << 32U;
  time.nanoseconds = std::min<std::uint32_t>(extra >> 2U, 999'999'999);
  return time;
}

std::uint32_t encode_extra(const FileTime& time) {
  const std::int64_t epoch = (time.seconds - static_cast<std::int32_t>(time.seconds)) >> 32U;
  return static_cast<std::uint32_t>(epoch & 3) | time.nanoseconds << 2U;
}

bool extra_reaches(const InodeRecordExtra& extra, std::uint32_t inode_size, std::size_t end) {
  return inode_size > sizeof(InodeRecord) && extra.extra_size >= end &&
         extra.extra_size <= inode_size - sizeof(InodeRecord);
}
constexpr std::size_t kTimesEnd = offsetof(InodeRecordExtra, creation_time);
constexpr std::size_t kCreationEnd = offsetof(InodeRecordExtra, version_high);

}  // namespace

FileTime storable_time(std::uint32_t inode_size, FileTime time) {
  const bool extra = inode_size > sizeof(InodeRecord);
  const std::int64_t greatest = extra ? kGreatestExtraSecond : kGreatestSecond;
  time.seconds = std::clamp(time.seconds, kLeastSecond, greatest);
  // The kernel drops the nanoseconds of both ends, as what lies beyond them.
  if (!extra || time.seconds == kLeastSecond || time.seconds == greatest) time.nanoseconds = 0;
  return time;
}

void decode_inode(std::uint32_t inode_size, const std::byte* bytes, Inode& inode) {
  InodeRecord record;
  std::memcpy(&record, bytes, sizeof record);
  InodeRecordExtra extra{};
  if (inode_size > sizeof record) std::memcpy(&extra, bytes + sizeof record, sizeof extra);
  inode.mode = record.mode;
  inode.user = record.user_low | std::uint32_t{record.user_high} << 16U;
  inode.group = record.group_low | std::uint32_t{record.group_high} << 16U;
  inode.links = record.links_count;
  inode.size = record.size_low;
  if (inode.is_regular()) inode.size |= std::uint64_t{record.size_high} << 32U;
  inode.sectors = record.sectors_count;
  inode.flags = record.flags;
  inode.generation = record.generation;
  inode.deletion_time = record.deletion_time;
  inode.attribute_block = BlockNumber(record.attribute_block);
  std::ranges::copy(record.block, inode.block.begin());
  const bool fine = extra_reaches(extra, inode_size, kTimesEnd);
  for (const TimeField& field : kTimeFields)
    inode.*field.member = decode_time(record.*field.seconds, fine ? std::uint32_t{extra.*field.extra} : 0U);
  if (extra_reaches(extra, inode_size, kCreationEnd))
    inode.creation_time = decode_time(extra.creation_time, extra.creation_time_extra);
}

bool encode_inode(std::uint32_t inode_size, const Inode& inode, std::byte* bytes) {
  InodeRecord record;
  std::memcpy(&record, bytes, sizeof record);
  const InodeRecord before = record;
  record.mode = static_cast<std::uint16_t>(inode.mode);
  record.user_low = static_cast<std::uint16_t>(inode.user);
  record.user_high = static_cast<std::uint16_t>(inode.user >> 16U);
  record.group_low = static_cast<std::uint16_t>(inode.group);
  record.group_high = static_cast<std::uint16_t>(inode.group >> 16U);
  record.links_count = static_cast<std::uint16_t>(inode.links);
  record.size_low = static_cast<std::uint32_t>(inode.size);
  if (inode.is_regular()) record.size_high = static_cast<std::uint32_t>(inode.size >> 32U);
  record.sectors_count = static_cast<std::uint32_t>(inode.sectors);
  record.flags = inode.flags;
  record.generation = inode.generation;
  record.deletion_time = inode.deletion_time;
  record.attribute_block = inode.attribute_block.value;
  std::ranges::copy(inode.block, record.block.begin());
  for (const TimeField& field : kTimeFields)
    record.*field.seconds = static_cast<std::uint32_t>((inode.*field.member).seconds);
  std::memcpy(bytes, &record, sizeof record);
  if (inode_size > sizeof record) {
    InodeRecordExtra extra;
    std::memcpy(&extra, bytes + sizeof record, sizeof extra);
    if (extra_reaches(extra, inode_size, kTimesEnd))
      for (const TimeField& field : kTimeFields) extra.*field.extra = encode_extra(inode.*field.member);
    if (extra_reaches(extra, inode_size, kCreationEnd)) {
      extra.creation_time = static_cast<std::uint32_t>(inode.creation_time.seconds);
      extra.creation_time_extra = encode_extra(inode.creation_time);
    }
    std::memcpy(bytes + sizeof record, &extra, sizeof extra);
  }
  return std::memcmp(&before.block, &record.block, sizeof record.block) != 0 || before.size_low != record.size_low ||
         before.size_high != record.size_high;
}

void initialise_inode_record(std::uint32_t inode_size, std::byte* bytes) {
  std::memset(bytes, 0, inode_size);
  if (inode_size < sizeof(InodeRecord) + sizeof(InodeRecordExtra)) return;
  InodeRecordExtra extra{};
  extra.extra_size = kNewExtraSize;
  std::memcpy(bytes + sizeof(InodeRecord), &extra, sizeof extra);
}

bool plausible_inode(const Geometry& geometry, const Inode& inode) {
  if (inode.attribute_block != kNoBlock && !geometry.plausible(inode.attribute_block)) return false;
  if (inode.is_directory()) return inode.size % geometry.block_size == 0 && inode.size <= std::uint64_t{1} << 31U;
  if (inode.is_symlink()) return inode.size > 0 && inode.size <= 4096 && inode.size <= geometry.block_size;
  if (inode.is_regular()) return inode.size <= geometry.largest_file();
  return S_ISCHR(inode.mode) || S_ISBLK(inode.mode) || S_ISFIFO(inode.mode) || S_ISSOCK(inode.mode);
}

}  // namespace iotape::ext3
