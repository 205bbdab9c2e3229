#include <fmt/format.h>

#include <iterator>

#include "format/event_printer.h"
#include "format/json_fields.h"
#include "format/name_tracker.h"
#include "format/quoting.h"

namespace iotape {
namespace {

ThreadKey actor_of(const Event& event) {
  if (const auto* call = std::get_if<Syscall>(&event.body)) return call->thread;
  if (const auto* request = std::get_if<BlockRequest>(&event.body); request != nullptr && !request->parts.empty())
    return request->parts.front().submitter;
  return {};
}

class JsonPrinter final : public EventPrinter {
 public:
  void begin(std::string& out, const TraceHeader& header) override {
    fmt::format_to(std::back_inserter(out), "{{\"schema\":\"{}\",\"header\":", kDumpSchema);
    append_json(out, header);
    out += "}\n";
  }

  void observe(const Event& event) override { names_.observe(event.body); }

  void print(std::string& out, const Event& event) override {
    std::string extra;
    if (const std::string_view command = names_.command(actor_of(event)); !command.empty()) {
      extra = ",\"comm\":";
      append_json_bytes(extra, command);
    }
    append_json(out, event, extra);
    out += '\n';
  }

  void end(std::string& out, const ReadReport& report) override {
    fmt::format_to(std::back_inserter(out), "{{\"interrupted\":{},\"damage_count\":{},\"lost\":{}", report.interrupted,
                   report.damage_count, report.lost);
    if (report.totals) {
      out += ",\"totals\":";
      append_json(out, *report.totals);
    }
    out += "}\n";
  }

 private:
  NameTracker names_;
};

}  // namespace

std::unique_ptr<EventPrinter> make_json_printer() { return std::make_unique<JsonPrinter>(); }

}  // namespace iotape
