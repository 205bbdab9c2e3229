// SeekAnalysis: events in, SeekReport out, in one pass and bounded memory.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/access_groups.h"
#include "analysis/access_order.h"
#include "analysis/disk_estimate.h"
#include "analysis/seek_distance.h"
#include "analysis/seek_statistics.h"
#include "analysis/strangers.h"
#include "analysis/trace_condition.h"

namespace iotape {

struct SeekOptions {
  StreamOrder order = StreamOrder::kIssue;
  std::uint64_t threshold = kDefaultThresholdSectors;  // sectors; a longer distance is a seek
  GroupBy by = GroupBy::kOperation;
  std::shared_ptr<const DiskModel> disk = nullptr;  // what the accesses would cost on it is estimated; null: not
};

struct DeviceSeeks {
  DeviceId device;
  std::string holds;   // names of the loop devices whose images lie on it, when their requests are in the report too
  std::string name;    // "loop0", or "7:0" when the trace has no name
  SeekStatistics all;  // reads and writes: the head's whole movement
  std::array<SeekStatistics, kAccessClassCount> by_class;  // by AccessClass; distances are to the previous access of
                                                           // any direction, for discards to the previous discard
  std::optional<DiskEstimate> estimate;                    // with SeekOptions::disk, on a disk of this device's own
};

struct SeekGroup {
  std::string label;
  SeekStatistics statistics;  // reads and writes
};

struct SeekReport {
  std::string trace;  // as the user named it
  SeekOptions options;
  std::vector<DeviceSeeks> devices;  // by device number
  // The sum over devices of `all`, without those that repeat another's requests (`holds`); never a distance across
  // devices.
  SeekStatistics total;
  std::vector<SeekGroup> groups;  // by total distance, largest first; empty for GroupBy::kOperation
  AccessCounts counts;
  std::uint64_t devices_left_out = 0;   // accesses of devices beyond kMaximumDevices
  std::uint64_t stranger_requests = 0;  // of processes that were not recorded; in the figures, as they move the head
  std::uint64_t stranger_bytes = 0;
  TraceCondition condition;
  // What a reader of the numbers has to know: substituted times, bounds that were reached. One sentence each.
  [[nodiscard]] std::vector<std::string> remarks() const;
};

[[nodiscard]] std::string_view stream_order_name(StreamOrder order);
[[nodiscard]] std::string_view group_by_name(GroupBy by);
[[nodiscard]] std::string_view access_class_name(AccessClass kind);

class SeekAnalysis {
 public:
  explicit SeekAnalysis(const SeekOptions& options);
  SeekAnalysis(const SeekAnalysis&) = delete;  // AccessOrder calls back into this object
  SeekAnalysis& operator=(const SeekAnalysis&) = delete;
  ~SeekAnalysis() = default;

  // Only for GroupBy::kStack: all events once, before the first add().
  void learn(const EventBody& body) { groups_.learn(body); }
  // Names and losses of any event; figures of requests when they are selected.
  void add(const EventBody& body, bool selected = true);
  // Called with every access in order, for pictures drawn from the same stream.
  void observe(AccessOrder::Give observer) { observer_ = std::move(observer); }
  // The analysis is used up. name is how the user called the trace.
  SeekReport finish(std::string name);

  TraceCondition& condition() { return condition_; }

  static constexpr std::size_t kMaximumDevices = 4096;

 private:
  struct DeviceState {
    SeekDistance head;
    SeekDistance discards;
    std::array<SeekStatistics, kAccessClassCount> by_class;
    std::optional<DiskEstimate> estimate;
  };
  void take(const HeadAccess& access);
  DeviceState* state_of(DeviceId device);
  [[nodiscard]] std::string images_on(DeviceId disk) const;
  void keep_within_budget();

  SeekOptions options_;
  AccessGroups groups_;
  AccessOrder order_;
  AccessOrder::Give observer_;
  TraceCondition condition_;
  std::unordered_map<DeviceId, DeviceState> devices_;
  std::unordered_map<DeviceId, std::string> names_;
  std::map<DeviceId, DeviceId> backing_;  // by loop device
  Strangers strangers_;
  std::vector<SeekStatistics> group_statistics_;
  DeviceState* latest_state_ = nullptr;
  DeviceId latest_device_;
  std::uint64_t devices_left_out_ = 0;
  std::uint64_t kept_values_ = 0;
};

}  // namespace iotape
