#include "replayer/ext3/device/tracing_device.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint64_t kSector = 512;

Sectors sectors_of(std::uint64_t bytes) { return Sectors(static_cast<std::int64_t>(bytes / kSector)); }

std::uint32_t flags_of(BlockOperation operation, std::span<const IoPart> parts, IoReason reason) {
  std::uint32_t flags = 0;
  if (reason == IoReason::kReadAhead) flags |= kBlockReadAhead;
  if (operation == BlockOperation::kWrite && reason == IoReason::kDemand) flags |= kBlockSync;
  if (!parts.empty() && parts.front().tag.cause != BlockCause::kData) flags |= kBlockMetadata;
  return flags;
}

// Whether a part goes on where the one before it ended: one bio, as a kernel would have built it.
bool continues(const IoPart& before, const IoPart& part) {
  return before.tag.cause == part.tag.cause && before.tag.inode == part.tag.inode &&
         before.tag.dirtier == part.tag.dirtier &&
         (part.tag.cause != BlockCause::kData || part.tag.file_block.value == before.tag.file_block.value + 1);
}

}  // namespace

std::vector<BlockRequest> TracingDevice::take() {
  const std::lock_guard held(mutex_);
  return std::exchange(requests_, {});
}

void TracingDevice::add_parts(BlockRequest& request, std::span<const IoPart> parts) {
  const auto [submitter, call_start] = context_.submitter();
  Sectors at = request.sector;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const IoPart& part = parts[i];
    const Sectors length = sectors_of(part.bytes);
    if (i > 0 && continues(parts[i - 1], part)) {
      request.parts.back().bytes += part.bytes;
    } else {
      RequestPart added;
      added.queue = *request.issue;
      added.sector = at;
      added.bytes = part.bytes;
      added.flags = request.flags;
      added.submitter = submitter;
      if (request.operation == BlockOperation::kWrite && part.tag.dirtier != 0) {
        const auto dirtier = static_cast<std::int32_t>(part.tag.dirtier);
        added.dirtier = {ProcessId(dirtier), ThreadId(dirtier)};
      }
      if (part.tag.inode != kNoInode) {
        added.file.identity = {device_, context_.generation(part.tag.inode), iotape::InodeNumber(part.tag.inode.value),
                               0};
        added.file.kind = part.tag.cause == BlockCause::kData ? FileKind::kRegular : FileKind::kUnknown;
        if (part.tag.cause == BlockCause::kData)
          added.file_offset = std::int64_t{part.tag.file_block.value} * part.bytes;
      }
      added.cause = part.tag.cause;
      added.call_start = call_start;
      request.parts.push_back(added);
    }
    at += length;
  }
}

BlockRequest TracingDevice::begin(BlockOperation operation, std::uint64_t offset, std::span<const IoPart> parts,
                                  IoReason reason) {
  BlockRequest request;
  request.device = request.partition = device_;
  request.operation = operation;
  request.flags = flags_of(operation, parts, reason);
  request.sector = sectors_of(offset);
  request.issue = context_.now();
  for (const IoPart& part : parts) request.bytes += part.bytes;
  add_parts(request, parts);
  return request;
}

Answer<void> TracingDevice::finish(BlockRequest request, Answer<void> answer) {
  request.complete = context_.now();
  if (!answer) request.error = answer.error().value;
  const std::lock_guard held(mutex_);
  requests_.push_back(std::move(request));
  return answer;
}

Answer<void> TracingDevice::read(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) {
  if (!watching_) return below_.read(offset, parts, reason);
  BlockRequest request = begin(BlockOperation::kRead, offset, parts, reason);
  return finish(std::move(request), below_.read(offset, parts, reason));
}

Answer<void> TracingDevice::write(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) {
  if (!watching_) return below_.write(offset, parts, reason);
  BlockRequest request = begin(BlockOperation::kWrite, offset, parts, reason);
  return finish(std::move(request), below_.write(offset, parts, reason));
}

Answer<void> TracingDevice::flush() {
  if (!watching_) return below_.flush();
  BlockRequest request = begin(BlockOperation::kFlush, 0, {}, IoReason::kDemand);
  request.flags |= kBlockPreflush;
  return finish(std::move(request), below_.flush());
}

}  // namespace iotape::ext3
