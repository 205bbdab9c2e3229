#include "analysis/call_statistics.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/text_table.h"
#include "format/base/units.h"
#include "format/syscall_table.h"

namespace iotape {
namespace {

bool moves_bytes(const Operation& operation) {
  return std::holds_alternative<Read>(operation) || std::holds_alternative<Write>(operation) ||
         std::holds_alternative<Transfer>(operation);
}

}  // namespace

bool is_mismatch(const Syscall& call) {
  if (!call.replay || call.replay->skipped != SkipReason::kIssued) return false;
  const OpOutcome& expected = call.replay->expected;
  if (expected.error_number != call.outcome.error_number) return true;
  return moves_bytes(call.operation) && expected.value != call.outcome.value;
}

void CallFigures::merge(const CallFigures& other) {
  count += other.count;
  errors += other.errors;
  skipped += other.skipped;
  mismatches += other.mismatches;
  unfinished += other.unfinished;
  total_time += other.total_time;
  blocked_time += other.blocked_time;
  bytes += other.bytes;
  durations.merge(other.durations);
}

void CallStatistics::add(const Syscall& call) {
  CallFigures& figures = calls_[call.number];
  if (call.replay && call.replay->skipped != SkipReason::kIssued) {
    ++figures.skipped;
    return;
  }
  ++figures.count;
  const std::int64_t start = call.start.value;
  const std::int64_t end = (call.start + call.duration).value;
  first_ = any_ ? std::min(first_, start) : start;
  last_ = any_ ? std::max(last_, end) : end;
  any_ = true;
  if (call.unfinished) {
    ++figures.unfinished;
    return;
  }
  figures.errors += call.outcome.ok() ? 0 : 1;
  figures.mismatches += is_mismatch(call) ? 1 : 0;
  figures.total_time = (Nanoseconds(figures.total_time) + call.duration).value;
  figures.blocked_time = (Nanoseconds(figures.blocked_time) + call.blocked).value;
  if (moves_bytes(call.operation) && call.outcome.ok() && call.outcome.value > 0)
    figures.bytes += static_cast<std::uint64_t>(call.outcome.value);
  figures.durations.add(static_cast<std::uint64_t>(std::max<std::int64_t>(call.duration.value, 0)));
  if (++kept_values_ <= kExactValueBudget) return;
  for (auto& [number, each] : calls_) each.durations.collapse();
  kept_values_ = 0;
}

CallFigures CallStatistics::total() const {
  CallFigures sum;
  for (const auto& [number, figures] : calls_) sum.merge(figures);
  return sum;
}

CallFigures CallStatistics::of_operations(const std::vector<std::uint32_t>& wire_numbers) const {
  CallFigures sum;
  for (const auto& [number, figures] : calls_)
    if (std::find(wire_numbers.begin(), wire_numbers.end(), syscall_description(number).wire_number) !=
        wire_numbers.end())
      sum.merge(figures);
  return sum;
}

std::string call_text(CallStatistics& statistics, const Terminal& terminal) {
  std::vector<std::pair<std::string, CallFigures*>> rows;
  for (auto& [number, figures] : statistics.calls()) rows.emplace_back(syscall_display_name(number), &figures);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second->total_time > b.second->total_time; });
  CallFigures total = statistics.total();
  rows.emplace_back("total", &total);
  TextTable table;
  table.add_row({"system call", "calls", "errors", "time", "blocked", "p50", "p99"});
  const auto duration = [](std::int64_t ns) { return format_duration(Nanoseconds(ns)); };
  for (const auto& [name, figures] : rows)
    table.add_row({name, format_count(figures->count), format_count(figures->errors), duration(figures->total_time),
                   duration(figures->blocked_time),
                   duration(static_cast<std::int64_t>(figures->durations.percentile(0.5))),
                   duration(static_cast<std::int64_t>(figures->durations.percentile(0.99)))});
  return table.render(terminal.width);
}

}  // namespace iotape
