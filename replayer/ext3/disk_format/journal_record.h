// The journal (JBD), big-endian. Block 0 of the journal's inode is its superblock; the log goes round from `first` to
// `max_length`. A transaction is descriptor blocks, each followed by the blocks its tags name, revoke blocks, and one
// commit block, all of one sequence number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "format/base/byte_order.h"

namespace iotape::ext3 {

inline constexpr std::uint32_t kJournalMagic = 0xC03B3998;
inline constexpr std::uint32_t kJournalMinimumBlocks = 1024;

enum JournalBlockType : std::uint32_t {
  kJournalDescriptor = 1,
  kJournalCommit = 2,
  kJournalSuperblockV1 = 3,
  kJournalSuperblockV2 = 4,
  kJournalRevoke = 5,
};
enum JournalTagFlag : std::uint32_t {
  kTagEscaped = 1,   // the block began with kJournalMagic, stored as zeros
  kTagSameUuid = 2,  // no uuid follows this tag
  kTagDeleted = 4,
  kTagLast = 8,
};
inline constexpr std::uint32_t kJournalFeatureRevoke = 1;  // incompatible; the only one ext3 knows

struct JournalHeader {
  be32 magic;
  be32 type;  // JournalBlockType
  be32 sequence;
};
static_assert(sizeof(JournalHeader) == 12);

struct JournalTag {
  be32 block;
  be32 flags;  // JournalTagFlag
};
static_assert(sizeof(JournalTag) == 8);

struct JournalRevokeHeader {
  JournalHeader header;
  be32 bytes;  // in use, this header included; be32 block numbers follow
};
static_assert(sizeof(JournalRevokeHeader) == 16);

struct JournalSuperblock {
  JournalHeader header;
  be32 block_size;
  be32 max_length;  // blocks of the journal
  be32 first;       // first block of the log, 1
  be32 sequence;    // first commit expected in the log
  be32 start;       // block of the log's start; 0: the journal is empty
  be32 error_number;
  be32 compatible_features;
  be32 incompatible_features;
  be32 read_only_features;
  std::array<std::uint8_t, 16> uuid;
  be32 users_count;
  be32 dynamic_superblock;
  be32 max_transaction;
  be32 max_transaction_data;
  std::array<be32, 44> padding;
  std::array<std::uint8_t, 768> users;
};
static_assert(sizeof(JournalSuperblock) == 1024 && offsetof(JournalSuperblock, uuid) == 48);

}  // namespace iotape::ext3
