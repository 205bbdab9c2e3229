#include "analysis/trace_walk.h"

#include "format/trace_files.h"

namespace iotape {

Result<WalkEnd> walk_trace(const std::string& path, const SelectionOptions& selection, WalkNeeds needs,
                           const EventVisitor& visit) {
  const Selector wants(selection, {});
  ReaderOptions options;
  options.syscalls = (needs.syscalls && wants.wants_syscalls()) || !selection.paths.empty();
  options.requests = needs.requests && wants.wants_requests();
  IOTAPE_ASSIGN(const auto reader, open_trace(path, options));
  Selector selector(selection, reader->header().anchor_time);
  const bool everything = selection.empty();
  while (true) {
    IOTAPE_ASSIGN(const Event* event, reader->next());
    if (event == nullptr) break;
    visit(*event, everything ? Selected::kYes : selector.judge(event->body));
  }
  return WalkEnd{reader->header(), reader->report(), selector.unmatched()};
}

}  // namespace iotape
