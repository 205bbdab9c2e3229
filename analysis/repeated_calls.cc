#include "analysis/repeated_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "analysis/trace_walk.h"
#include "format/base/units.h"
#include "format/enum_names.h"
#include "format/foreign_file.h"
#include "format/trace_files.h"

namespace iotape {

void RepeatedCalls::add(const ReplayRecord& record) {
  const auto reason = static_cast<std::size_t>(record.skipped);
  if (record.source.value >= kMaximumEvents || reason >= by_reason_.size()) return;
  if (record.source.value >= fates_.size())
    fates_.resize(std::min(std::max<std::uint64_t>(2 * fates_.size(), record.source.value + 1), kMaximumEvents));
  std::uint8_t& fate = fates_[record.source.value];
  constexpr std::uint8_t kIssuedFate = static_cast<std::uint8_t>(SkipReason::kIssued) + 1;
  const bool counts = fate == 0 || (fate != kIssuedFate && record.skipped == SkipReason::kIssued);
  if (!counts) return;
  if (fate != 0) --by_reason_[fate - 1U];
  fate = static_cast<std::uint8_t>(reason + 1);
  ++by_reason_[reason];
  if (record.skipped == SkipReason::kIssued) ++issued_;
}

bool RepeatedCalls::contains(EventId source) const {
  return source.value < fates_.size() && fates_[source.value] == static_cast<std::uint8_t>(SkipReason::kIssued) + 1;
}

std::uint64_t RepeatedCalls::calls() const {
  return std::accumulate(by_reason_.begin(), by_reason_.end(), std::uint64_t{0});
}

std::string RepeatedCalls::left_out() const {
  std::string text;
  for (std::size_t reason = 1; reason < by_reason_.size(); ++reason)
    if (by_reason_[reason] > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_count(by_reason_[reason]),
                          enum_name(static_cast<SkipReason>(reason)));
  return text;
}

namespace {

// A replay takes over its source's history and adds itself; a cut of the source has its id, but a history of its own.
bool is_replay_of(const TraceHeader& replay, const TraceHeader& source) {
  return replay.source_id && *replay.source_id == source.trace_id &&
         replay.history.size() == source.history.size() + 1 &&
         std::equal(source.history.begin(), source.history.end(), replay.history.begin());
}

Result<std::map<std::string, TraceHeader>> headers_of(const std::vector<std::string>& traces) {
  std::error_code ignored;
  std::map<std::string, TraceHeader> headers;
  for (const std::string& trace : traces) {
    // A pipe can be read once only.
    if (!std::filesystem::is_regular_file(trace, ignored) || recognise_foreign_file(trace)) continue;
    IOTAPE_ASSIGN(const auto reader, open_trace(trace));
    headers.emplace(trace, reader->header());
  }
  return headers;
}

}  // namespace

Result<std::map<std::string, RepeatedCalls>> find_repeated_calls(const std::vector<std::string>& traces) {
  IOTAPE_ASSIGN(const auto headers, headers_of(traces));
  std::map<std::string, RepeatedCalls> all;
  for (const auto& [replay, header] : headers) {
    const auto source = std::find_if(headers.begin(), headers.end(),
                                     [&of = header](const auto& entry) { return is_replay_of(of, entry.second); });
    if (source == headers.end()) continue;
    RepeatedCalls& repeated = all[source->first];
    IOTAPE_TRY(walk_trace(replay, {}, {true, false}, [&](const Event& event, Selected) {
      const auto* call = std::get_if<Syscall>(&event.body);
      if (call != nullptr && call->replay) repeated.add(*call->replay);
    }));
  }
  return all;
}

}  // namespace iotape
