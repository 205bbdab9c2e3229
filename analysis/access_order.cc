#include "analysis/access_order.h"

#include <algorithm>
#include <utility>

namespace iotape {
namespace {

// The head moves for the part that lies at the request's start, so that part is charged.
const RequestPart* leading_part(const BlockRequest& request) {
  const auto found = std::min_element(request.parts.begin(), request.parts.end(),
                                      [](const auto& a, const auto& b) { return a.sector < b.sector; });
  return found == request.parts.end() ? nullptr : &*found;
}

}  // namespace

AccessOrder::AccessOrder(StreamOrder order, Give give, GroupOf group_of, std::size_t bound)
    : order_(order), give_(std::move(give)), group_of_(std::move(group_of)), reorder_(bound) {}

std::uint32_t AccessOrder::group(const BlockRequest& request, const RequestPart* part) const {
  return group_of_ ? group_of_(request, part) : 0;
}

std::optional<AccessOrder::Placed> AccessOrder::place(const BlockRequest& request) const {
  if (order_ == StreamOrder::kComplete && request.complete) return Placed{*request.complete, false};
  if (request.issue) return Placed{*request.issue, order_ != StreamOrder::kIssue};
  if (request.parts.empty()) return std::nullopt;
  // What completed without an issue went to a bio-based device, which is told of a bio when it is queued. What did
  // neither was still waiting when the trace ended.
  if (order_ == StreamOrder::kIssue && !request.complete) return std::nullopt;
  return Placed{request.parts.front().queue, true};
}

void AccessOrder::add_request(const BlockRequest& request, AccessClass kind) {
  const auto placed = place(request);
  if (!placed) {
    ++counts_.without_time;
    return;
  }
  counts_.substituted += placed->substituted ? 1 : 0;
  const std::uint32_t charged = group_of_ ? group(request, leading_part(request)) : 0;
  reorder_.add({placed->time, request.sector, request.bytes, request.device, kind, charged}, give_);
}

void AccessOrder::add_parts(const BlockRequest& request, AccessClass kind) {
  for (const RequestPart& part : request.parts)
    if (part.bytes > 0)
      reorder_.add({part.queue, part.sector, part.bytes, request.device, kind, group(request, &part)}, give_);
}

void AccessOrder::add(const BlockRequest& request) {
  ++counts_.requests;
  counts_.requeues += request.requeues;
  const auto kind = access_class(request.operation);
  if (request.operation == BlockOperation::kFlush || (kind && request.bytes <= 0)) {
    ++counts_.flushes;
  } else if (!kind) {
    ++counts_.other;
  } else if (order_ == StreamOrder::kQueue && !request.parts.empty()) {
    add_parts(request, *kind);
  } else {
    add_request(request, *kind);
  }
}

void AccessOrder::finish() { reorder_.finish(give_); }

AccessCounts AccessOrder::counts() const {
  AccessCounts counts = counts_;
  counts.violations = reorder_.violations();
  return counts;
}

}  // namespace iotape
