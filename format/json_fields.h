// Structs of a trace as JSON, both ways, by the field lists of format/event_fields.h and format/operations.h.
//
// Numbers are JSON numbers, times nanoseconds, devices "major:minor", enumerations their words, bytes a string when
// they are UTF-8 and {"hex":"..."} otherwise. An absent optional is left out; a file that is not known is null.
#pragma once

#include <string>
#include <string_view>

#include "format/base/result.h"
#include "format/event.h"
#include "format/trace_header.h"
#include "format/trace_reader.h"

namespace iotape {

// {"id":..,"recorder":..,"event":"syscall",...}. extra is put in after the kind: `,"comm":"tar"`, or nothing.
void append_json(std::string& out, const Event& event, std::string_view extra = {});
void append_json(std::string& out, const TraceHeader& header);
void append_json(std::string& out, const TraceTotals& totals);

// What one line of `iotape dump --format json` holds; monostate for the last line of an interrupted trace.
struct JsonLine {
  std::variant<std::monostate, TraceHeader, Event, TraceTotals> content;
};
// Keys that are not known are ignored, missing ones keep the field's default; a value of the wrong type is an error.
Result<JsonLine> parse_json_line(std::string_view line);

inline constexpr std::string_view kDumpSchema = "iotape.dump/1";

}  // namespace iotape
