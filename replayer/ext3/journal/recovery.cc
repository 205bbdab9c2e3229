#include "replayer/ext3/journal/recovery.h"

#include <fmt/format.h>

#include <cstring>
#include <unordered_map>

namespace iotape::ext3 {
namespace {

constexpr std::uint32_t kUuidBytes = 16;

// Sequence numbers go round: a is not older than b.
bool not_older(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) >= 0; }

// One walk over the log, transaction by transaction, block by block.
class LogWalk {
 public:
  LogWalk(BlockDevice& device, const JournalFile& journal)
      : device_(device), journal_(journal), block_(journal.block_size) {}

  // pass has: tag(sequence, place, log block), revoke(sequence, block), both Result<void>.
  // Ends at `end`, or, when that is absent, where the log's valid transactions end. Returns the sequence after the
  // last.
  template <typename Pass>
  Result<std::uint32_t> run(Pass& pass, const std::uint32_t* end) {
    std::uint32_t at = journal_.superblock.start;
    std::uint32_t sequence = journal_.superblock.sequence;
    // Each block of the log is looked at once at most, however its tags lead.
    for (std::uint32_t looked = 0; looked < journal_.superblock.max_length; ++looked) {
      if (end != nullptr && sequence == *end) break;
      IOTAPE_TRY(load(at));
      JournalHeader header;
      std::memcpy(&header, block_.data(), sizeof header);
      if (header.magic != kJournalMagic || header.sequence != sequence) break;
      at = journal_.next(at);
      if (header.type == kJournalDescriptor) {
        IOTAPE_ASSIGN(at, descriptor(pass, sequence, at));
      } else if (header.type == kJournalCommit) {
        ++sequence;
      } else if (header.type == kJournalRevoke) {
        IOTAPE_TRY(revokes(pass, sequence));
      } else {
        break;
      }
    }
    return sequence;
  }

  Result<void> load(std::uint32_t log_block) {
    if (!read_raw(device_, journal_.blocks[log_block], journal_.block_size, block_.data(), BlockCause::kJournal))
      return failure(ErrorCode::kIo, fmt::format("the journal: cannot read block {} of its log", log_block));
    return {};
  }
  [[nodiscard]] std::byte* data() { return block_.data(); }

 private:
  template <typename Pass>
  Result<std::uint32_t> descriptor(Pass& pass, std::uint32_t sequence, std::uint32_t at) {
    const std::vector<std::byte> tags = block_;  // the pass may load other blocks
    std::uint32_t offset = sizeof(JournalHeader);
    while (offset + sizeof(JournalTag) <= journal_.block_size) {
      JournalTag tag;
      std::memcpy(&tag, tags.data() + offset, sizeof tag);
      offset += sizeof tag;
      if ((tag.flags & kTagSameUuid) == 0) offset += kUuidBytes;
      IOTAPE_TRY(pass.tag(sequence, tag, at));
      at = journal_.next(at);
      if ((tag.flags & kTagLast) != 0) break;
    }
    return at;
  }

  template <typename Pass>
  Result<void> revokes(Pass& pass, std::uint32_t sequence) {
    JournalRevokeHeader header;
    std::memcpy(&header, block_.data(), sizeof header);
    if (header.bytes > journal_.block_size || header.bytes < sizeof header)
      return failure(ErrorCode::kCorrupt,
                     "the journal: a revoke block's length is impossible; run e2fsck on the image");
    for (std::uint32_t offset = sizeof header; offset + sizeof(be32) <= header.bytes; offset += sizeof(be32)) {
      be32 number;
      std::memcpy(&number, block_.data() + offset, sizeof number);
      pass.revoke(sequence, number);
    }
    return {};
  }

  BlockDevice& device_;
  const JournalFile& journal_;
  std::vector<std::byte> block_;
};

struct ScanPass {
  Result<void> tag(std::uint32_t, const JournalTag&, std::uint32_t) { return {}; }
  void revoke(std::uint32_t, std::uint32_t) {}
};

// The last transaction that revoked each block. At most as many entries as the log has room for.
struct RevokePass {
  std::unordered_map<std::uint32_t, std::uint32_t> sequence_of;
  std::uint64_t records = 0;
  Result<void> tag(std::uint32_t, const JournalTag&, std::uint32_t) { return {}; }
  void revoke(std::uint32_t sequence, std::uint32_t block) {
    ++records;
    auto [at, fresh] = sequence_of.try_emplace(block, sequence);
    if (!fresh && not_older(sequence, at->second)) at->second = sequence;
  }
};

struct ReplayPass {
  BlockDevice& device;
  const Geometry& geometry;
  const JournalFile& journal;
  const RevokePass& revoked;
  LogWalk& walk;
  RecoveryFigures& figures;

  void revoke(std::uint32_t, std::uint32_t) {}
  Result<void> tag(std::uint32_t sequence, const JournalTag& tag, std::uint32_t at) {
    const auto revocation = revoked.sequence_of.find(tag.block);
    if (revocation != revoked.sequence_of.end() && not_older(revocation->second, sequence)) {
      ++figures.revoked_blocks;
      return {};
    }
    if (tag.block >= geometry.block_count)
      return failure(ErrorCode::kCorrupt,
                     fmt::format("the journal: transaction {} holds block {}, beyond the device's "
                                 "{}; run e2fsck on the image",
                                 sequence, static_cast<std::uint32_t>(tag.block), geometry.block_count));
    IOTAPE_TRY(walk.load(at));
    if ((tag.flags & kTagEscaped) != 0) {
      const be32 magic = kJournalMagic;
      std::memcpy(walk.data(), &magic, sizeof magic);
    }
    if (!write_raw(device, BlockNumber(tag.block), journal.block_size, walk.data(), BlockCause::kMetadata))
      return failure(ErrorCode::kIo, fmt::format("replaying the journal: cannot write block {}",
                                                 static_cast<std::uint32_t>(tag.block)));
    ++figures.replayed_blocks;
    return {};
  }
};

}  // namespace

Result<RecoveryFigures> recover_journal(BlockDevice& device, const Geometry& geometry, JournalFile& journal) {
  RecoveryFigures figures;
  figures.next_sequence = journal.superblock.sequence;
  if (journal.superblock.start == 0) return figures;
  const std::uint32_t first = journal.superblock.sequence;
  LogWalk walk(device, journal);
  ScanPass scan;
  IOTAPE_ASSIGN(const std::uint32_t end, walk.run(scan, nullptr));
  RevokePass revoked;
  IOTAPE_ASSIGN([[maybe_unused]] const std::uint32_t revoked_to, walk.run(revoked, &end));
  ReplayPass replay{device, geometry, journal, revoked, walk, figures};
  IOTAPE_ASSIGN([[maybe_unused]] const std::uint32_t replayed_to, walk.run(replay, &end));
  figures.transactions = end - first;
  figures.revoke_records = revoked.records;
  // One more than the end: what a transaction that never committed left behind carries the end's own number.
  figures.next_sequence = end + 1;
  journal.superblock.sequence = figures.next_sequence;
  journal.superblock.start = 0;
  if (!device.flush() || !write_journal_superblock(device, journal) || !device.flush())
    return failure(ErrorCode::kIo, "replaying the journal: the device cannot be flushed");
  return figures;
}

}  // namespace iotape::ext3
