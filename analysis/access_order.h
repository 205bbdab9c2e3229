// AccessOrder: block requests in, head accesses out in the chosen order.
//
//  issue     one access per request at the time the device was told (the default, "D" of blktrace)
//  queue     one access per part (bio) at the time it was queued ("Q")
//  complete  one access per request at the time it ended ("C")
//
// A trace may lack the times of the chosen order (imported traces often have issue times only). Then the nearest time
// the request has stands in: queue -> issue, complete -> issue, issue -> the first part's queue time if the request
// completed; each substitution is counted, so that a report can say so. A request that never was issued, or without
// any usable time, is left out and counted.
// Requests without sectors (pure flushes) and operations that touch none are counted only. A request that was requeued
// is one request.
#pragma once

#include <functional>

#include "analysis/issue_order.h"
#include "format/event.h"

namespace iotape {

enum class StreamOrder : std::uint8_t { kIssue, kQueue, kComplete };

struct AccessCounts {
  std::uint64_t requests = 0;      // all that were offered
  std::uint64_t flushes = 0;       // without sectors
  std::uint64_t other = 0;         // driver and zone commands
  std::uint64_t without_time = 0;  // left out
  std::uint64_t substituted = 0;   // accesses placed by another time than the one asked for
  std::uint64_t requeues = 0;
  std::uint64_t violations = 0;  // accesses that came later than the reordering bound allows
};

class AccessOrder {
 public:
  // Which group an access is charged to; part is null for a request without parts.
  using GroupOf = std::function<std::uint32_t(const BlockRequest&, const RequestPart* part)>;
  using Give = std::function<void(const HeadAccess&)>;

  AccessOrder(StreamOrder order, Give give, GroupOf group_of = {}, std::size_t bound = IssueOrder::kDefaultBound);

  void add(const BlockRequest& request);
  void finish();
  [[nodiscard]] AccessCounts counts() const;

 private:
  struct Placed {
    Nanoseconds time;
    bool substituted = false;
  };
  [[nodiscard]] std::optional<Placed> place(const BlockRequest& request) const;
  void add_request(const BlockRequest& request, AccessClass kind);
  void add_parts(const BlockRequest& request, AccessClass kind);
  [[nodiscard]] std::uint32_t group(const BlockRequest& request, const RequestPart* part) const;

  StreamOrder order_;
  Give give_;
  GroupOf group_of_;
  IssueOrder reorder_;
  AccessCounts counts_;
};

}  // namespace iotape
