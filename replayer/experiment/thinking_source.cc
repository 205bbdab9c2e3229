#include "replayer/experiment/thinking_source.h"

#include <algorithm>
#include <utility>

namespace iotape {
namespace {

struct Later {
  Nanoseconds by;
  void operator()(Syscall& call) const { call.start += by; }
  void operator()(BlockRequest&) const {}
  void operator()(DeviceInfo&) const {}
  void operator()(MountInfo&) const {}
  void operator()(Stack&) const {}
  void operator()(Loss& loss) const { loss.first += by, loss.last += by; }
  template <typename Timed>
  void operator()(Timed& event) const {
    event.time += by;
  }
};

class ThinkingSource final : public EventSource {
 public:
  ThinkingSource(std::unique_ptr<EventSource> from, Nanoseconds thinking, std::uint64_t written)
      : from_(std::move(from)), thinking_(thinking), written_(written) {}
  const TraceHeader& header() const override { return from_->header(); }
  Result<Event*> next() override {
    IOTAPE_ASSIGN(Event * event, from_->next());
    if (event == nullptr) return event;
    const auto* call = std::get_if<Syscall>(&event->body);
    const auto* write = call == nullptr ? nullptr : std::get_if<Write>(&call->operation);
    if (write != nullptr && write->descriptor.file.kind == FileKind::kRegular)
      done_ += static_cast<std::uint64_t>(std::max<std::int64_t>(call->outcome.value, 0));
    std::visit(Later{added()}, event->body);
    return event;
  }
  bool selected() const override { return from_->selected(); }
  std::vector<std::string> unmatched() const override { return from_->unmatched(); }
  const ReadReport& report() const override { return from_->report(); }

 private:
  // From the whole, so that roundings do not add up.
  [[nodiscard]] Nanoseconds added() const {
    const auto product = static_cast<__int128_t>(thinking_.value) * static_cast<__int128_t>(std::min(done_, written_));
    return Nanoseconds(static_cast<std::int64_t>(product / static_cast<__int128_t>(written_)));
  }

  std::unique_ptr<EventSource> from_;
  Nanoseconds thinking_;
  std::uint64_t written_;
  std::uint64_t done_ = 0;
};

}  // namespace

EventSourceOpener add_thinking(EventSourceOpener from, Nanoseconds thinking, std::uint64_t written) {
  if (thinking.value <= 0 || written == 0) return from;
  return [from = std::move(from), thinking, written]() -> Result<std::unique_ptr<EventSource>> {
    IOTAPE_ASSIGN(auto source, from());
    return std::make_unique<ThinkingSource>(std::move(source), thinking, written);
  };
}

}  // namespace iotape
