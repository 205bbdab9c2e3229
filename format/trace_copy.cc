#include "format/trace_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace iotape {
namespace {

// Turns the damage a reader has met since the last look into Loss events between the events around it.
class DamageNotes {
 public:
  explicit DamageNotes(const ReadReport& report) : report_(&report) {}

  Result<void> note(TraceWriter& to, Nanoseconds before, Nanoseconds after) {
    for (; noted_ < report_->damage.size(); ++noted_) {
      const Damage& damage = report_->damage[noted_];
      Loss loss;
      loss.cause = damage.cause;
      loss.first = before;
      loss.last = std::max(before, after);
      loss.detail = fmt::format("offset {}, {} bytes: {}", damage.offset, damage.bytes, damage.what);
      IOTAPE_TRY(to.append(std::move(loss)));
    }
    return {};
  }

 private:
  const ReadReport* report_;
  std::size_t noted_ = 0;
};

LossCause cause_of_gap(const ReadReport& report) {
  return report.damage_count > 0 && !report.interrupted ? LossCause::kDamagedBlock : LossCause::kTruncatedFile;
}

Result<void> note_missing_end(TraceTotals& totals, TraceWriter& to) {
  Loss loss;
  loss.cause = LossCause::kTruncatedFile;
  loss.first = loss.last = totals.end;
  loss.count = 1;
  loss.detail = "the trace was interrupted: its end is missing; at least one event, perhaps many";
  totals.losses[static_cast<std::size_t>(loss.cause)] += loss.count;
  return to.append(std::move(loss));
}

}  // namespace

void count_event(CopyCounts& counts, const EventBody& body) {
  if (std::holds_alternative<Syscall>(body))
    ++counts.syscalls;
  else if (std::holds_alternative<BlockRequest>(body))
    ++counts.requests;
  else
    ++counts.others;
  counts.last = std::max(counts.last, event_time(body));
}

Result<CopyCounts> copy_events(TraceReader& from, TraceWriter& to, const std::function<bool(const Event&)>& keep) {
  CopyCounts counts;
  DamageNotes notes(from.report());
  Nanoseconds before = from.header().anchor_time;
  while (true) {
    IOTAPE_ASSIGN(Event * event, from.next());
    const Nanoseconds time = event == nullptr ? before : event_time(event->body);
    IOTAPE_TRY(notes.note(to, before, time));
    if (event == nullptr) return counts;
    before = std::max(before, time);
    if (keep && !keep(*event)) continue;
    count_event(counts, event->body);
    IOTAPE_TRY(to.append_from(event->recorder, std::move(event->body)));
  }
}

Result<TraceTotals> totals_of_copy(const ReadReport& report, const CopyCounts& counts, TraceWriter& to) {
  TraceTotals totals;
  totals.losses = report.losses;
  totals.workload_status = -1;
  totals.end = counts.last;
  if (report.totals) totals = *report.totals;
  // How much is missing behind the cut nobody knows; that something is must not be forgotten.
  if (report.interrupted && totals.losses[static_cast<std::size_t>(LossCause::kTruncatedFile)] == 0 &&
      report.seen <= counts.events() + totals.lost())
    IOTAPE_TRY(note_missing_end(totals, to));
  const std::uint64_t accounted = counts.events() + totals.lost();
  totals.seen = std::max({totals.seen, report.seen, accounted});
  if (const std::uint64_t missing = totals.seen - accounted; missing > 0) {
    const LossCause cause = cause_of_gap(report);
    totals.losses[static_cast<std::size_t>(cause)] += missing;
    Loss loss;
    loss.cause = cause;
    loss.first = loss.last = totals.end;
    loss.count = missing;
    loss.detail = "counted by the recorder, in no readable block";
    IOTAPE_TRY(to.append(std::move(loss)));
  }
  return totals;
}

}  // namespace iotape
