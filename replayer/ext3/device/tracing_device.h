// TracingDevice: remembers every request that passes to the device below, with its time, its parts and their cause, as
// a recorder of the block layer would have.
#pragma once

#include <mutex>
#include <vector>

#include "format/event.h"
#include "replayer/ext3/device/request_parts.h"

namespace iotape::ext3 {

class TracingDevice final : public BlockDevice {
 public:
  // REQUIRES: below outlives this.
  TracingDevice(BlockDevice& below, DeviceId device, RequestContext context)
      : below_(below), device_(device), context_(std::move(context)) {}

  void set_watching(bool watching) { watching_ = watching; }
  // What came since the last time, in issue order.
  std::vector<BlockRequest> take();

  [[nodiscard]] std::uint64_t size() const override { return below_.size(); }
  [[nodiscard]] bool read_only() const override { return below_.read_only(); }
  Answer<void> read(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override;
  Answer<void> write(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override;
  Answer<void> flush() override;

 private:
  BlockRequest begin(BlockOperation operation, std::uint64_t offset, std::span<const IoPart> parts, IoReason reason);
  Answer<void> finish(BlockRequest request, Answer<void> answer);

  BlockDevice& below_;
  DeviceId device_;
  RequestContext context_;
  bool watching_ = true;
  std::mutex mutex_;
  std::vector<BlockRequest> requests_;
};

}  // namespace iotape::ext3
