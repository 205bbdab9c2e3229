#include "replayer/experiment/step_figures.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "analysis/call_statistics.h"
#include "analysis/seek_analysis.h"
#include "format/trace_reader.h"

namespace iotape {
namespace {

void take_seeks(SeekReport& report, PhaseFigures& figures) {
  for (const DeviceSeeks& device : report.devices) {
    const SeekStatistics& reads = device.by_class[static_cast<std::size_t>(AccessClass::kRead)];
    const SeekStatistics& writes = device.by_class[static_cast<std::size_t>(AccessClass::kWrite)];
    figures.reads += reads.requests, figures.read_bytes += reads.bytes;
    figures.writes += writes.requests, figures.written_bytes += writes.bytes;
  }
  SeekStatistics& total = report.total;
  figures.jumps = total.distances - total.sequential;
  figures.seeks = total.seeks;
  figures.distance = total.total_distance;
  figures.median_distance = total.magnitudes.percentile(0.5);
  figures.sequential_share = total.share(total.sequential);
  figures.histogram = total.histogram;
  for (const SeekGroup& group : report.groups)
    figures.causes.push_back(
        {group.label, group.statistics.requests, group.statistics.seeks, group.statistics.total_distance});
}

class Reading {
 public:
  Reading(const StepTimes& times, const std::vector<bool>& shown, std::uint64_t threshold)
      : times_(times), shown_(shown), figures_(shown.size()) {
    for (std::size_t i = 0; i < shown.size(); ++i)
      analyses_.push_back(
          std::make_unique<SeekAnalysis>(SeekOptions{StreamOrder::kIssue, threshold, GroupBy::kCause, nullptr}));
  }

  void take(const EventBody& event) {
    if (const auto* call = std::get_if<Syscall>(&event)) {
      PhaseFigures& figures = figures_[phase_at(call->start)];
      if (call->replay && call->replay->skipped != SkipReason::kIssued) return;
      ++figures.calls;
      figures.mismatches += is_mismatch(*call) ? 1 : 0;
    } else if (const auto* request = std::get_if<BlockRequest>(&event)) {
      analyses_[owner(phase_at(request->issue.value_or(event_time(event))))]->add(event);
    } else {
      for (const auto& analysis : analyses_) analysis->add(event);
    }
  }

  std::vector<PhaseFigures> finish(bool has_requests) {
    for (std::size_t i = 0; i < figures_.size(); ++i) {
      SeekReport report = analyses_[i]->finish({});
      take_seeks(report, figures_[i]);
      figures_[i].has_requests = has_requests;
      set_times(i);
    }
    return std::move(figures_);
  }

 private:
  [[nodiscard]] std::size_t phase_at(Nanoseconds time) const {
    const auto after = std::upper_bound(times_.boundaries.begin(), times_.boundaries.end(), time);
    return static_cast<std::size_t>(after - times_.boundaries.begin());
  }
  // The shown phase that a phase's requests count to.
  [[nodiscard]] std::size_t owner(std::size_t phase) const {
    std::size_t shown = phase;
    while (shown > 0 && !shown_[shown]) --shown;
    return shown_[shown] ? shown : phase;
  }
  void set_times(std::size_t phase) {
    const std::size_t met = times_.boundaries.size();
    if (phase > met) return;
    const Nanoseconds begin = phase == 0 ? times_.begin : times_.boundaries[phase - 1];
    const Nanoseconds end = phase == met ? times_.end : times_.boundaries[phase];
    figures_[phase].time = std::max(end - begin, Nanoseconds(0));
    std::size_t last = phase;  // of those that count here
    while (last < met && owner(last + 1) == phase) ++last;
    const Nanoseconds settled = last == met ? std::max(times_.settled, times_.end) : times_.boundaries[last];
    figures_[phase].settled = std::max(settled - begin, figures_[phase].time);
  }

  const StepTimes& times_;
  const std::vector<bool>& shown_;
  std::vector<PhaseFigures> figures_;
  std::vector<std::unique_ptr<SeekAnalysis>> analyses_;
};

}  // namespace

Result<std::vector<PhaseFigures>> read_step_figures(const FileDescriptor& trace, const std::string& name,
                                                    const StepTimes& times, const std::vector<bool>& shown,
                                                    std::uint64_t threshold) {
  FileDescriptor own(::fcntl(trace.get(), F_DUPFD_CLOEXEC, 0));
  if (!own || ::lseek(own.get(), 0, SEEK_SET) != 0) return system_failure("reading " + name, errno);
  IOTAPE_ASSIGN(auto reader, TraceReader::open(std::move(own), name));
  const bool has_requests = reader->header().has_block;
  Reading reading(times, shown, threshold);
  while (true) {
    IOTAPE_ASSIGN(const Event* event, reader->next());
    if (event == nullptr) break;
    reading.take(event->body);
  }
  return reading.finish(has_requests);
}

}  // namespace iotape
