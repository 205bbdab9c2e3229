// Says on stderr what is wrong with a trace that was read, and which exit status that means.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "format/base/command.h"
#include "format/trace_reader.h"

namespace iotape {

// After the last event. Speaks of damage, interruption and losses (also when quiet: they qualify every result) and
// returns kExitDamaged under strict when there is any, else kExitOk.
int report_health(const Terminal& terminal, std::string_view command, const TraceReader& trace, bool strict);

// After the last event, also when quiet: an empty answer may be a mistyped word.
void report_unmatched(const Terminal& terminal, std::string_view command, std::string_view trace,
                      const std::vector<std::string>& unmatched);

// Losses that events are missing for, whether the file was closed or not.
[[nodiscard]] std::uint64_t lost_events(const ReadReport& report);

}  // namespace iotape
