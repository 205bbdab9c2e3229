#include "recorder/block_records.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>

namespace iotape {
namespace {

// By blk_status_t (include/linux/blk_types.h). Those of zones moved by one between 5.16 and 6.11; a number that newer
// kernels add reads as an I/O error.
constexpr std::array<std::int32_t, 20> kStatusErrno = {
    0,   EOPNOTSUPP, ETIMEDOUT, ENOSPC, ENOLINK,      EREMOTEIO, EBADE,  ENODATA, EILSEQ, ENOMEM,
    EIO, EREMCHG,    EAGAIN,    EBUSY,  ETOOMANYREFS, EOVERFLOW, ENODEV, ETIME,   EIO,    EINVAL};

Nanoseconds time_of(std::uint64_t value) { return Nanoseconds(static_cast<std::int64_t>(value)); }
Sectors sectors_of(std::uint64_t value) { return Sectors(static_cast<std::int64_t>(value)); }
ThreadKey thread_of(std::uint32_t process, std::uint32_t thread) {
  return {ProcessId(static_cast<std::int32_t>(process)), ThreadId(static_cast<std::int32_t>(thread))};
}

BlockOperation operation_of(std::uint8_t number) {
  return number < kBlockOperationCount ? static_cast<BlockOperation>(number) : BlockOperation::kOther;
}
BlockCause cause_of(std::uint8_t number) {
  return number < kBlockCauseCount ? static_cast<BlockCause>(number) : BlockCause::kUnknown;
}

FileReference file_of(const wire_file& file) {
  const FileKind kind = file_kind_of_mode(file.mode, FileKind::kUnknown);
  if (kind == FileKind::kUnknown) return {};
  return {{DeviceId(file.device), file.generation, InodeNumber(file.inode), file.subvolume}, kind};
}

QueuedBio queued_of(const wire_bio& record) {
  QueuedBio bio;
  bio.bio = BioAddress(record.bio);
  bio.device = DeviceId(record.disk);
  bio.partition = DeviceId(record.partition);
  bio.operation = operation_of(record.operation);
  bio.bio_based = (record.marks & WIRE_BLOCK_BIO_BASED) != 0;
  bio.own = (record.marks & WIRE_BLOCK_OWN) != 0;
  bio.part.queue = time_of(record.time);
  bio.part.sector = sectors_of(record.sector);
  bio.part.bytes = record.bytes;
  bio.part.flags = record.flags;
  bio.part.submitter = thread_of(record.process, record.thread);
  bio.part.dirtier = thread_of(record.dirtier_process, record.dirtier_thread);
  bio.part.file = file_of(record.file);
  bio.part.file_offset = record.file_offset;
  bio.part.cause = cause_of(record.cause);
  if (record.call_start != 0) bio.part.call_start = time_of(record.call_start);
  return bio;
}

FinishedRequest finished_of(const wire_request& record) {
  FinishedRequest finished;
  finished.first_bio = BioAddress(record.first_bio);
  finished.bio_based = (record.marks & WIRE_BLOCK_BIO_BASED) != 0;
  BlockRequest& request = finished.request;
  request.device = DeviceId(record.disk);
  request.partition = DeviceId(record.partition);
  request.operation = operation_of(record.operation);
  request.flags = record.flags;
  request.sector = sectors_of(record.sector);
  request.bytes = record.bytes;
  if (record.issue != 0) request.issue = time_of(record.issue);
  if ((record.marks & WIRE_BLOCK_OPEN) == 0) request.complete = time_of(record.complete);
  request.error = errno_of_status(record.error);
  request.requeues = record.requeues;
  return finished;
}

template <typename Record>
std::optional<Record> record_as(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Record)) return std::nullopt;
  Record record;
  std::memcpy(&record, bytes.data(), sizeof(record));
  return record;
}

}  // namespace

std::int32_t errno_of_status(std::int32_t status) {
  if (status == std::numeric_limits<std::int32_t>::min()) return EIO;
  if (status <= 0) return -status;
  return static_cast<std::size_t>(status) < kStatusErrno.size() ? kStatusErrno[static_cast<std::size_t>(status)] : EIO;
}

Result<void> BlockRecords::take(const wire_request& record, EventSink& sink) {
  if (auto request = assembler_.finish(finished_of(record))) return sink.append(std::move(*request));
  return {};
}

Result<void> BlockRecords::handle(std::span<const std::byte> bytes, EventSink& sink) {
  const auto head = record_as<wire_head>(bytes);
  if (head && head->kind == WIRE_BIO) {
    if (const auto record = record_as<wire_bio>(bytes)) {
      const QueuedBio bio = queued_of(*record);
      if (auto thread = kernel_threads_.meet(bio.part.submitter, bio.part.queue)) IOTAPE_TRY(sink.append(*thread));
      return assembler_.queue(bio), Result<void>{};
    }
  } else if (head && head->kind == WIRE_REQUEST) {
    if (const auto request = record_as<wire_request>(bytes)) return take(*request, sink);
  } else if (const auto moved = record_as<wire_bio_moved>(bytes)) {
    if (moved->head.kind == WIRE_BIO_MOVED)
      assembler_.move({BioAddress(moved->bio), DeviceId(moved->old_disk), sectors_of(moved->old_sector),
                       DeviceId(moved->disk), sectors_of(moved->sector)});
    else
      assembler_.refuse({BioAddress(moved->bio), DeviceId(moved->old_disk), operation_of(moved->operation)});
    return {};
  }
  ++malformed_;
  return {};
}

Result<void> BlockRecords::finish(EventSink& sink) {
  for (wire_request& record : under_way_()) {
    record.marks |= WIRE_BLOCK_OPEN;
    IOTAPE_TRY(take(record, sink));
  }
  return {};
}

}  // namespace iotape
