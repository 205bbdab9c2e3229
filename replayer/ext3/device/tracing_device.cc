#include "replayer/ext3/device/tracing_device.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint64_t kSector = 512;

Sectors sectors_of(std::uint64_t bytes) { return Sectors(static_cast<std::int64_t>(bytes / kSector)); }

}  // namespace

std::vector<BlockRequest> TracingDevice::take() {
  const std::lock_guard held(mutex_);
  return std::exchange(requests_, {});
}

BlockRequest TracingDevice::begin(BlockOperation operation, std::uint64_t offset, std::span<const IoPart> parts,
                                  IoReason reason) {
  BlockRequest request;
  request.device = request.partition = device_;
  request.operation = operation;
  request.flags = request_flags(operation == BlockOperation::kWrite, parts, reason);
  request.sector = sectors_of(offset);
  request.issue = context_.now();
  for (const IoPart& part : parts) request.bytes += part.bytes;
  const auto [submitter, call_start] = context_.submitter();
  append_parts(request, parts, request.sector, {device_, *request.issue, request.flags, submitter, call_start},
               context_);
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
