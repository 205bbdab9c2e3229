#include "replayer/experiment/request_feed.h"

namespace iotape {
namespace {

// Keeps what describes the device and passes the rest on, or drops it.
class Sorting final : public EventSink {
 public:
  Sorting(EventSink* onwards, std::optional<DeviceInfo>& device, std::optional<MountInfo>& mount)
      : onwards_(onwards), device_(device), mount_(mount) {}
  Result<void> append(EventBody body) override {
    if (const auto* device = std::get_if<DeviceInfo>(&body)) return device_ = *device, Result<void>{};
    if (const auto* mount = std::get_if<MountInfo>(&body)) return mount_ = *mount, Result<void>{};
    return onwards_ == nullptr ? Result<void>{} : onwards_->append(std::move(body));
  }

 private:
  EventSink* onwards_;
  std::optional<DeviceInfo>& device_;
  std::optional<MountInfo>& mount_;
};

}  // namespace

class RequestFeed::Step final : public SelfRecorder {
 public:
  explicit Step(RequestFeed& feed) : feed_(feed) {}
  Result<void> start(DeviceId /*device*/, ProcessId /*replayer*/) override { return {}; }
  Result<void> drain(EventSink& sink) override {
    if (!described_ && feed_.device_) {
      described_ = true;
      IOTAPE_TRY(sink.append(*feed_.device_));
      if (feed_.mount_) IOTAPE_TRY(sink.append(*feed_.mount_));
    }
    IOTAPE_ASSIGN(const std::uint64_t taken, feed_.take(&sink));
    totals_.seen += taken;
    totals_.requests += taken;
    return {};
  }
  Result<SelfRecorderTotals> stop(EventSink& sink) override {
    IOTAPE_TRY(drain(sink));
    return totals_;
  }

 private:
  RequestFeed& feed_;
  bool described_ = false;
  SelfRecorderTotals totals_;
};

Result<void> RequestFeed::skip() {
  if (!watching_) IOTAPE_TRY(target_.watch_requests());
  watching_ = true;
  IOTAPE_TRY(take(nullptr));
  return {};
}

std::unique_ptr<SelfRecorder> RequestFeed::recorder() { return std::make_unique<Step>(*this); }

Result<std::uint64_t> RequestFeed::take(EventSink* sink) {
  Sorting sorting(sink, device_, mount_);
  return target_.take_requests(sorting);
}

}  // namespace iotape
