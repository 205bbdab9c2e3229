// From the bytes of block records to BlockRequest events, without a kernel.
#include "recorder/block_records.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

namespace iotape {
namespace {

class Collected : public EventSink {
 public:
  Result<void> append(EventBody body) override {
    requests.push_back(std::get<BlockRequest>(std::move(body)));
    return {};
  }
  std::vector<BlockRequest> requests;
};

template <typename Record>
std::vector<std::byte> bytes_of(Record record, std::uint16_t kind) {
  record.head.kind = kind;
  record.head.size = sizeof(record);
  std::vector<std::byte> bytes(sizeof(record));
  std::memcpy(bytes.data(), &record, sizeof(record));
  return bytes;
}

wire_bio bio_record() {
  wire_bio bio{};
  bio.time = 1000;
  bio.bio = 0xb10;
  bio.sector = 2048;
  bio.bytes = 8192;
  bio.disk = 7U << 20U;
  bio.partition = (7U << 20U) + 1;
  bio.flags = kBlockSync;
  bio.process = 11;
  bio.thread = 12;
  bio.dirtier_process = 21;
  bio.dirtier_thread = 22;
  bio.operation = static_cast<std::uint8_t>(BlockOperation::kWrite);
  bio.cause = static_cast<std::uint8_t>(BlockCause::kData);
  bio.file.device = 99;
  bio.file.inode = 1234;
  bio.file.generation = 77;
  bio.file.subvolume = 5;
  bio.file.mode = 0100644;
  bio.file_offset = 4096;
  bio.call_start = 900;
  return bio;
}

wire_request request_record() {
  wire_request request{};
  request.sector = 2048;
  request.bytes = 8192;
  request.disk = request.partition = 7U << 20U;
  request.operation = static_cast<std::uint8_t>(BlockOperation::kWrite);
  request.issue = 2000;
  request.complete = 3000;
  request.requeues = 3;
  request.flags = kBlockSync | kBlockForceUnitAccess;
  return request;
}

TEST(BlockRecords, EveryFieldOfABioReachesItsPart) {
  BlockRecords records([] { return std::vector<wire_request>{}; });
  Collected sink;
  ASSERT_TRUE(records.handle(bytes_of(bio_record(), WIRE_BIO), sink));
  ASSERT_TRUE(records.handle(bytes_of(request_record(), WIRE_REQUEST), sink));
  ASSERT_EQ(sink.requests.size(), 1U);
  const BlockRequest& request = sink.requests[0];
  EXPECT_EQ(request.device, DeviceId(7U << 20U));
  EXPECT_EQ(request.partition, DeviceId((7U << 20U) + 1));
  EXPECT_EQ(request.flags, kBlockSync | kBlockForceUnitAccess);
  EXPECT_EQ(request.requeues, 3U);
  EXPECT_EQ(request.issue, Nanoseconds(2000));
  EXPECT_EQ(request.complete, Nanoseconds(3000));
  RequestPart expected;
  expected.queue = Nanoseconds(1000);
  expected.sector = Sectors(2048);
  expected.bytes = 8192;
  expected.flags = kBlockSync;
  expected.submitter = {ProcessId(11), ThreadId(12)};
  expected.dirtier = {ProcessId(21), ThreadId(22)};
  expected.file = {{DeviceId(99), 77, InodeNumber(1234), 5}, FileKind::kRegular};
  expected.file_offset = 4096;
  expected.cause = BlockCause::kData;
  expected.call_start = Nanoseconds(900);
  ASSERT_EQ(request.parts.size(), 1U);
  EXPECT_EQ(request.parts[0], expected);
}

TEST(BlockRecords, AFileWithoutModeIsNoFile) {
  BlockRecords records([] { return std::vector<wire_request>{}; });
  Collected sink;
  wire_bio bio = bio_record();
  bio.file = {};
  bio.file.device = 99;
  bio.call_start = 0;
  ASSERT_TRUE(records.handle(bytes_of(bio, WIRE_BIO), sink));
  ASSERT_TRUE(records.handle(bytes_of(request_record(), WIRE_REQUEST), sink));
  EXPECT_EQ(sink.requests.at(0).parts.at(0).file, FileReference{});
  EXPECT_FALSE(sink.requests.at(0).parts.at(0).call_start.has_value());
}

TEST(BlockRecords, RequestsUnderWayAtTheEndAreWrittenWithoutCompletion) {
  wire_request open = request_record();
  open.complete = 0;
  BlockRecords records([&] { return std::vector<wire_request>{open}; });
  Collected sink;
  ASSERT_TRUE(records.handle(bytes_of(bio_record(), WIRE_BIO), sink));
  ASSERT_TRUE(records.finish(sink));
  ASSERT_EQ(sink.requests.size(), 1U);
  EXPECT_FALSE(sink.requests[0].complete.has_value());
  EXPECT_EQ(sink.requests[0].parts.size(), 1U);
}

TEST(BlockRecords, ShortRecordsAreCountedNotRead) {
  BlockRecords records([] { return std::vector<wire_request>{}; });
  Collected sink;
  for (const int kind : {WIRE_BIO, WIRE_REQUEST, WIRE_BIO_MOVED, WIRE_BIO_REFUSED}) {
    auto bytes = bytes_of(bio_record(), static_cast<std::uint16_t>(kind));
    bytes.resize(40);
    ASSERT_TRUE(records.handle(bytes, sink));
  }
  ASSERT_TRUE(records.handle({}, sink));
  EXPECT_EQ(records.malformed(), 5U);
  EXPECT_TRUE(sink.requests.empty());
}

TEST(BlockRecords, NumbersOutOfRangeBecomeOtherAndUnknown) {
  BlockRecords records([] { return std::vector<wire_request>{}; });
  Collected sink;
  wire_bio bio = bio_record();
  bio.operation = 200;
  bio.cause = 200;
  wire_request request = request_record();
  request.operation = 200;
  ASSERT_TRUE(records.handle(bytes_of(bio, WIRE_BIO), sink));
  ASSERT_TRUE(records.handle(bytes_of(request, WIRE_REQUEST), sink));
  EXPECT_EQ(sink.requests.at(0).operation, BlockOperation::kOther);
  EXPECT_EQ(sink.requests.at(0).parts.at(0).cause, BlockCause::kUnknown);
}

TEST(BlockRecords, CompletionErrorsOfOldAndNewKernelsAreErrnos) {
  EXPECT_EQ(errno_of_status(0), 0);
  EXPECT_EQ(errno_of_status(10), EIO);        // BLK_STS_IOERR
  EXPECT_EQ(errno_of_status(3), ENOSPC);      // BLK_STS_NOSPC
  EXPECT_EQ(errno_of_status(1), EOPNOTSUPP);  // BLK_STS_NOTSUPP
  EXPECT_EQ(errno_of_status(-EIO), EIO);      // before 5.16
  EXPECT_EQ(errno_of_status(250), EIO);
}

}  // namespace
}  // namespace iotape
