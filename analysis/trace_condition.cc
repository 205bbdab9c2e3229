#include "analysis/trace_condition.h"

#include <fmt/format.h>

#include <algorithm>

#include "format/base/units.h"
#include "format/enum_names.h"

namespace iotape {
namespace {

std::string causes(const LossCounts& losses) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < losses.size(); ++i)
    if (const auto cause = static_cast<LossCause>(i); losses[i] > 0 && counts_as_lost(cause))
      parts.push_back(fmt::format("{} {}", enum_name(cause), format_count(losses[i])));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

void TraceCondition::add(const Loss& loss) {
  losses[static_cast<std::size_t>(loss.cause)] += loss.count;
  if (counts_as_lost(loss.cause)) {
    lost += loss.count;
  } else {
    if (loss.cause == LossCause::kNotCaptured) not_captured += loss.count;
    return;
  }
  if (loss_events.size() < kMaximumLossEvents) {
    loss_events.push_back(loss);
    return;
  }
  Loss& widened = loss_events.back();
  widened.first = std::min(widened.first, loss.first);
  widened.last = std::max(widened.last, loss.last);
  widened.count += loss.count;
}

void TraceCondition::add(const Marker& marker) {
  serialised = serialised || marker.text.find("latencies are serialised") != std::string::npos;
  if (marker.text.starts_with("replay: order thread")) order = "thread";
}

void TraceCondition::finish(const TraceHeader& header, const ReadReport& report) {
  simulated = header.clock == ClockKind::kVirtual;
  interrupted = report.interrupted;
  damaged = report.damage_count;
  lost = std::max(lost, report.lost);
  for (std::size_t i = 0; i < losses.size(); ++i) losses[i] = std::max(losses[i], report.losses[i]);
  missing_hooks = header.missing_hooks;
  replay = !header.target.empty();
  if (replay && order.empty()) order = "strict";
}

std::string TraceCondition::sentence() const {
  if (complete()) return "complete";
  std::vector<std::string> parts;
  if (lost > 0) {
    const std::string by_cause = causes(losses);
    parts.push_back(format_count(lost) + " events lost" + (by_cause.empty() ? "" : " (" + by_cause + ")"));
  }
  if (damaged > 0) parts.push_back(fmt::format("{} damaged places in the file", format_count(damaged)));
  if (interrupted) parts.emplace_back("the recording was interrupted");
  return fmt::format("INCOMPLETE: {}", fmt::join(parts, ", "));
}

}  // namespace iotape
