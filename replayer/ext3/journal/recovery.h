// Recovery: brings a volume to the state of its last committed transaction. Three passes over the log: find its end,
// collect what was revoked, write the rest in place. Afterwards the log is empty and its next sequence number is one
// that no old block in it can carry.
// Source: the rules of fs/jbd/recovery.c; the format is in disk_format/journal_record.h.
#pragma once

#include <cstdint>

#include "format/base/result.h"
#include "replayer/ext3/journal/journal_file.h"

namespace iotape::ext3 {

struct RecoveryFigures {
  std::uint32_t transactions = 0;
  std::uint64_t replayed_blocks = 0;
  std::uint64_t revoked_blocks = 0;  // not written because a later transaction freed them
  std::uint64_t revoke_records = 0;
  std::uint32_t next_sequence = 0;
};

// Nothing to do when the log is empty (superblock.start is 0). The device is flushed before the log is declared empty.
// Never reads or writes outside the device, whatever the log holds; a descriptor that names an impossible block is
// damage (kCorrupt).
Result<RecoveryFigures> recover_journal(BlockDevice& device, const Geometry& geometry, JournalFile& journal);

}  // namespace iotape::ext3
