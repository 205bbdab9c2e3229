// Made-up sequences of records with known answers: what belongs into which request.
#include "recorder/request_assembler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iotape {
namespace {

using testing::ElementsAre;

constexpr DeviceId kDisk{7U << 20U};
constexpr DeviceId kPartition{(7U << 20U) + 2};

// A bio of 4 KiB blocks: `inode` names it in the tests.
QueuedBio bio(std::uint64_t address, std::int64_t time, std::int64_t sector, std::int64_t bytes, std::uint64_t inode,
              BlockOperation operation = BlockOperation::kWrite) {
  QueuedBio made;
  made.bio = BioAddress(address);
  made.device = kDisk;
  made.partition = kDisk;
  made.operation = operation;
  made.part.queue = Nanoseconds(time);
  made.part.sector = Sectors(sector);
  made.part.bytes = bytes;
  made.part.file.identity.inode = InodeNumber(inode);
  made.part.file.kind = FileKind::kRegular;
  made.part.file_offset = 0;
  return made;
}

FinishedRequest request(std::int64_t issue, std::int64_t complete, std::int64_t sector, std::int64_t bytes,
                        BlockOperation operation = BlockOperation::kWrite) {
  FinishedRequest made;
  made.request.device = kDisk;
  made.request.partition = kDisk;
  made.request.operation = operation;
  made.request.sector = Sectors(sector);
  made.request.bytes = bytes;
  made.request.issue = Nanoseconds(issue);
  made.request.complete = Nanoseconds(complete);
  return made;
}

std::vector<std::uint64_t> inodes(const std::optional<BlockRequest>& made) {
  std::vector<std::uint64_t> found;
  if (made)
    for (const RequestPart& part : made->parts) found.push_back(part.file.identity.inode.value);
  return found;
}

TEST(RequestAssembler, BackAndFrontMergedBiosAreOneRequestsPartsInSectorOrder) {
  RequestAssembler assembler;
  assembler.queue(bio(0xa0, 10, 100, 4096, 1));
  assembler.queue(bio(0xb0, 11, 108, 4096, 2));  // back merge
  assembler.queue(bio(0xc0, 12, 92, 4096, 3));   // front merge
  const auto made = assembler.finish(request(20, 30, 92, 3 * 4096));
  EXPECT_THAT(inodes(made), ElementsAre(3, 1, 2));
  EXPECT_EQ(assembler.pending_parts(), 0U);
  EXPECT_EQ(assembler.counts().bytes_without_part, 0U);
}

TEST(RequestAssembler, BiosOfMergedRequestsFollowTheRequestThatIsIssued) {
  RequestAssembler assembler;
  assembler.queue(bio(0xa0, 10, 0, 4096, 1));
  assembler.queue(bio(0xb0, 11, 16, 4096, 2));
  assembler.queue(bio(0xc0, 12, 8, 4096, 3));  // joins the two requests into one
  EXPECT_THAT(inodes(assembler.finish(request(20, 30, 0, 3 * 4096))), ElementsAre(1, 3, 2));
}

TEST(RequestAssembler, ASplitBioIsAPartOfEachRequestWithItsOwnOffset) {
  RequestAssembler assembler;
  QueuedBio whole = bio(0xa0, 10, 1000, 8 * 4096, 5);
  whole.part.file_offset = 65536;
  assembler.queue(whole);
  // The rear half completes first.
  const auto rear = assembler.finish(request(13, 20, 1000 + 32, 4 * 4096));
  const auto front = assembler.finish(request(12, 25, 1000, 4 * 4096));
  ASSERT_EQ(rear->parts.size(), 1U);
  EXPECT_EQ(rear->parts[0].file_offset, 65536 + 4 * 4096);
  EXPECT_EQ(rear->parts[0].sector, Sectors(1032));
  EXPECT_EQ(rear->parts[0].bytes, 4 * 4096);
  ASSERT_EQ(front->parts.size(), 1U);
  EXPECT_EQ(front->parts[0].file_offset, 65536);
  EXPECT_EQ(front->parts[0].bytes, 4 * 4096);
  EXPECT_EQ(assembler.pending_parts(), 0U);
}

TEST(RequestAssembler, TheMiddleOfABioLeavesBothEndsWaiting) {
  RequestAssembler assembler;
  assembler.queue(bio(0xa0, 10, 0, 3 * 4096, 5));
  EXPECT_EQ(assembler.finish(request(12, 13, 8, 4096))->parts[0].file_offset, 4096);
  EXPECT_EQ(assembler.pending_parts(), 2U);
  EXPECT_EQ(assembler.finish(request(12, 14, 16, 4096))->parts[0].file_offset, 8192);
  EXPECT_EQ(assembler.finish(request(12, 15, 0, 4096))->parts[0].file_offset, 0);
  EXPECT_EQ(assembler.pending_parts(), 0U);
}

TEST(RequestAssembler, ThePartitionOfTheBioIsKeptBesideTheDisk) {
  RequestAssembler assembler;
  QueuedBio queued = bio(0xa0, 10, 2048, 4096, 1);
  queued.partition = kPartition;
  assembler.queue(queued);
  const auto made = assembler.finish(request(20, 30, 2048, 4096));
  EXPECT_EQ(made->device, kDisk);
  EXPECT_EQ(made->partition, kPartition);
}

TEST(RequestAssembler, AMovedBioIsFoundOnItsNewDevice) {
  RequestAssembler assembler;
  assembler.queue(bio(0xa0, 10, 500, 4096, 1));
  constexpr DeviceId kMember{8U << 20U};
  assembler.move({BioAddress(0xa0), kDisk, Sectors(500), kMember, Sectors(77)});
  EXPECT_TRUE(assembler.finish(request(20, 30, 500, 4096))->parts.empty());
  FinishedRequest member = request(20, 30, 77, 4096);
  member.request.device = kMember;
  const auto made = assembler.finish(member);
  EXPECT_THAT(inodes(made), ElementsAre(1));
  EXPECT_EQ(made->parts[0].sector, Sectors(77));
}

TEST(RequestAssembler, AMoveOfAnotherBioAtTheSameSectorChangesNothing) {
  RequestAssembler assembler;
  assembler.queue(bio(0xa0, 10, 500, 4096, 1));
  assembler.move({BioAddress(0xb0), kDisk, Sectors(500), DeviceId(8U << 20U), Sectors(77)});
  EXPECT_THAT(inodes(assembler.finish(request(20, 30, 500, 4096))), ElementsAre(1));
}

TEST(RequestAssembler, ReadsAndWritesOfOneSectorAreNotMixedUp) {
  RequestAssembler assembler;
  assembler.queue(bio(0xa0, 10, 8, 4096, 1, BlockOperation::kRead));
  assembler.queue(bio(0xb0, 11, 8, 4096, 2, BlockOperation::kWrite));
  EXPECT_THAT(inodes(assembler.finish(request(20, 30, 8, 4096, BlockOperation::kWrite))), ElementsAre(2));
  EXPECT_THAT(inodes(assembler.finish(request(20, 31, 8, 4096, BlockOperation::kRead))), ElementsAre(1));
}

TEST(RequestAssembler, ABioQueuedAfterTheIssueWaitsForTheNextRequest) {
  RequestAssembler assembler;
  assembler.queue(bio(0xa0, 10, 8, 4096, 1));
  assembler.queue(bio(0xb0, 25, 8, 4096, 2));  // the same block again, while the first is under way
  EXPECT_THAT(inodes(assembler.finish(request(20, 30, 8, 4096))), ElementsAre(1));
  EXPECT_THAT(inodes(assembler.finish(request(28, 35, 8, 4096))), ElementsAre(2));
}

TEST(RequestAssembler, TheRequestsFirstBioDecidesBetweenTwoReadsOfOneBlock) {
  RequestAssembler assembler;
  assembler.queue(bio(0xa0, 10, 8, 4096, 1, BlockOperation::kRead));
  assembler.queue(bio(0xb0, 11, 8, 4096, 2, BlockOperation::kRead));
  FinishedRequest first = request(20, 30, 8, 4096, BlockOperation::kRead);
  first.first_bio = BioAddress(0xa0);
  EXPECT_THAT(inodes(assembler.finish(first)), ElementsAre(1));
  FinishedRequest second = request(20, 31, 8, 4096, BlockOperation::kRead);
  second.first_bio = BioAddress(0xb0);
  EXPECT_THAT(inodes(assembler.finish(second)), ElementsAre(2));
}

TEST(RequestAssembler, ALeftoverWhoseRequestWasNeverSeenDoesNotShiftLaterOnes) {
  RequestAssembler assembler;
  assembler.queue(bio(0xa0, 10, 8, 4096, 1));  // its request's record was lost
  for (int round = 0; round < 3; ++round) {
    assembler.queue(bio(0xa0, 100 + round * 10, 8, 4096, static_cast<std::uint64_t>(round) + 50));
    EXPECT_THAT(inodes(assembler.finish(request(105 + round * 10, 108 + round * 10, 8, 4096))),
                ElementsAre(round + 50));
  }
  EXPECT_EQ(assembler.pending_parts(), 1U);
}

TEST(RequestAssembler, ARequestWithoutBioRecordsIsStillARequest) {
  RequestAssembler assembler;
  assembler.queue(bio(0xb0, 10, 16, 4096, 2));
  const auto made = assembler.finish(request(20, 30, 8, 2 * 4096));  // the first half was queued before recording
  ASSERT_TRUE(made.has_value());
  EXPECT_THAT(inodes(made), ElementsAre(2));
  EXPECT_EQ(made->bytes, 2 * 4096);
  EXPECT_EQ(assembler.counts().bytes, 8192U);
  EXPECT_EQ(assembler.counts().bytes_without_part, 4096U);
}

TEST(RequestAssembler, ARequestUnderWayAtTheEndHasItsPartsAndNoCompletion) {
  RequestAssembler assembler;
  assembler.queue(bio(0xa0, 10, 8, 4096, 1));
  FinishedRequest open = request(20, 0, 8, 4096);
  open.request.complete.reset();
  const auto made = assembler.finish(open);
  EXPECT_FALSE(made->complete.has_value());
  EXPECT_THAT(inodes(made), ElementsAre(1));
}

TEST(RequestAssembler, RequeuesErrorsAndTimesPassUnchanged) {
  RequestAssembler assembler;
  assembler.queue(bio(0xa0, 10, 0, 4096, 1));
  FinishedRequest finished = request(20, 30, 0, 4096);
  finished.request.requeues = 2;
  finished.request.error = 5;
  const auto made = assembler.finish(finished);
  EXPECT_EQ(made->requeues, 2U);
  EXPECT_EQ(made->error, 5);
  EXPECT_EQ(made->issue, Nanoseconds(20));
  EXPECT_EQ(made->complete, Nanoseconds(30));
}

TEST(RequestAssembler, OneFlushRequestServesAllFlushesQueuedBeforeIt) {
  RequestAssembler assembler;
  assembler.queue(bio(0xa0, 10, 0, 0, 1));
  assembler.queue(bio(0xb0, 11, 0, 0, 2));
  assembler.queue(bio(0xc0, 50, 0, 0, 3));  // after the flush began
  assembler.queue(bio(0xd0, 12, 0, 4096, 4));
  EXPECT_THAT(inodes(assembler.finish(request(20, 60, 0, 0, BlockOperation::kFlush))), ElementsAre(1, 2));
  EXPECT_THAT(inodes(assembler.finish(request(61, 70, 0, 0, BlockOperation::kFlush))), ElementsAre(3));
  EXPECT_THAT(inodes(assembler.finish(request(62, 71, 0, 4096))), ElementsAre(4));
}

TEST(RequestAssembler, ADiscardIsItsOwnStream) {
  RequestAssembler assembler;
  assembler.queue(bio(0xa0, 10, 0, 1LL << 32, 1, BlockOperation::kDiscard));
  assembler.queue(bio(0xb0, 11, 64, 4096, 2, BlockOperation::kWrite));
  EXPECT_THAT(inodes(assembler.finish(request(20, 30, 64, 4096))), ElementsAre(2));
  EXPECT_THAT(inodes(assembler.finish(request(20, 30, 0, 1LL << 32, BlockOperation::kDiscard))), ElementsAre(1));
}

TEST(RequestAssembler, ABioBasedDeviceCompletesTheBioItself) {
  RequestAssembler assembler;
  QueuedBio queued = bio(0xa0, 10, 8, 4096, 1);
  queued.bio_based = true;
  assembler.queue(queued);
  FinishedRequest other = request(0, 30, 8, 4096);
  other.request.issue.reset();
  other.bio_based = true;
  other.first_bio = BioAddress(0xdead);
  EXPECT_TRUE(assembler.finish(other)->parts.empty());
  other.first_bio = BioAddress(0xa0);
  const auto made = assembler.finish(other);
  EXPECT_THAT(inodes(made), ElementsAre(1));
  EXPECT_FALSE(made->issue.has_value());
}

TEST(RequestAssembler, AReusedBioAddressMeansTheNewBio) {
  RequestAssembler assembler;
  QueuedBio queued = bio(0xa0, 10, 8, 4096, 1);
  queued.bio_based = true;
  assembler.queue(queued);
  queued.part.file.identity.inode = InodeNumber(2);
  queued.part.queue = Nanoseconds(20);
  assembler.queue(queued);
  EXPECT_EQ(assembler.counts().lost_parts, 1U);
  FinishedRequest finished = request(0, 30, 8, 4096);
  finished.request.issue.reset();
  finished.bio_based = true;
  finished.first_bio = BioAddress(0xa0);
  EXPECT_THAT(inodes(assembler.finish(finished)), ElementsAre(2));
}

TEST(RequestAssembler, ARefusedBioWaitsForNothing) {
  RequestAssembler assembler;
  assembler.queue(bio(0xa0, 10, 8, 4096, 1, BlockOperation::kDiscard));
  assembler.queue(bio(0xb0, 11, 0, 0, 2));
  assembler.refuse({BioAddress(0xa0), kDisk, BlockOperation::kDiscard});
  assembler.refuse({BioAddress(0xb0), kDisk, BlockOperation::kWrite});
  EXPECT_EQ(assembler.pending_parts(), 0U);
}

TEST(RequestAssembler, OwnRequestsAreCountedAndLeftOutMixedOnesAreKept) {
  RequestAssembler assembler;
  QueuedBio own = bio(0xa0, 10, 0, 4096, 1);
  own.own = true;
  assembler.queue(own);
  EXPECT_FALSE(assembler.finish(request(20, 30, 0, 4096)).has_value());
  EXPECT_EQ(assembler.counts().own_requests, 1U);
  assembler.queue(own);
  assembler.queue(bio(0xb0, 11, 8, 4096, 2));
  EXPECT_THAT(inodes(assembler.finish(request(40, 50, 0, 8192))), ElementsAre(1, 2));
  EXPECT_EQ(assembler.counts().own_requests, 1U);
}

TEST(RequestAssembler, ImpossibleRequestsAreRefusedAndCounted) {
  RequestAssembler assembler;
  assembler.queue(bio(0xa0, 10, 8, 4096, 1));
  EXPECT_FALSE(assembler.finish(request(30, 20, 8, 4096)).has_value());
  EXPECT_FALSE(assembler.finish(request(20, 30, -8, 4096)).has_value());
  EXPECT_FALSE(assembler.finish(request(20, 30, 8, -1)).has_value());
  EXPECT_FALSE(assembler.finish(request(20, 30, INT64_MAX - 1, 4096)).has_value());
  EXPECT_EQ(assembler.counts().refused_requests, 4U);
  EXPECT_THAT(inodes(assembler.finish(request(20, 30, 8, 4096))), ElementsAre(1));
}

TEST(RequestAssembler, WaitingPartsAreBoundedAndTheOldestAreCounted) {
  RequestAssembler assembler({.parts = 100});
  for (int i = 0; i < 1000; ++i)
    assembler.queue(bio(static_cast<std::uint64_t>(i) + 1, i, std::int64_t{i} * 8, 4096, 7));
  EXPECT_EQ(assembler.pending_parts(), 100U);
  EXPECT_EQ(assembler.counts().lost_parts, 900U);
  EXPECT_EQ(assembler.finish(request(2000, 2001, 999 * 8, 4096))->parts.size(), 1U);
  EXPECT_TRUE(assembler.finish(request(2000, 2001, 0, 4096))->parts.empty());
}

TEST(RequestAssembler, AMalformedBioIsRefused) {
  RequestAssembler assembler;
  assembler.queue(bio(0xa0, 10, 8, -4096, 1));
  assembler.queue(bio(0xa0, 10, -8, 4096, 1));
  EXPECT_EQ(assembler.pending_parts(), 0U);
  EXPECT_EQ(assembler.counts().lost_parts, 2U);
}

// Every byte queued comes out once, whatever way the ranges were merged and split.
TEST(RequestAssembler, RandomMergesAndSplitsConserveEveryByte) {
  std::uint64_t state = 12345;
  const auto random = [&state](std::uint64_t bound) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33U) % bound;
  };
  RequestAssembler assembler;
  std::int64_t total = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto sectors = static_cast<std::int64_t>(1 + random(16)) * 8;
    assembler.queue(bio(random(64) + 1, i, total / 512, sectors * 512, 1 + random(100)));
    total += sectors * 512;
  }
  std::int64_t seen = 0;
  for (std::int64_t sector = 0; sector < total / 512;) {
    const auto sectors = std::min<std::int64_t>(static_cast<std::int64_t>(1 + random(40)) * 8, total / 512 - sector);
    const auto made = assembler.finish(request(100000, 100001, sector, sectors * 512));
    std::int64_t position = sector;
    for (const RequestPart& part : made->parts) {
      EXPECT_EQ(part.sector.value, position);
      position += part.bytes / 512;
      seen += part.bytes;
    }
    EXPECT_EQ(position, sector + sectors);
    sector += sectors;
  }
  EXPECT_EQ(seen, total);
  EXPECT_EQ(assembler.pending_parts(), 0U);
  EXPECT_EQ(assembler.counts().bytes_without_part, 0U);
}

}  // namespace
}  // namespace iotape
