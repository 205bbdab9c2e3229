#include "replayer/engine/event_source.h"

#include <utility>

#include "format/trace_files.h"

namespace iotape {
namespace {

// The calls of a replay's result are those of the recording it repeats: what they got there is what later ones use,
// such as a descriptor's number.
void as_recorded(EventBody& body) {
  auto* const call = std::get_if<Syscall>(&body);
  if (call == nullptr || !call->replay) return;
  call->outcome = call->replay->expected;
  call->replay.reset();
}

class TraceFileSource final : public EventSource {
 public:
  explicit TraceFileSource(std::unique_ptr<TraceReader> reader) : reader_(std::move(reader)) {}
  const TraceHeader& header() const override { return reader_->header(); }
  Result<Event*> next() override {
    IOTAPE_ASSIGN(Event * event, reader_->next());
    if (event != nullptr) as_recorded(event->body);
    return event;
  }
  const ReadReport& report() const override { return reader_->report(); }

 private:
  std::unique_ptr<TraceReader> reader_;
};

class SelectedSource final : public EventSource {
 public:
  SelectedSource(std::unique_ptr<EventSource> from, SelectionOptions selection)
      : from_(std::move(from)), selector_(std::move(selection), from_->header().anchor_time) {}
  const TraceHeader& header() const override { return from_->header(); }
  Result<Event*> next() override {
    IOTAPE_ASSIGN(Event * event, from_->next());
    if (event == nullptr) return event;
    const Selected judged = selector_.judge(event->body);
    selected_ = judged != Selected::kNo || !std::holds_alternative<Syscall>(event->body);
    return event;
  }
  bool selected() const override { return selected_; }
  std::vector<std::string> unmatched() const override { return selector_.unmatched(); }
  const ReadReport& report() const override { return from_->report(); }

 private:
  std::unique_ptr<EventSource> from_;
  Selector selector_;
  bool selected_ = true;
};

struct EventList {
  TraceHeader header;
  std::vector<EventBody> bodies;
};

class ListSource final : public EventSource {
 public:
  explicit ListSource(std::shared_ptr<const EventList> list) : list_(std::move(list)) {}
  const TraceHeader& header() const override { return list_->header; }
  Result<Event*> next() override {
    if (position_ == list_->bodies.size()) return nullptr;
    current_ = Event{EventId(position_), 0, list_->bodies[position_]};
    ++position_;
    return &current_;
  }
  const ReadReport& report() const override { return report_; }

 private:
  std::shared_ptr<const EventList> list_;
  std::size_t position_ = 0;
  Event current_;
  ReadReport report_;
};

}  // namespace

EventSourceOpener open_trace_file(std::string path) {
  return [path = std::move(path)]() -> Result<std::unique_ptr<EventSource>> {
    IOTAPE_ASSIGN(auto reader, open_trace(path, ReaderOptions{.syscalls = true, .requests = false}));
    return std::make_unique<TraceFileSource>(std::move(reader));
  };
}

EventSourceOpener select_events(EventSourceOpener from, SelectionOptions selection) {
  if (selection.empty()) return from;
  return [from = std::move(from), selection = std::move(selection)]() -> Result<std::unique_ptr<EventSource>> {
    IOTAPE_ASSIGN(auto source, from());
    return std::make_unique<SelectedSource>(std::move(source), selection);
  };
}

EventSourceOpener open_events(TraceHeader header, std::vector<EventBody> events) {
  auto list = std::make_shared<const EventList>(EventList{std::move(header), std::move(events)});
  return [list]() -> Result<std::unique_ptr<EventSource>> { return std::make_unique<ListSource>(list); };
}

}  // namespace iotape
