// From blktrace's bytes to seek figures: the known answers.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "format/blktrace_importer.h"
#include "tests/analysis/seek_fixtures.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

using test::CollectingSink;

struct Answer {
  std::uint64_t requests;
  std::uint64_t zero;
  std::uint64_t seeks;
  std::uint64_t nonzero;
  std::uint64_t backward;
  std::uint64_t median;
  std::uint64_t p90;
  std::uint64_t p99;
  std::uint64_t total;
};

void expect_answer(const std::vector<EventBody>& events, StreamOrder order, const Answer& answer) {
  SeekReport report = test::analyse(events, {order, kDefaultThresholdSectors, {}});
  EXPECT_EQ(report.total.requests, answer.requests);
  EXPECT_EQ(report.total.sequential, answer.zero);
  EXPECT_EQ(report.total.seeks, answer.seeks);
  EXPECT_EQ(report.total.near + report.total.seeks, answer.nonzero);
  EXPECT_EQ(report.total.backward, answer.backward);
  EXPECT_EQ(report.total.magnitudes.percentile(0.5), answer.median);
  EXPECT_EQ(report.total.magnitudes.percentile(0.9), answer.p90);
  EXPECT_EQ(report.total.magnitudes.percentile(0.99), answer.p99);
  EXPECT_EQ(report.total.total_distance, answer.total);
  EXPECT_TRUE(report.condition.complete());
}

std::string unpacked(const std::string& packed, const test::ScratchDirectory& scratch) {
  std::string path = scratch / "unpacked";
  const auto done = test::run_shell("gunzip -c '" + packed + "' > '" + path + "'");
  EXPECT_EQ(done.status, 0) << done.err;
  return path;
}

std::vector<EventBody> imported(const std::string& path) {
  CollectingSink sink;
  const auto summary = import_blktrace(path, sink);
  EXPECT_TRUE(summary) << (summary ? "" : summary.error().message);
  return std::move(sink.events);
}

std::string shipped() { return std::string(IOTAPE_SOURCE_DIR) + "/tests/data/rm_ext3_head.blktrace.gz"; }

TEST(BlktraceKnownAnswers, TheShippedBeginningOfRm) {
  const test::ScratchDirectory scratch;
  const auto events = imported(unpacked(shipped(), scratch));
  expect_answer(events, StreamOrder::kQueue, {2851, 1083, 1326, 1767, 904, 64, 522'560, 790'792, 376'513'688});
  expect_answer(events, StreamOrder::kIssue, {2098, 331, 1325, 1766, 904, 1464, 524'232, 1'049'856, 376'513'496});
}

TEST(BlktraceKnownAnswers, TheWholeTraces) {
  // They lie beside the checkout or where IOTAPE_BLKTRACE_SAMPLES says; without them their beginning, above, is the
  // test.
  const char* given = std::getenv("IOTAPE_BLKTRACE_SAMPLES");
  const std::string folder = given != nullptr ? std::string(given) + "/" : IOTAPE_SOURCE_DIR "/../shared/data/traces/";
  if (!std::filesystem::exists(folder + "own_rmrf_ext3_loop.blktrace.gz")) return;
  const test::ScratchDirectory scratch;
  const auto rm = imported(unpacked(folder + "own_rmrf_ext3_loop.blktrace.gz", scratch));
  expect_answer(rm, StreamOrder::kQueue, {7423, 4848, 1747, 2574, 1281, 0, 261'216, 789'112, 478'546'760});
  expect_answer(rm, StreamOrder::kIssue, {3197, 622, 1747, 2574, 1281, 248, 522'696, 1'311'144, 478'546'760});
  expect_answer(rm, StreamOrder::kComplete, {3197, 622, 1747, 2574, 1281, 248, 522'696, 1'311'144, 478'546'760});
  const auto untar = imported(unpacked(folder + "own_untar_ext3_loop.blktrace.gz", scratch));
  expect_answer(untar, StreamOrder::kQueue, {29'097, 28'349, 742, 747, 358, 0, 0, 5'869'432, 3'939'815'664});
  expect_answer(untar, StreamOrder::kIssue, {2305, 1557, 742, 747, 358, 0, 5'870'456, 6'348'056, 3'939'815'664});
  expect_answer(untar, StreamOrder::kComplete, {2305, 1558, 740, 746, 355, 0, 5'870'240, 6'348'056, 3'866'267'888});
}

// ---- hand-made records ----

struct Record {
  std::uint32_t magic = 0x65617407;
  std::uint32_t sequence = 0;
  std::uint64_t time = 0;
  std::uint64_t sector = 0;
  std::uint32_t bytes = 0;
  std::uint32_t action = 0;
  std::uint32_t process = 77;
  std::uint32_t device = DeviceId::of(8, 0).value;
  std::uint32_t cpu = 0;
  std::uint16_t error = 0;
  std::uint16_t payload_bytes = 0;
};
static_assert(sizeof(Record) == 48);

constexpr std::uint32_t kRead = 1U << 16U;
constexpr std::uint32_t kWrite = 2U << 16U;
constexpr std::uint32_t kQ = 1;
constexpr std::uint32_t kR = 6;
constexpr std::uint32_t kD = 7;
constexpr std::uint32_t kC = 8;

Record record(std::uint32_t action, std::uint64_t time, std::uint64_t sector, std::uint32_t sectors,
              std::uint32_t sequence = 0, std::uint32_t cpu = 0) {
  Record made;
  made.action = action;
  made.time = time;
  made.sector = sector;
  made.bytes = sectors * 512;
  made.sequence = sequence;
  made.cpu = cpu;
  return made;
}

std::string bytes_of(const std::vector<Record>& records) {
  return {reinterpret_cast<const char*>(records.data()), records.size() * sizeof(Record)};
}

std::vector<BlockRequest> requests_of(const std::vector<EventBody>& events) {
  std::vector<BlockRequest> requests;
  for (const EventBody& event : events)
    if (const auto* request = std::get_if<BlockRequest>(&event)) requests.push_back(*request);
  return requests;
}

std::vector<EventBody> imported_records(const std::vector<Record>& records) {
  const test::ScratchDirectory scratch;
  test::write_file(scratch / "t", bytes_of(records));
  return imported(scratch / "t");
}

TEST(BlktraceImport, MergedBiosBecomePartsOfOneRequest) {
  const auto requests = requests_of(imported_records({record(kQ | kWrite, 1, 100, 8), record(kQ | kWrite, 2, 108, 8),
                                                      record(kQ | kWrite, 3, 92, 8), record(kQ | kRead, 4, 100, 8),
                                                      record(kD | kWrite, 5, 92, 24), record(kC | kWrite, 9, 92, 24)}));
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].operation, BlockOperation::kWrite);
  EXPECT_EQ(requests[0].issue, Nanoseconds(5));
  EXPECT_EQ(requests[0].complete, Nanoseconds(9));
  ASSERT_EQ(requests[0].parts.size(), 3U);
  EXPECT_EQ(requests[0].parts[0].sector, Sectors(92));
  EXPECT_EQ(requests[0].parts[0].queue, Nanoseconds(3));
  EXPECT_EQ(requests[0].parts[0].submitter.process, ProcessId(77));
  EXPECT_EQ(requests[1].operation, BlockOperation::kRead) << "the read that was never issued";
  EXPECT_FALSE(requests[1].issue);
}

TEST(BlktraceImport, ALargeBioGivesAPartToEachRequestItIsCutInto) {
  const auto requests = requests_of(
      imported_records({record(kQ | kRead, 1, 0, 24), record(kD | kRead, 2, 0, 16), record(kD | kRead, 3, 16, 8)}));
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].parts.at(0).bytes, 16 * 512);
  EXPECT_EQ(requests[1].parts.at(0).bytes, 8 * 512);
  EXPECT_EQ(requests[1].parts.at(0).queue, Nanoseconds(1));
}

TEST(BlktraceImport, ARequeueIsCountedOnceAndKeepsTheParts) {
  const auto requests = requests_of(
      imported_records({record(kQ | kRead, 1, 0, 8), record(kD | kRead, 2, 0, 8), record(kR | kRead, 3, 0, 8),
                        record(kD | kRead, 4, 0, 8), record(kC | kRead, 5, 0, 8)}));
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].requeues, 1U);
  EXPECT_EQ(requests[0].issue, Nanoseconds(4));
  EXPECT_EQ(requests[0].parts.size(), 1U);
}

TEST(BlktraceImport, ARequestThatCompletesInStepsEndsWithTheLast) {
  const auto requests = requests_of(
      imported_records({record(kD | kRead, 2, 0, 16), record(kC | kRead, 3, 0, 8), record(kC | kRead, 7, 8, 8)}));
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].complete, Nanoseconds(7));
}

TEST(BlktraceImport, ABioBasedDeviceHasNoIssueTimes) {
  const auto events =
      imported_records({record(kQ | kRead, 1, 0, 8), record(kC | kRead, 3, 0, 8), record(kC | kRead, 4, 0, 0)});
  const auto requests = requests_of(events);
  ASSERT_EQ(requests.size(), 1U) << "the completion of no sectors is ignored";
  EXPECT_FALSE(requests[0].issue);
  EXPECT_EQ(requests[0].parts.size(), 1U);
  const SeekReport report = test::analyse(events);
  EXPECT_EQ(report.total.requests, 1U);
  EXPECT_EQ(report.counts.substituted, 1U);
}

TEST(BlktraceImport, TracesWithIssueEventsOnlyStayInBoundedMemoryAndInOrder) {
  std::vector<Record> records;
  for (std::uint32_t i = 0; i < 100'000; ++i) records.push_back(record(kD | kRead, i, i * 1000ULL, 8));
  const auto events = imported_records(records);
  const auto requests = requests_of(events);
  ASSERT_EQ(requests.size(), 100'000U);
  EXPECT_EQ(test::analyse(events).total.seeks, 99'999U);
}

TEST(BlktraceImport, GapsInTheSequenceAreLosses) {
  const auto events = imported_records({record(kD | kRead, 1, 0, 8, 1), record(kD | kRead, 2, 8, 8, 2),
                                        record(kD | kRead, 9, 16, 8, 12), record(kD | kRead, 4, 0, 8, 1, 1)});
  const SeekReport report = test::analyse(events);
  EXPECT_EQ(report.condition.lost, 9U);
  ASSERT_EQ(report.condition.loss_events.size(), 1U);
  EXPECT_EQ(report.condition.loss_events[0].first, Nanoseconds(2));
  EXPECT_EQ(report.condition.loss_events[0].last, Nanoseconds(9));
}

TEST(BlktraceImport, ACaptureWithRecordsRemovedSaysSo) {
  const test::ScratchDirectory scratch;
  const std::string whole = test::read_file(unpacked(shipped(), scratch));
  std::string thinned;
  std::uint64_t removed = 0;
  std::array<std::uint32_t, 2> sequences{};  // this capture came through ftrace, which does not number; blktrace does
  for (std::size_t at = 0, i = 0; at + sizeof(Record) <= whole.size(); ++i) {
    Record head;
    std::memcpy(&head, whole.data() + at, sizeof(head));
    const std::size_t size = sizeof(head) + head.payload_bytes;
    const bool remove = i > 1000 && i < 13'000 && i % 10 < 3;
    if (remove) ++removed;
    head.sequence = ++sequences.at(head.cpu);
    if (!remove) {
      thinned.append(reinterpret_cast<const char*>(&head), sizeof(head));
      thinned += whole.substr(at + sizeof(head), head.payload_bytes);
    }
    at += size;
  }
  test::write_file(scratch / "thin", thinned);
  const SeekReport report = test::analyse(imported(scratch / "thin"));
  EXPECT_EQ(report.condition.lost, removed);
  EXPECT_FALSE(report.condition.complete());
}

TEST(BlktraceImport, PerCpuFilesAreMergedByTimeFromAnyOfTheirNames) {
  const test::ScratchDirectory scratch;
  test::write_file(scratch / "t.blktrace.1",
                   bytes_of({record(kD | kRead, 1, 0, 8, 1, 1), record(kC | kRead, 6, 8, 8, 2, 1)}));
  test::write_file(scratch / "t.blktrace.3",
                   bytes_of({record(kD | kRead, 2, 8, 8, 1, 3), record(kC | kRead, 5, 0, 8, 2, 3)}));
  for (const std::string name : {"t", "t.blktrace.1", "t.blktrace.3", ""}) {
    const auto requests = requests_of(imported(scratch / name));
    ASSERT_EQ(requests.size(), 2U) << name;
    EXPECT_EQ(requests[0].complete, Nanoseconds(5));
    EXPECT_EQ(requests[1].complete, Nanoseconds(6));
  }
}

template <typename T>
void reverse_bytes(T& value) {
  auto* bytes = reinterpret_cast<unsigned char*>(&value);
  std::reverse(bytes, bytes + sizeof(T));
}

TEST(BlktraceImport, TheOtherByteOrderIsRead) {
  Record swapped = record(kD | kWrite, 123, std::uint64_t{1} << 34U, 8);
  reverse_bytes(swapped.magic), reverse_bytes(swapped.time), reverse_bytes(swapped.sector);
  reverse_bytes(swapped.bytes), reverse_bytes(swapped.action), reverse_bytes(swapped.device);
  const auto requests = requests_of(imported_records({swapped}));
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].sector.value, std::int64_t{1} << 34);
  EXPECT_EQ(requests[0].issue, Nanoseconds(123));
  EXPECT_EQ(requests[0].device, test::kDisk);
}

TEST(BlktraceImport, DamageIsSkippedAndSaid) {
  const test::ScratchDirectory scratch;
  const std::string good = bytes_of({record(kD | kRead, 1, 0, 8)});
  test::write_file(scratch / "t", good + std::string(100, 'x') + good + good.substr(0, 20));
  const auto events = imported(scratch / "t");
  EXPECT_EQ(requests_of(events).size(), 2U);
  std::uint64_t damaged = 0;
  std::uint64_t torn = 0;
  for (const EventBody& event : events)
    if (const auto* loss = std::get_if<Loss>(&event))
      (loss->cause == LossCause::kDamagedBlock ? damaged : torn) += loss->count;
  EXPECT_EQ(damaged, 1U);
  EXPECT_EQ(torn, 1U);
}

TEST(BlktraceImport, WhatIsNoBlktraceIsRefused) {
  const test::ScratchDirectory scratch;
  test::write_file(scratch / "t", std::string(1000, 'x'));
  CollectingSink sink;
  const auto result = import_blktrace(scratch / "t", sink);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kCorrupt);
  EXPECT_FALSE(looks_like_blktrace(scratch / "t"));
  EXPECT_FALSE(import_blktrace(scratch / "absent", sink));
}

TEST(BlktraceImport, AnEmptyFileIsAnEmptyTrace) {
  const test::ScratchDirectory scratch;
  test::write_file(scratch / "t", "");
  EXPECT_TRUE(imported(scratch / "t").empty());
}

}  // namespace
}  // namespace iotape
