#include "replayer/experiment/request_feed.h"

namespace iotape {
namespace {

// Keeps what is no request, and passes requests on, or drops them.
class Sorting final : public EventSink {
 public:
  Sorting(EventSink* onwards, std::vector<EventBody>& description) : onwards_(onwards), description_(description) {}
  Result<void> append(EventBody body) override {
    if (!std::holds_alternative<BlockRequest>(body)) return description_.push_back(std::move(body)), Result<void>{};
    return onwards_ == nullptr ? Result<void>{} : onwards_->append(std::move(body));
  }

 private:
  EventSink* onwards_;
  std::vector<EventBody>& description_;
};

}  // namespace

class RequestFeed::Step final : public SelfRecorder {
 public:
  explicit Step(RequestFeed& feed) : feed_(feed) {}
  Result<void> start(DeviceId /*device*/, ProcessId /*replayer*/) override { return {}; }
  Result<void> drain(EventSink& sink) override {
    for (; described_ < feed_.description_.size(); ++described_) {
      EventBody event = feed_.description_[described_];
      if (auto* start = std::get_if<ProcessStart>(&event)) start->time = feed_.target_.now();
      IOTAPE_TRY(sink.append(std::move(event)));
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
  std::size_t described_ = 0;
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
  Sorting sorting(sink, description_);
  return target_.take_requests(sorting);
}

}  // namespace iotape
