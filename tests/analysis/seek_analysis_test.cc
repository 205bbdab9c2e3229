#include "analysis/seek_analysis.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/analysis/seek_fixtures.h"

namespace iotape {
namespace {

using test::analyse;
using test::issued;
using test::kDisk;

const SeekStatistics& reads(const SeekReport& report) { return report.devices.at(0).by_class[0]; }

// What other tools get wrong, one test each.

TEST(Seeks, ASequentialStreamFarOutOnALargeDiskHasNoSeeks) {
  std::vector<EventBody> events;
  const std::int64_t start = std::int64_t{1} << 34;
  for (std::int64_t i = 0; i < 50'000; ++i) events.push_back(issued(i, start + i * 8, 8));
  const SeekReport report = analyse(events);
  EXPECT_EQ(report.total.requests, 50'000U);
  EXPECT_EQ(report.total.distances, 49'999U) << "the first access has no distance";
  EXPECT_EQ(report.total.sequential, 49'999U);
  EXPECT_EQ(report.total.total_distance, 0U);
  EXPECT_EQ(report.total.seeks, 0U);
}

TEST(Seeks, SmallGapsFarOutAreAllCounted) {
  std::vector<EventBody> events;
  const std::int64_t start = std::int64_t{1} << 34;
  for (std::int64_t i = 0; i < 50'000; ++i) events.push_back(issued(i, start + i * 200, 8));
  const SeekReport report = analyse(events);
  EXPECT_EQ(report.total.seeks, 49'999U);
  EXPECT_EQ(report.total.total_distance, 49'999U * 192);
}

TEST(Seeks, DevicesWhoseNumbersLookAlikeAreTwo) {
  std::vector<EventBody> events;
  for (std::int64_t i = 0; i < 20'000; ++i) {
    events.push_back(issued(2 * i, i * 8, 8, DeviceId::of(8, 100)));
    events.push_back(issued(2 * i + 1, 1'000'000 + i * 8, 8, DeviceId::of(9, 0)));
  }
  const SeekReport report = analyse(events);
  ASSERT_EQ(report.devices.size(), 2U);
  EXPECT_EQ(report.total.seeks, 0U);
  EXPECT_EQ(report.total.sequential, 39'998U);
}

TEST(Seeks, TheDiskUnderALoopDeviceIsNamedAndNotCountedTwice) {
  const DeviceId loop = DeviceId::of(7, 0);
  std::vector<EventBody> events{DeviceInfo{loop, loop, "loop0", {}, {}, false, kDisk},
                                DeviceInfo{kDisk, kDisk, "sda", {}, {}, false, {}}};
  for (std::int64_t i = 0; i < 10; ++i) {
    events.push_back(issued(2 * i, i * 1000, 8, loop));
    events.push_back(issued(2 * i + 1, 70'000 + i * 1000, 8));
  }
  const SeekReport report = analyse(events, {StreamOrder::kIssue, kDefaultThresholdSectors, GroupBy::kProcess});
  ASSERT_EQ(report.devices.size(), 2U);
  EXPECT_EQ(report.devices[0].holds, "");
  EXPECT_EQ(report.devices[1].holds, "loop0");
  EXPECT_EQ(report.devices[1].all.requests, 10U);
  EXPECT_EQ(report.total.requests, 10U);
  ASSERT_EQ(report.groups.size(), 1U);
  EXPECT_EQ(report.groups[0].statistics.requests, 10U);
  EXPECT_EQ(report.remarks().size(), 1U);
}

TEST(Seeks, ADiskUnderALoopDeviceWithoutRequestsCounts) {
  const DeviceId loop = DeviceId::of(7, 0);
  const SeekReport report = analyse({DeviceInfo{loop, loop, "loop0", {}, {}, false, kDisk}, issued(0, 0, 8)});
  EXPECT_EQ(report.total.requests, 1U);
  EXPECT_EQ(report.devices.at(0).holds, "");
}

BlockRequest of_process(std::int64_t time, std::int32_t submitter, std::int32_t dirtier) {
  BlockRequest request = issued(time, time * 100, 8);
  RequestPart part;
  part.submitter = {ProcessId(submitter), ThreadId(submitter)};
  part.dirtier = {ProcessId(dirtier), ThreadId(dirtier)};
  request.parts.push_back(part);
  return request;
}

TEST(Seeks, RequestsOfProcessesThatWereNotRecordedAreCountedApart) {
  ProcessStart kernel_thread;
  kernel_thread.thread = {ProcessId(50), ThreadId(50)};
  kernel_thread.parent = {ProcessId(2), ThreadId(2)};
  ProcessStart recorded;
  recorded.thread = {ProcessId(100), ThreadId(100)};
  recorded.parent = {ProcessId(99), ThreadId(99)};
  const std::vector<EventBody> requests{of_process(1, 100, 0), of_process(2, 50, 100), of_process(3, 50, 0),
                                        of_process(4, 777, 0), of_process(5, 50, 777)};
  std::vector<EventBody> events{kernel_thread, recorded};
  events.insert(events.end(), requests.begin(), requests.end());
  const SeekReport report = analyse(events);
  EXPECT_EQ(report.stranger_requests, 2U);
  EXPECT_EQ(report.stranger_bytes, 2U * 8 * 512);
  EXPECT_EQ(report.total.requests, 5U) << "they move the same head";
  EXPECT_EQ(analyse(requests).stranger_requests, 0U) << "a trace of no processes knows no strangers";
}

TEST(Seeks, SixtyFiveDevicesAreAllReported) {
  std::vector<EventBody> events;
  for (std::uint32_t d = 0; d < 65; ++d)
    for (std::int64_t i = 0; i < 3; ++i) events.push_back(issued(i, i * 1000, 8, DeviceId::of(259, d)));
  const SeekReport report = analyse(events);
  EXPECT_EQ(report.devices.size(), 65U);
  EXPECT_EQ(report.total.seeks, 65U * 2);
}

TEST(Seeks, AnAbsurdTimeStampCostsNothing) {
  const SeekReport report = analyse({issued(1, 0, 8), issued(5'000'000'000'000'000, 8, 8), issued(2, 16, 8)});
  EXPECT_EQ(report.total.requests, 3U);
  EXPECT_EQ(report.total.seconds(), (5e15 - 1) / 1e9);
}

TEST(Seeks, AnEmptyTraceGivesZeros) {
  const SeekReport report = analyse({});
  EXPECT_EQ(report.total.requests, 0U);
  EXPECT_EQ(report.total.seeks_per_second(), 0);
  EXPECT_EQ(report.total.mean_distance(), 0);
  EXPECT_TRUE(report.condition.complete());
}

TEST(Seeks, IssueEventsAloneAreEnoughForEveryOrder) {
  for (const auto order : {StreamOrder::kIssue, StreamOrder::kQueue, StreamOrder::kComplete}) {
    const SeekReport report =
        analyse({issued(0, 0, 8), issued(1, 1000, 8), issued(2, 1008, 8)}, {order, kDefaultThresholdSectors, {}});
    EXPECT_EQ(report.total.requests, 3U);
    EXPECT_EQ(report.total.seeks, 1U);
    EXPECT_EQ(report.counts.substituted, order == StreamOrder::kIssue ? 0U : 3U) << "and it says so";
  }
}

TEST(Seeks, LossesAreShown) {
  const Loss loss{LossCause::kRingFull, Nanoseconds(5), Nanoseconds(9), 1, 30, {}};
  const SeekReport report = analyse({issued(0, 0, 8), loss});
  EXPECT_FALSE(report.condition.complete());
  EXPECT_EQ(report.condition.sentence(), "INCOMPLETE: 30 events lost (ring_full 30)");
}

TEST(Seeks, AReplaysWordThatItsLatenciesAreSerialisedIsKept) {
  EXPECT_FALSE(analyse({Marker{{}, "hello"}}).condition.serialised);
  EXPECT_TRUE(analyse({Marker{{}, "replay: latencies are serialised: calls of 3 threads"}}).condition.serialised);
}

// The definition.

TEST(Seeks, DistancesAreFromTheEndOfTheOneBeforeInIssueOrder) {
  // In the file they stand in order of completion; issued they went 100, 300, 200.
  const SeekReport report = analyse({issued(3, 200, 10), issued(1, 100, 10), issued(2, 300, 10)});
  EXPECT_EQ(reads(report).histogram.count(SignedLog2Histogram::bin_of(190)), 1U);
  EXPECT_EQ(reads(report).histogram.count(SignedLog2Histogram::bin_of(-110)), 1U);
  EXPECT_EQ(report.total.total_distance, 300U);
  EXPECT_EQ(report.total.backward, 1U);
  EXPECT_EQ(report.total.near, 1U);
  EXPECT_EQ(report.total.seeks, 1U);
}

TEST(Seeks, TheThresholdDivides) {
  const std::vector<EventBody> events{issued(0, 0, 8), issued(1, 8 + 128, 8), issued(2, 8 + 128 + 8 + 129, 8)};
  EXPECT_EQ(analyse(events).total.near, 1U);
  EXPECT_EQ(analyse(events).total.seeks, 1U);
  EXPECT_EQ(analyse(events, {StreamOrder::kIssue, 127, {}}).total.seeks, 2U);
  EXPECT_EQ(analyse(events, {StreamOrder::kIssue, 129, {}}).total.seeks, 0U);
}

TEST(Seeks, FlushesMoveNothingButAWriteThatFlushesDoes) {
  BlockRequest flush = issued(1, 0, 0, kDisk, BlockOperation::kFlush);
  BlockRequest flushing_write = issued(2, 1000, 8, kDisk, BlockOperation::kWrite);
  flushing_write.flags = kBlockPreflush | kBlockForceUnitAccess;
  BlockRequest empty_write = issued(3, 5000, 0, kDisk, BlockOperation::kWrite);
  empty_write.flags = kBlockPreflush;
  const SeekReport report = analyse({issued(0, 0, 8), flush, flushing_write, empty_write, issued(4, 1008, 8)});
  EXPECT_EQ(report.total.requests, 3U);
  EXPECT_EQ(report.total.seeks, 1U);
  EXPECT_EQ(report.total.sequential, 1U);
  EXPECT_EQ(report.counts.flushes, 2U);
}

TEST(Seeks, DiscardsAreTheirOwnClassAndLeaveTheHeadWhereItIs) {
  const auto discard = BlockOperation::kDiscard;
  const SeekReport report = analyse({issued(0, 0, 8), issued(1, 1'000'000, 8, kDisk, discard), issued(2, 8, 8),
                                     issued(3, 2'000'000, 8, kDisk, discard)});
  EXPECT_EQ(report.total.requests, 2U);
  EXPECT_EQ(report.total.sequential, 1U);
  const auto& discards = report.devices[0].by_class[static_cast<std::size_t>(AccessClass::kDiscard)];
  EXPECT_EQ(discards.requests, 2U);
  EXPECT_EQ(discards.total_distance, 999'992U);
}

TEST(Seeks, ARequeuedRequestIsOne) {
  BlockRequest request = issued(1, 5000, 8);
  request.requeues = 3;
  const SeekReport report = analyse({issued(0, 0, 8), request});
  EXPECT_EQ(report.total.requests, 2U);
  EXPECT_EQ(report.counts.requeues, 3U);
}

TEST(Seeks, SectorZeroIsAPlace) {
  const SeekReport report = analyse({issued(0, 1000, 8), issued(1, 0, 8)});
  EXPECT_EQ(report.total.total_distance, 1008U);
  EXPECT_EQ(report.total.backward, 1U);
}

TEST(Seeks, HostileSectorsSaturate) {
  const std::int64_t far = std::numeric_limits<std::int64_t>::max();
  const SeekReport report =
      analyse({issued(0, far, 8), issued(1, std::numeric_limits<std::int64_t>::min(), 8), issued(2, far - 1, 8)});
  EXPECT_EQ(report.total.distances, 2U);
  EXPECT_EQ(report.total.histogram.total(), 2U);
}

TEST(Seeks, QueuedBiosMergedAtTheBackLeaveDistancesAlone) {
  std::mt19937_64 random(11);
  std::vector<EventBody> events;
  std::int64_t time = 0;
  for (int r = 0; r < 2000; ++r) {
    BlockRequest request = issued(0, static_cast<std::int64_t>(random() % 1'000'000) * 8, 0);
    const auto bios = 1 + static_cast<std::int64_t>(random() % 5);
    for (std::int64_t b = 0; b < bios; ++b) {
      RequestPart part;
      part.queue = Nanoseconds(time++);
      part.sector = Sectors(request.sector.value + b * 8);
      part.bytes = 4096;
      request.parts.push_back(part);
    }
    request.bytes = bios * 4096;
    request.issue = Nanoseconds(time++);
    events.push_back(request);
  }
  const SeekReport queue = analyse(events, {StreamOrder::kQueue, kDefaultThresholdSectors, {}});
  const SeekReport issue = analyse(events);
  EXPECT_GT(queue.total.requests, issue.total.requests);
  EXPECT_EQ(queue.total.distances - queue.total.sequential, issue.total.distances - issue.total.sequential);
  EXPECT_EQ(queue.total.total_distance, issue.total.total_distance);
  EXPECT_EQ(queue.total.seeks, issue.total.seeks);
}

TEST(Seeks, TotalsAreTheSumOfTheirParts) {
  std::mt19937_64 random(12);
  std::vector<EventBody> events;
  for (int i = 0; i < 5000; ++i)
    events.push_back(issued(i, static_cast<std::int64_t>(random() % 100'000), 8,
                            DeviceId::of(8, static_cast<std::uint32_t>(random() % 3)),
                            random() % 2 == 0 ? BlockOperation::kRead : BlockOperation::kWrite));
  const SeekReport report = analyse(events);
  SeekStatistics sum;
  for (const DeviceSeeks& device : report.devices) {
    EXPECT_EQ(device.all.requests, device.by_class[0].requests + device.by_class[1].requests);
    EXPECT_EQ(device.all.distances, device.all.sequential + device.all.near + device.all.seeks);
    EXPECT_EQ(device.all.histogram.total(), device.all.distances);
    sum.merge(device.all);
  }
  EXPECT_EQ(report.total.requests, sum.requests);
  EXPECT_EQ(report.total.requests, 5000U);
  EXPECT_EQ(report.total.histogram, sum.histogram);
}

// Who is charged.

BlockRequest with_part(BlockRequest request, RequestPart part) {
  part.sector = request.sector;
  part.bytes = request.bytes;
  request.parts.push_back(part);
  return request;
}

TEST(SeeksByProcess, TheOneWhoDirtiedIsChargedBeforeTheOneWhoSubmitted) {
  const ThreadKey tar{ProcessId(10), ThreadId(10)};
  const ThreadKey flusher{ProcessId(2), ThreadId(2)};
  RequestPart written_back;
  written_back.submitter = flusher;
  written_back.dirtier = tar;
  RequestPart journal;
  journal.submitter = flusher;
  const SeekReport report =
      analyse({ProcessStart{{}, tar, {}, 0, false, "tar"}, with_part(issued(0, 0, 8), written_back),
               with_part(issued(1, 9000, 8), written_back), with_part(issued(2, 5000, 8), journal), issued(3, 6000, 8)},
              {StreamOrder::kIssue, kDefaultThresholdSectors, GroupBy::kProcess});
  ASSERT_EQ(report.groups.size(), 3U);
  EXPECT_EQ(report.groups[0].label, "tar 10");
  EXPECT_EQ(report.groups[0].statistics.requests, 2U);
  EXPECT_EQ(report.groups[1].label, "? 2");
  EXPECT_EQ(report.groups[2].label, "(not attributed)");
}

TEST(SeeksByFile, NamesComeFromTheCallsThatOpenedThem) {
  const FileReference directory{{DeviceId::of(7, 0), 0, InodeNumber(2), 0}, FileKind::kDirectory};
  const FileReference file{{DeviceId::of(7, 0), 0, InodeNumber(12), 0}, FileKind::kRegular};
  ProcessContext context;
  context.working_directory = {directory, "/srv", false};
  Syscall open;
  open.operation = Open{{TextState::kPresent, "x.db", {kAtCurrentDirectory, directory}}, 0, 0, 0, file};
  RequestPart part;
  part.file = file;
  RequestPart journal;
  journal.cause = BlockCause::kJournal;
  const SeekReport report = analyse({context, open, with_part(issued(0, 0, 8), part),
                                     with_part(issued(1, 5000, 8), part), with_part(issued(2, 6000, 8), journal)},
                                    {StreamOrder::kIssue, kDefaultThresholdSectors, GroupBy::kFile});
  ASSERT_EQ(report.groups.size(), 2U);
  EXPECT_EQ(report.groups[0].label, "/srv/x.db");
  EXPECT_EQ(report.groups[1].label, "(journal)");
}

TEST(SeeksByStack, ARequestIsChargedToTheCallThatWaitedForIt) {
  const ThreadKey thread{ProcessId(10), ThreadId(11)};
  RequestPart part;
  part.submitter = thread;
  part.call_start = Nanoseconds(90);
  Syscall call;  // ends, and stands in the file, after its request
  call.thread = thread;
  call.start = Nanoseconds(90);
  call.user_stack = StackId(7);
  const SeekReport report = analyse(
      {issued(0, 0, 8), with_part(issued(100, 5000, 8), part), Stack{StackId(7), {"fsync", "commit", "main"}}, call},
      {StreamOrder::kIssue, kDefaultThresholdSectors, GroupBy::kStack});
  ASSERT_EQ(report.groups.size(), 2U);
  EXPECT_EQ(report.groups[0].label, "fsync < commit < main");
  EXPECT_EQ(report.groups[0].statistics.seeks, 1U);
  EXPECT_EQ(report.groups[1].label, "(no stack recorded)");
}

}  // namespace
}  // namespace iotape
